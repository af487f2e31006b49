"""The words of `assistant` for anybody: help, and not to be heard."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.commands.words import Word, WordCommand


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


WORDS = {
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
