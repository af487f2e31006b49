"""A whole line that begins with @name is said aloud, where no command has that name."""

from __future__ import annotations

from django.utils.translation import gettext
from evennia.commands.cmdhandler import CMD_NOMATCH
from evennia.commands.command import Command
from evennia.utils.utils import list_to_string, string_suggestions

from evennia_ai.core.hearing.calling import begins_with_address
from evennia_ai.core.typed_objects import Being
from evennia_ai.operations.naming import called


class CmdAddress(Command):
    """Take a line that is not a command: `@ada hello` is said, anything else is an error.

    A game with such a command of its own calls `say_to_assistant` in it and leaves this one out.
    """

    key = CMD_NOMATCH
    locks = "cmd:all()"
    auto_help = False

    def func(self) -> None:
        """Say it, or tell that there is no such command."""
        if not say_to_assistant(self.caller, self.args, self.session):
            self.msg(self._complaint(self.args.strip()))

    def _complaint(self, line: str) -> str:
        """The words of Evennia where a game has no command for unmatched lines."""
        text = gettext("Command '{command}' is not available.").format(command=line)
        told = [each for each in self.cmdset if each.auto_help and each.access(self.caller)]
        known = [key for each in told for key in (each.key, *each.aliases)]
        near = string_suggestions(line, known, cutoff=0.7, maxnum=3)
        if not near:
            return str(text + gettext(' Type "help" for help.'))
        choices = list_to_string(near, endsep=gettext("or"), addquote=True)
        return str(text + gettext(" Maybe you meant {command}?").format(command=choices))


def say_to_assistant(caller: Being, line: str, session: object = None) -> bool:
    """Say a line that begins with @ and the name of an assistant in the room.

    Returns:
        Whether it was one.
    """
    room, words = getattr(caller, "location", None), line.strip()
    if room is None or not words.startswith("@"):
        return False
    bodies = [being for being in room.contents if getattr(being, "assistant_script", None)]
    if not any(begins_with_address(words, called(body, caller)) for body in bodies):
        return False
    caller.execute_cmd(f"say {words}", session=session)
    return True
