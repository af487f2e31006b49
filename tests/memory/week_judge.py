"""The judgement of answers to the twenty questions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.memory.week_script import PRIVATE_WAYS, Question, Told, facts

_PRONOUN = re.compile(r"\b(?:I|I'm|[Mm]y|me) (?:am |have |owe |keep )?")


@dataclass(frozen=True, slots=True)
class Answer:
    """The retrieved texts for a question, and their faults.

    Attributes:
        known, heard: texts told as known, and as hearsay, in the order of the prompt.
        wrong: the faults, in words.
    """

    question: Question
    known: tuple[str, ...]
    heard: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def is_hit(self) -> bool:
        """True where the wanted words are there, as known or as hearsay as they should."""
        texts = self.heard if self.question.is_hearsay else self.known + self.heard
        return _place(self.question.wants, texts) is not None

    @property
    def counts(self) -> bool:
        """True where the question has an answer."""
        return bool(self.question.wants)

    @property
    def tells_outdated(self) -> bool:
        """True where an outdated fact is told at all, even after the present one."""
        return _place(self.question.outdated, self.known + self.heard) is not None

    @property
    def verdict(self) -> str:
        """Return the result in a few words."""
        hit = "found" if self.is_hit else "NOT found" if self.counts else "nothing to find"
        return "; ".join((hit, *self.wrong))


def judge(question: Question, known: Sequence[str], heard: Sequence[str] = ()) -> Answer:
    """Judge the texts that were retrieved for a question."""
    texts = (*known, *heard)
    wrong = [f"tells {words!r}" for words in question.never if _place(words, texts) is not None]
    wrong += _outdated(question, texts)
    if question.is_hearsay and _place(question.wants, known) is not None:
        wrong.append("tells a rumour as known")
    for leak in leaks(question.player, question.way, texts):
        wrong.append(f"leaks of {leak.player}: {leak.text}")
    return Answer(question, tuple(known), tuple(heard), tuple(wrong))


def leaks(player: str, way: str, texts: Sequence[str]) -> list[Told]:
    """Return private facts that these texts must not show this player in this way."""
    joined = "\n".join(texts).casefold()
    is_private = way in PRIVATE_WAYS
    return [
        fact
        for _, fact in facts()
        if fact.is_private
        and not (is_private and fact.player == player)
        and core_of(fact.text) in joined
    ]


def core_of(text: str) -> str:
    """Return the longest part of a sentence that stays the same in the third person."""
    return max(_PRONOUN.split(text), key=len).strip(" ,.").casefold()


def _place(words: str, texts: Sequence[str]) -> int | None:
    wanted = words.casefold()
    places = (number for number, text in enumerate(texts) if wanted in text.casefold())
    return next(places, None) if wanted else None


def _outdated(question: Question, texts: Sequence[str]) -> list[str]:
    old, new = _place(question.outdated, texts), _place(question.wants, texts)
    if old is None or (new is not None and new < old):
        return []
    return [f"tells {question.outdated!r} first, which is over"]
