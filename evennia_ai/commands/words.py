"""The words of a command: each with how it is typed, what for, and whom it is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from textwrap import wrap
from typing import Any

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand, Steps
from evennia_ai.core.typed_objects import Being
from evennia_ai.operations.rights import OF_THE_BODY, may_control

WIDTH = 78
ALL = "all"


@dataclass(frozen=True, slots=True)
class Subcommand:
    """One word.

    Attributes:
        act: what it does, given the command and the rest of the line.
        how: how it is typed, all ways of it.
        text: what for; told by `assistant help <word>`.
        is_for_all: players may type it. The others are for staff, and for whom a lock of
            an assistant names; what each way of it needs stands in `operations.rights.acts`.
        is_told: whether help has it.
    """

    act: Callable[[Any, str], Steps | None]
    how: str
    text: str = ""
    is_for_all: bool = False
    is_told: bool = True


class WordCommand(AssistantCommand):
    """A command whose first word, or first switch, says what is to be done.

    Attributes:
        words: by what is typed; "" is the command alone.
    """

    words: dict[str, Subcommand] = {}

    def act(self) -> Steps | None:
        """Find the word and do it, or say what could be typed instead."""
        name, rest = self.word_and_rest()
        word = self.words.get(name)
        if word is None:
            self._show_unknown(name)
            return None
        if not (word.is_for_all or self.serves(self.caller)):
            self.show_how(f"'{self.key} {name}' is for staff. Type: help {self.key}")
            return None
        self.how = word.how
        return word.act(self, rest)

    def serves(self, person: Being) -> bool:
        """True where words for staff are answered: to staff, and to who controls an assistant."""
        return self.counts_as_staff(person) or any(
            may_control(script, person, is_staff=False, right=right)
            for script in operations.list_assistants()
            for right in OF_THE_BODY
        )

    def _show_unknown(self, name: str) -> None:
        near = get_close_matches(name, self._typable(), n=3)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        self.show_how(f"{self.key} has no '{name}'. {meant}Type: help {self.key}")

    def _typable(self) -> list[str]:
        served = self.serves(self.caller)
        return [
            name
            for name, word in self.words.items()
            if name and word.is_told and (served or word.is_for_all)
        ]

    def explain(self, rest: str) -> None:
        """Show the purpose of a word, and how it is typed; without one, the words there are."""
        known = self._typable()
        name = rest.casefold()
        if not name:
            lines = wrap(", ".join(known), WIDTH)
            self.show_how("\n".join([f"Words of {self.key}:", *lines]))
        elif name in known:
            word = self.words[name]
            self.how = word.how
            self.show_how("\n".join(wrap(word.text, WIDTH)))
        else:
            self._show_unknown(name)
