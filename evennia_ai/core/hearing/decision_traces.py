"""Decision traces: why each message was answered or not, in a bounded list.

`assistant why` reads them. Steps are noted at the moment a decision is made, never reconstructed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from evennia_ai.core.hearing.perception import IGNORE, Heard, Verdict
from evennia_ai.core.text.plain_data import from_stored, to_stored

# Traces in memory: ignored messages apart, so that a busy room does not push out the others.
MOST_PASSED, MOST_JUDGED = 60, 60
# Characters of a message that are stored in the database, and kept in memory.
MOST_SHOWN, MOST_KEPT = 120, 2000
MOST_STEPS = 10


@dataclass(slots=True)
class DecisionTrace:
    """The history of one message: as heard, as judged, and each step after that.

    Attributes:
        number: running number among the messages an assistant has heard.
        at: seconds since 1970.
        steps: what happened to it, in order, such as ("queued", "1 of 20 waiting").
        is_private: whether its answer is private to the sender, however it was said.
    """

    number: int
    at: float
    heard: Heard
    verdict: Verdict
    steps: tuple[tuple[str, str], ...] = ()
    is_private: bool = False

    def note(self, step: str, detail: str = "") -> None:
        """Add a step; of more than MOST_STEPS, the first and the last half are kept."""
        self.steps += ((step, detail),)
        if len(self.steps) > MOST_STEPS:
            half = MOST_STEPS // 2
            self.steps = self.steps[:half] + self.steps[-half:]

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database, with the beginning of the message."""
        heard = replace(self.heard, body=self.heard.body[:MOST_SHOWN])
        return to_stored(replace(self, heard=heard))


@dataclass(slots=True)
class DecisionTraces:
    """The newest traces: ignored messages in one list, all others in another."""

    count: int = 0
    passed: deque[DecisionTrace] = field(default_factory=lambda: deque(maxlen=MOST_PASSED))
    judged: deque[DecisionTrace] = field(default_factory=lambda: deque(maxlen=MOST_JUDGED))

    def add(self, at: float, heard: Heard, verdict: Verdict) -> DecisionTrace:
        """Begin the trace of a message; of a very long one only the beginning is kept."""
        self.count += 1
        # Everyone who hears a long speech keeps a trace of it.
        if len(heard.body) > MOST_KEPT:
            heard = replace(heard, body=heard.body[: MOST_KEPT - 1] + "…")
        record = DecisionTrace(self.count, at, heard, verdict)
        traces = self.passed if verdict.outcome is IGNORE else self.judged
        traces.append(record)
        return record

    def drop(self, record: DecisionTrace) -> None:
        """Forget a record."""
        for traces in (self.passed, self.judged):
            if record in traces:
                traces.remove(record)

    def find(self, number: int) -> DecisionTrace | None:
        """The trace with that number, if it is still there."""
        return next((r for r in (*self.judged, *self.passed) if r.number == number), None)

    def newest(self, *, person: str | None = None) -> list[DecisionTrace]:
        """All traces, newest first, or those of one person."""
        traces = sorted((*self.judged, *self.passed), key=lambda record: -record.number)
        return [r for r in traces if person is None or r.heard.person == person]

    def note(
        self, numbers: Iterable[int], step: str, detail: str = "", *, is_private: bool = False
    ) -> None:
        """Add a step to traces; numbers that are gone are skipped."""
        wanted = set(numbers)
        for record in self.judged:
            if record.number in wanted:
                record.note(step, detail)
                record.is_private |= is_private

    def note_once(self, number: int, step: str, detail: str = "") -> None:
        """Add a step to a trace, unless it is the last step already."""
        record = self.find(number)
        if record is not None and (not record.steps or record.steps[-1][0] != step):
            record.note(step, detail)

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database: the count, and the messages that were not ignored."""
        return {"count": self.count, "judged": [record.as_stored() for record in self.judged]}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> DecisionTraces:
        """Read what `as_stored` wrote."""
        records = cls(count=stored.get("count", 0))
        for item in stored.get("judged", ()):
            with suppress(ValueError):  # stored by another version
                records.judged.append(from_stored(DecisionTrace, item))
        return records
