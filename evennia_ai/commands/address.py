"""Lines that begin with @name are said aloud, unless a command has that name."""

from __future__ import annotations

from django.utils.translation import gettext
from evennia.commands.cmdhandler import CMD_NOMATCH
from evennia.commands.command import Command
from evennia.utils.utils import list_to_string, string_suggestions

from evennia_ai.core.hearing.calling import begins_with_address
from evennia_ai.core.typed_objects import Being
from evennia_ai.operations.naming import called


class CmdAddress(Command):
    """Handle lines that match no command: say `@ada hello`, and report an error for all others.

    A game with its own command for unmatched lines calls `say_to_assistant` from that one.
    """

    key = CMD_NOMATCH
    locks = "cmd:all()"
    auto_help = False

    def func(self) -> None:
        """Say the line, or report that there is no such command."""
        if not say_to_assistant(self.caller, self.args, self.session):
            self.msg(self._complaint(self.args.strip()))

    def _complaint(self, line: str) -> str:
        """Evennia's own message, which this command replaces."""
        text = gettext("Command '{command}' is not available.").format(command=line)
        commands = [each for each in self.cmdset if each.auto_help and each.access(self.caller)]
        names = [key for each in commands for key in (each.key, *each.aliases)]
        near = string_suggestions(line, names, cutoff=0.7, maxnum=3)
        if not near:
            return str(text + gettext(' Type "help" for help.'))
        choices = list_to_string(near, endsep=gettext("or"), addquote=True)
        return str(text + gettext(" Maybe you meant {command}?").format(command=choices))


def say_to_assistant(caller: Being, line: str, session: object = None) -> bool:
    """Say a line if it begins with @ and the name of an assistant in the room.

    Returns:
        Whether it was said.
    """
    room, words = getattr(caller, "location", None), line.strip()
    if room is None or not words.startswith("@"):
        return False
    bodies = [being for being in room.contents if getattr(being, "assistant_script", None)]
    if not any(begins_with_address(words, called(body, caller)) for body in bodies):
        return False
    # By the game's own `say`, so that its locks and hooks apply.
    caller.execute_cmd(f"say {words}", session=session)
    return True
