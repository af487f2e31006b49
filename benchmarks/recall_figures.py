"""Recall, reciprocal rank and CPU of the recall benchmark, as tables.

Recall at k is the share of a question's evidence among the first k results; the mean over questions
is shown. If a prompt has a limit below k, the same is asked with a limit of `MOST`. More is
searched then, so its first k may differ, and recall may even fall.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.recall_data import ASKED, CATEGORIES, Question

KS = (5, 6, 10, 12, 20)
MOST = max(KS)
TITLES = ("protocol", "by", "of", "questions", *(f"@{count}" for count in KS), "MRR")


@dataclass(frozen=True, slots=True)
class Found:
    """Results of a question.

    Attributes:
        turns: ids, the best first; "" for a line of a prompt that belongs to no turn.
        limit: the maximum number of results.
        characters: length of all these lines, if they are a prompt's.
    """

    turns: Sequence[str]
    limit: int = MOST
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, and its results.

    Attributes:
        more: the same with a limit of `MOST`; equal to `found` if that is always the limit.
    """

    question: Question
    found: Found
    more: Found

    def first(self, count: int) -> Sequence[str]:
        """Return the first turns."""
        return (self.found if count <= self.found.limit else self.more).turns[:count]

    def recall(self, count: int) -> float:
        """Return the share of the evidence among the first turns."""
        evidence = self.question.evidence
        return len(evidence.intersection(self.first(count))) / len(evidence)

    @property
    def reciprocal_rank(self) -> float:
        """Return 1 divided by the rank of the first evidence; 0 if none is among `MOST`."""
        turns = self.first(MOST)
        places = (place for place, turn in enumerate(turns, 1) if turn in self.question.evidence)
        return 1 / next(places, float("inf"))


@dataclass
class Figures:
    """All results of one contender.

    Attributes:
        outcomes: by protocol.
        searches, additions: CPU of each in seconds, without the embedding.
    """

    name: str
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    searches: list[float] = field(default_factory=list)
    additions: list[float] = field(default_factory=list)

    def note(self, protocol: str, outcome: Outcome) -> None:
        """Count a question."""
        self.outcomes.setdefault(protocol, []).append(outcome)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return the recall of each protocol, in total and by category."""
        for protocol, every in self.outcomes.items():
            yield self._row(protocol, "all", every)
            for number, category in CATEGORIES.items():
                of_it = [each for each in every if each.question.category == number]
                if of_it:
                    yield self._row(protocol, category, of_it)

    def _row(self, protocol: str, category: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        values: list[Any] = [protocol, self.name, category, len(outcomes)]
        values += (_mean(outcome.recall(count) for outcome in outcomes) for count in KS)
        values.append(_mean(outcome.reciprocal_rank for outcome in outcomes))
        return dict(zip(TITLES, values, strict=True))

    def prompts(self) -> Iterator[dict[str, Any]]:
        """Return the recall of a default prompt, for contenders with a limit."""
        for protocol, every in self.outcomes.items():
            if every[0].found.limit == MOST:
                continue
            yield {
                "protocol": protocol,
                "by": self.name,
                "recall": _mean(one.recall(one.found.limit) for one in every),
                "lines": _mean(len(one.found.turns) for one in every),
                "earlier questions": _mean(_asked(one.found) for one in every),
                "characters": _mean(one.found.characters for one in every),
            }

    def cpu(self) -> dict[str, Any]:
        """Return the medians in milliseconds."""
        search, addition = map(statistics.median, (self.searches, self.additions))
        return {"by": self.name, "search ms": search * 1000, "add ms": addition * 1000}


def _asked(found: Found) -> int:
    return sum(turn.startswith(ASKED) for turn in found.turns)


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Return the lines of a table with the columns of the first row; no lines without rows."""
    for number, row in enumerate(rows):
        if not number:
            yield f"| {' | '.join(row)} |"
            yield "|---" * len(row) + "|"
        yield f"| {' | '.join(map(_cell, row.values()))} |"


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
