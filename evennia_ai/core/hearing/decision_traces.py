"""Decision traces: for each message heard, the reason why it was answered or not; bounded.

The records are what `assistant why` reads; they are filled where things are decided, never from
memory afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from evennia_ai.core.hearing.perception import IGNORE, Heard, Verdict
from evennia_ai.core.text.plain_data import from_stored, to_stored

MOST_PASSED, MOST_JUDGED = 60, 60
MOST_SHOWN, MOST_KEPT = 120, 2000
MOST_STEPS = 10


@dataclass(slots=True)
class DecisionTrace:
    """The story of one message: as heard, as judged, and each step after that.

    Attributes:
        number: counts the messages an assistant has heard.
        at: seconds since the epoch.
        steps: what happened to it, in order, such as ("queued", "1 of 20 waiting").
        is_private: its answer is private to whoever said it, however it was said.
    """

    number: int
    at: float
    heard: Heard
    verdict: Verdict
    steps: tuple[tuple[str, str], ...] = ()
    is_private: bool = False

    def note(self, step: str, detail: str = "") -> None:
        """Add a step; of more than ten a record keeps the first and the newest half."""
        self.steps += ((step, detail),)
        if len(self.steps) > MOST_STEPS:
            kept = MOST_STEPS // 2
            self.steps = self.steps[:kept] + self.steps[-kept:]

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database, with the beginning of what was said."""
        heard = replace(self.heard, body=self.heard.body[:MOST_SHOWN])
        return to_stored(replace(self, heard=heard))


@dataclass(slots=True)
class DecisionTraces:
    """The newest records, those that were passed over apart from those that came to something."""

    count: int = 0
    passed: deque[DecisionTrace] = field(default_factory=lambda: deque(maxlen=MOST_PASSED))
    judged: deque[DecisionTrace] = field(default_factory=lambda: deque(maxlen=MOST_JUDGED))

    def add(self, at: float, heard: Heard, verdict: Verdict) -> DecisionTrace:
        """Begin the record of one message; of a very long one its beginning is kept."""
        self.count += 1
        # All who hear a long speech keep a trace of it.
        if len(heard.body) > MOST_KEPT:
            heard = replace(heard, body=heard.body[: MOST_KEPT - 1] + "…")
        record = DecisionTrace(self.count, at, heard, verdict)
        kept = self.passed if verdict.outcome is IGNORE else self.judged
        kept.append(record)
        return record

    def drop(self, record: DecisionTrace) -> None:
        """Forget a record."""
        for kept in (self.passed, self.judged):
            if record in kept:
                kept.remove(record)

    def find(self, number: int) -> DecisionTrace | None:
        """The record of that number, if it is still kept."""
        return next((r for r in (*self.judged, *self.passed) if r.number == number), None)

    def newest(self, *, person: str | None = None) -> list[DecisionTrace]:
        """All kept, the newest first; of one person only, if one is given."""
        kept = sorted((*self.judged, *self.passed), key=lambda record: -record.number)
        return [r for r in kept if person is None or r.heard.person == person]

    def note(
        self, numbers: Iterable[int], step: str, detail: str = "", *, is_private: bool = False
    ) -> None:
        """Add a step to some records; those that are gone are passed over.

        Args:
            is_private: what they were answered with is private from now on.
        """
        wanted = set(numbers)
        for record in self.judged:
            if record.number in wanted:
                record.note(step, detail)
                record.is_private |= is_private

    def note_once(self, number: int, step: str, detail: str = "") -> None:
        """Add a step to a record, unless that was the last thing that happened to it."""
        record = self.find(number)
        if record is not None and (not record.steps or record.steps[-1][0] != step):
            record.note(step, detail)

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database: the count and what came to something."""
        return {"count": self.count, "judged": [record.as_stored() for record in self.judged]}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> DecisionTraces:
        """Read back what `as_stored` wrote."""
        records = cls(count=stored.get("count", 0))
        for item in stored.get("judged", ()):
            with suppress(ValueError):  # as another version wrote it
                records.judged.append(from_stored(DecisionTrace, item))
        return records
