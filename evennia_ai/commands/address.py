"""Lines that begin with @name are said aloud, unless a command has that name."""

from __future__ import annotations

from django.utils.translation import gettext
from evennia.commands.cmdhandler import CMD_NOMATCH
from evennia.commands.command import Command
from evennia.utils.utils import list_to_string, string_suggestions

from evennia_ai.core.hearing.calling import NameCall, mention_of
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.messages.lines import literal
from evennia_ai.operations.naming import called, is_character, name_of


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

    The first word of a longer name is enough, unless somebody else in the room is called so.

    Returns:
        Whether it was said, or the caller was asked which assistant is meant.
    """
    room, words = getattr(caller, "location", None), line.strip()
    if room is None or not words.startswith("@"):
        return False
    calls = {being: _call(words, being, caller) for being in room.contents}
    strongest = max(calls.values(), default=NameCall.NONE)
    called_so = [being for being, call in calls.items() if call and call is strongest]
    assistants = [being for being in called_so if _is_assistant(being)]
    if not assistants:
        return False
    if strongest is NameCall.LAST and len(called_so) > 1:
        which = list_to_string([f"@{name_of(each, caller)}" for each in assistants], endsep="or")
        caller.msg(literal(f"Others here are called so, too. Type the whole name: {which}"))
    else:
        # By the game's own `say`, so that its locks and hooks apply.
        caller.execute_cmd(f"say {words}", session=session)
    return True


def _is_assistant(being: GameObject) -> bool:
    return getattr(being, "assistant_script", None) is not None


def _call(line: str, being: GameObject, caller: Being) -> NameCall:
    """The strength with which a line begins with the @name of somebody."""
    if being == caller or not (is_character(being) or _is_assistant(being)):
        return NameCall.NONE
    return mention_of(line, called(being, caller), is_first=True)
