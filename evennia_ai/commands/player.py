"""What anybody may type after `assistant`: who is there, why, and not to be heard."""

from __future__ import annotations

from evennia_ai import inbound, operations
from evennia_ai.commands.base import AssistantCommand
from evennia_ai.outbound import literal

MOST_DIGITS = 12


class PlayerWords(AssistantCommand):
    """The words of `assistant` for everybody."""

    def _who_is_here(self, _rest: str) -> None:
        here = [s for s in operations.list_assistants() if self.is_here(s)]
        if not here:
            self.msg("No assistant is here. More: help assistant")
        for name in (literal(script.key) for script in here):
            self.msg(
                f"{name} is here, an AI. Talk to her: whisper {name} = hello, or say @{name} hello"
            )

    def _mute(self, name: str) -> None:
        self._part(name, True)

    def _unmute(self, name: str) -> None:
        self._part(name, False)

    def _part(self, name: str, is_muted: bool) -> None:
        script = self.pick(name)
        if script is not None:
            self.show(operations.set_muted(script, self.caller, is_muted))

    def _forget(self, rest: str) -> None:
        word, _, name = rest.partition(" ")
        script = self.pick(name if word.casefold() == "me" else rest)
        if script is not None:
            self.show(operations.forget_person(script, self.caller))

    def _why(self, rest: str) -> None:
        """`why`, `why 12`, `why ada`, `why ada 12`."""
        name, _, number = rest.rpartition(" ") if rest[-1:].isdecimal() else (rest, "", "")
        if number and not number.isdecimal():
            name, number = rest, ""
        script = self.pick(name)
        if script is None:
            return
        person = None if self.is_staff else inbound.person_of(self.caller)
        wanted = int(number[:MOST_DIGITS]) if number else None
        self.show(operations.why(script, number=wanted, person=person))
