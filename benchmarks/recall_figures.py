"""How much of what answers a question was found: recall, reciprocal rank, and CPU."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.recall_data import Question

KS = (5, 6, 10, 12, 20)
MOST = max(KS)


@dataclass(frozen=True, slots=True)
class Told:
    """What a question brought: ids of turns, the best first, "" for a line of no turn.

    Attributes:
        found: as many as are told.
        wide: where more are asked for than are told by default; None: there is no such bound.
    """

    found: list[str]
    wide: list[str] | None = None

    def first(self, count: int) -> list[str]:
        """The first so many."""
        is_short = self.wide is not None and count > len(self.found)
        return (self.wide if is_short and self.wide is not None else self.found)[:count]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, and what it brought."""

    question: Question
    told: Told

    def recall(self, count: int) -> float:
        """The share of the question's evidence among the first so many."""
        evidence = self.question.evidence
        return len(evidence.intersection(self.told.first(count))) / len(evidence)

    @property
    def reciprocal_rank(self) -> float:
        """One by the place of the first evidence; 0 where there is none among the first."""
        places = (
            place
            for place, turn in enumerate(self.told.first(MOST), 1)
            if turn in self.question.evidence
        )
        return 1 / next(places, float("inf"))


@dataclass
class Figures:
    """All that one way of remembering found.

    Attributes:
        outcomes: by protocol.
        searches, additions: CPU of each, in seconds, beside the embedding.
    """

    name: str
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    searches: list[float] = field(default_factory=list)
    additions: list[float] = field(default_factory=list)

    def note(self, protocol: str, question: Question, told: Told) -> None:
        """Count a question."""
        self.outcomes.setdefault(protocol, []).append(Outcome(question, told))

    def of(self, protocol: str, category: int | None = None) -> list[Outcome]:
        """What was found, of one category or of all."""
        every = self.outcomes.get(protocol, [])
        return [each for each in every if category in (None, each.question.category)]


def mean(values: Iterable[float]) -> float:
    """The mean; 0 of nothing."""
    return statistics.fmean(found) if (found := list(values)) else 0.0


def recall_at(outcomes: Sequence[Outcome], count: int) -> float:
    """The mean share of evidence among the first so many."""
    return mean(outcome.recall(count) for outcome in outcomes)


def reciprocal_rank(outcomes: Sequence[Outcome]) -> float:
    """The mean of one by the place of the first evidence."""
    return mean(outcome.reciprocal_rank for outcome in outcomes)
