"""Commands with subcommands, each with its usage, help and access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from textwrap import dedent, wrap
from typing import Any

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand, Steps
from evennia_ai.core.typed_objects import Being
from evennia_ai.operations.rights import OF_THE_BODY, Right, may_control
from evennia_ai.runtime.rights import kinds_of_locks

WIDTH = 78
ALL = "all"
Act = Callable[[Any, str], Steps | None]


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A subcommand.

    Attributes:
        act: called with the command and the rest of the line.
        how: usage, in all its forms.
        text: help for `assistant help <word>`.
        is_for_all: True if all players may type it. Others are for staff and for people named in
            a lock of an assistant; the rights of each form are in `operations.rights.acts`.
        is_told: True if it is listed in help.
    """

    act: Act
    how: str
    text: str = ""
    is_for_all: bool = False
    is_told: bool = True


WORDS: dict[str, Subcommand] = {}


def subcommand(
    how: str, text: str = "", *, also: str = "", is_for_all: bool = False, is_told: bool = True
) -> Callable[[Act], Act]:
    """Make a method a subcommand of `assistant`, named by the second word of its usage.

    Args:
        also: a second name.
    """

    def decorate(act: Act) -> Act:
        _, name, *_ = f"{how} ".replace(",", " ").split(" ")
        for each in (name, also or name):
            WORDS[each] = Subcommand(act, how, text, is_for_all, is_told)
        return act

    return decorate


class WordCommand(AssistantCommand):
    """A command whose first word, or first switch, is a subcommand.

    Attributes:
        words: subcommands by name; "" is the command without a word.
        meant: the subcommand that people mean by a word which is none, or Evennia's own command.
    """

    words = WORDS
    meant: dict[str, str] = {}

    def act(self) -> Steps | None:
        """Run the subcommand, or suggest others."""
        name, rest = self.word_and_rest()
        word = self.words.get(name)
        if word is None:
            self._show_unknown(name)
            return None
        if not (word.is_for_all or self.serves(self.caller)):
            self.show_usage(f"'{self.key} {name}' is for staff. Type: help {self.key}")
            return None
        # Errors of the subcommand then show its own usage.
        self.how = word.how
        return word.act(self, rest)

    def serves(self, person: Being) -> bool:
        """True for staff, and for people with a right over at least one assistant."""
        return self.counts_as_staff(person) or any(
            may_control(script, person, is_staff=False, right=right)
            for script in operations.list_assistants()
            for right in OF_THE_BODY
            # Without a lock of its own, a right needs this one too.
            if right is Right.CONTROL or right in kinds_of_locks(script.obj or script)
        )

    def _show_unknown(self, name: str) -> None:
        known, meant = self._typable(), self.meant.get(name)
        if meant and (meant in known or self.serves(self.caller)):
            near = [meant]
        else:
            near = get_close_matches(name, known, n=3)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        self.show_usage(f"There is no '{self.key} {name}'. {hint}Type: help {self.key}")

    def _typable(self) -> list[str]:
        served = self.serves(self.caller)
        return [
            name
            for name, word in self.words.items()
            if name and word.is_told and (served or word.is_for_all)
        ]

    @subcommand(
        "assistant help [<word>]", "Explains a command and how to type it.", is_for_all=True
    )
    def explain(self, rest: str) -> None:
        """Show the help and usage of a subcommand, or the help of the whole command."""
        known = self._typable()
        name = rest.casefold()
        if not name:
            self.show_long(dedent(str(self.get_help(self.caller, self.cmdset))).strip())
        elif name in known:
            word = self.words[name]
            self.how = word.how
            self.show_usage("\n".join(wrap(word.text, WIDTH)))
        else:
            self._show_unknown(name)
