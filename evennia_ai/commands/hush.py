"""The command `hush`, by which players silence an assistant in a room for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand, number_of
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.conversation.listening import MINUTES, MOST_MINUTES
from evennia_ai.operations.naming import begun, found_by_game, names_for

MINUTE_WORDS = ("m", "min", "mins", "minute", "minutes")


class CmdHush(AssistantCommand):
    """
    Ask an AI assistant to be quiet in the room you both are in.

    Usage:
      hush [<name>] [<minutes>]
      hush [<name>] off
      unhush [<name>]

    For that many minutes, 10 or 1 to 60 of your choice, it hears what is said
    here, but answers none of it and does nothing in the open. Whisper to it or
    page it, and it answers.

    Examples:
      hush ada
      hush ada 30
      unhush ada
    """

    key = "hush"
    aliases = ("unhush",)
    locks = "cmd:all()"

    def act(self) -> None:
        """Find the assistant and the duration, and hush or unhush it."""
        here = [script for script in operations.list_assistants() if self.is_here(script)]
        name, last = self._parts(here)
        script = self._who(here, name)
        if script is None:
            return
        if last == "off" or self.cmdstring.casefold() == "unhush":
            result = operations.unhush(script, self.caller)
        else:
            result = operations.hush(script, self.caller, int(last) if last else MINUTES)
        # A success is shown to the whole room, the caller included.
        if not result.ok:
            self.show(result)

    def _parts(self, here: Sequence[AssistantScript]) -> tuple[str, str]:
        """Split the name from minutes or "off", unless that is the end of an assistant's name."""
        words = self.args.casefold().split()
        name = " ".join(words)
        if any(name in _names(script, self.caller) for script in here):
            return name, ""
        if words[-1:] and words[-1] in MINUTE_WORDS:
            words.pop()
        *head, last = words or [""]
        if last != "off" and number_of(last) is None:
            return name, ""
        if head[-1:] == ["for"]:
            head.pop()
        return " ".join(head), last

    def _who(self, here: Sequence[AssistantScript], name: str) -> Any:
        """The assistant with this name, or the only one; None after an error message."""
        matches = [script for script in here if not name or name in _names(script, self.caller)]
        if not matches:
            beings = found_by_game(self.caller, name, [script.obj for script in here])
            matches = [script for script in here if script.obj in beings]
        matches = matches or begun(name, self.caller, here)
        if len(matches) == 1:
            return matches[0]
        there = ", ".join(literal(self.name_of(script)) for script in here)
        if not here:
            self.msg("No assistant is here.")
        elif matches:
            one = literal(self.name_of(here[0]))
            self.msg(f"Which one? Here are: {there}. Type for example: hush {one}")
        else:
            head, _, last = name.rpartition(" ")
            if any(head in _names(script, self.caller) for script in here):
                text = f"You can hush for 1 to {MOST_MINUTES} minutes at a time, not {last}."
                self.msg(literal(text))
            else:
                self.msg(f"No assistant named {literal(name)} is here. Here are: {there}.")
        return None


def _names(script: AssistantScript, person: Being) -> list[str]:
    return [name.casefold() for name in names_for(script, person)]
