"""What anybody may type after `assistant`: why, and not to be heard."""

from __future__ import annotations

from evennia_ai import inbound, operations
from evennia_ai.commands.words import Word, WordCommand

MOST_DIGITS = 12


class PlayerWords(WordCommand):
    """The words for everybody."""

    def _mute(self, name: str) -> None:
        self._part(name, True)

    def _unmute(self, name: str) -> None:
        self._part(name, False)

    def _part(self, name: str, is_muted: bool) -> None:
        script = self.pick(name)
        if script is not None:
            self.show(operations.set_muted(script, self.caller, is_muted))

    def _why(self, rest: str) -> None:
        """`why`, `why 12`, `why ada`, `why ada 12`; for staff all of them with `reveal`."""
        rest, look = self.look_of(rest)
        name, _, number = rest.rpartition(" ") if rest[-1:].isdecimal() else (rest, "", "")
        if number and not number.isdecimal():
            name, number = rest, ""
        spoken_to = None if name.strip() else operations.last_addressed(self.caller)
        script = spoken_to or self.pick(name)
        if script is None:
            return
        person = None if self.is_staff else inbound.person_of(self.caller)
        wanted = int(number[:MOST_DIGITS]) if number else None
        self.show(
            operations.why(script, number=wanted, person=person, look=look, asker=self.caller)
        )


WORDS = {
    "why": Word(
        PlayerWords._why,
        "assistant why [<name>] [<number>] [reveal]",
        "Why it answered your last message, or the one of that number, or did not; without a "
        "name, the one you spoke to last. Staff see the messages of others too, and what was said "
        "in private only with reveal, which is recorded.",
        is_for_all=True,
    ),
    "mute": Word(
        PlayerWords._mute,
        "assistant mute [<name>]",
        "It no longer hears you, nor you it, until: assistant unmute",
        is_for_all=True,
    ),
    "unmute": Word(
        PlayerWords._unmute,
        "assistant unmute [<name>]",
        "You hear each other again.",
        is_for_all=True,
    ),
    "help": Word(
        PlayerWords.explain,
        "assistant help [<word>]",
        "What a word is for, and how it is typed.",
        is_for_all=True,
    ),
}
