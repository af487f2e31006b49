"""What twenty questions brought: what was right of it, and what must not have been there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.memory.week_script import PRIVATE_WAYS, Question, Told, facts

_PRONOUN = re.compile(r"\b(?:I|I'm|[Mm]y|me) (?:am |have |owe |keep )?")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question brought.

    Attributes:
        known, heard: texts that are told as known, and as hearsay, in the order of the prompt.
        wrong: what must not be, in words.
    """

    question: Question
    known: tuple[str, ...]
    heard: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def is_hit(self) -> bool:
        """Whether what was wanted is there, and as what it should be."""
        texts = self.heard if self.question.is_hearsay else self.known + self.heard
        return _place(self.question.wants, texts) is not None

    @property
    def counts(self) -> bool:
        """Whether something was wanted at all."""
        return bool(self.question.wants)

    @property
    def tells_outdated(self) -> bool:
        """Whether what was true before is told at all, be it after what is true now."""
        return _place(self.question.outdated, self.known + self.heard) is not None

    @property
    def verdict(self) -> str:
        """In a word."""
        hit = "found" if self.is_hit else "NOT found" if self.counts else "nothing to find"
        return "; ".join((hit, *self.wrong))


def judge(question: Question, known: Sequence[str], heard: Sequence[str] = ()) -> Answer:
    """What is to be said of what was retrieved."""
    texts = (*known, *heard)
    wrong = [f"tells {words!r}" for words in question.never if _place(words, texts) is not None]
    wrong += _outdated(question, texts)
    if question.is_hearsay and _place(question.wants, known) is not None:
        wrong.append("tells a rumour as known")
    for told in leaks(question.player, question.way, texts):
        wrong.append(f"leaks of {told.player}: {told.text}")
    return Answer(question, tuple(known), tuple(heard), tuple(wrong))


def leaks(player: str, way: str, texts: Sequence[str]) -> list[Told]:
    """What was told to her alone, and must not be in texts for this player in this way."""
    joined = "\n".join(texts).casefold()
    is_private = way in PRIVATE_WAYS
    return [
        told
        for _, told in facts()
        if told.is_private
        and not (is_private and told.player == player)
        and core_of(told.text) in joined
    ]


def core_of(text: str) -> str:
    """The longest stretch of a sentence that stays as it is when it is told in the third person."""
    return max(_PRONOUN.split(text), key=len).strip(" ,.").casefold()


def _place(words: str, texts: Sequence[str]) -> int | None:
    wanted = words.casefold()
    found = (number for number, text in enumerate(texts) if wanted in text.casefold())
    return next(found, None) if wanted else None


def _outdated(question: Question, texts: Sequence[str]) -> list[str]:
    old, new = _place(question.outdated, texts), _place(question.wants, texts)
    if old is None or (new is not None and new < old):
        return []
    return [f"tells {question.outdated!r} first, which is over"]
