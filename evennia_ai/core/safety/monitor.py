"""Detection of loops and runaway failures: operations are counted, and judged by thresholds."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.settings.safety import Checks
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult

ALERT = "SYSTEM ALERT:"
LONGEST_NAME = 40
# Entries of the window that are not the fingerprint of a failed call.
GOOD, UNPARSABLE = "", "?"
TOO_DEEP = "nested too deeply"
_TO_JSON = json.JSONEncoder(sort_keys=True, default=repr)


def is_error_limit_reached(consecutive_errors: int, max_consecutive_errors: int) -> bool:
    """True if so many ticks failed in a row that the assistant has to be stopped."""
    return consecutive_errors >= max(1, max_consecutive_errors)


@dataclass(frozen=True, slots=True)
class Caution:
    """The verdict that the model has to be warned.

    Attributes:
        note: warning for the model, added to the result of its call.
    """

    note: str


@dataclass(frozen=True, slots=True)
class Halt:
    """The verdict that the assistant has to be locked."""

    cause: Cause
    detail: str


Verdict = Caution | Halt | None  # None: nothing is wrong


def fingerprint(name: str, arguments: object) -> str:
    """16 hex digits, equal for equal calls.

    The order of keys does not matter, and 1 equals 1.0 but neither True nor "1". All arguments too
    deeply nested for JSON are equal.
    """
    try:
        text = _TO_JSON.encode([name, _plain(arguments)])
    except RecursionError:
        text = _TO_JSON.encode([name, TOO_DEEP])
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def _plain(value: object) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def gravest(verdicts: Sequence[Verdict]) -> Verdict:
    """The most severe verdict: the first halt, else all cautions combined."""
    notes = []
    for verdict in verdicts:
        if verdict is None:
            continue
        if isinstance(verdict, Halt):
            return verdict
        notes.append(verdict.note)
    return Caution("\n".join(notes)) if notes else None


@dataclass(slots=True)
class SafetyMonitor:
    """Monitor of one task. It needs no clock, and remembers as much as its window holds.

    Attributes:
        failed: failures in a row.
        last: the newest operation: fingerprint of its call, and of the result if it succeeded.
        times: how often in a row it occurred.
        window: newest operations: the fingerprint of a failed call, or GOOD or UNPARSABLE.
        warned: fingerprints in the window that the model was warned about.
    """

    checks: Checks
    failed: int = 0
    last: str = ""
    times: int = 0
    window: deque[str] = field(init=False)
    warned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.window = deque(maxlen=self.checks.window)

    def after_tool(self, call: ToolCall, result: ToolResult, name: str = "") -> Verdict:
        """Count a call and its result. A call that was not run does not count.

        Args:
            name: the tool's name for staff; "" for the name in the call.
        """
        if result.fault is Fault.NOT_RUN:
            return None
        # Arguments that could not be parsed are identified by the problem with them.
        mark = fingerprint(call.name, [call.problem] if call.problem else call.arguments)
        if result.success:
            return self._count(name or call.name, fingerprint(mark, result.text), GOOD)
        return self._count(name or call.name, mark, mark)

    def after_reply_unparsable(self) -> Verdict:
        """Count a model reply that could not be parsed."""
        return self._count("", UNPARSABLE, UNPARSABLE)

    def _count(self, name: str, mark: str, entry: str) -> Verdict:
        self.failed = self.failed + 1 if entry else 0
        self.times = self.times + 1 if mark == self.last else 1
        self.last = mark
        self.window.append(entry)
        # A fingerprint that has left the window may be warned about again.
        self.warned.intersection_update(self.window)
        name = one_line(name, LONGEST_NAME)
        return gravest(
            (
                self._same_failure(name),
                self._same_success(name),
                self._cascade(),
                self._failures_in_a_row(),
            )
        )

    def _same_failure(self, name: str) -> Verdict:
        """The same call failed too often in a row, or a little more often with others between."""
        limit = self.checks.same_failures
        if not limit or not self.failed or self.last == UNPARSABLE:
            return None
        within = self.window.count(self.last)
        if self.times > limit or within > limit + 1:
            times = max(self.times, within)
            return Halt(Cause.REPEAT, f"{name} failed {times} times with the same arguments")
        if self.last in self.warned or (self.times < limit and within <= limit):
            return None
        self.warned.add(self.last)
        return Caution(
            f"{ALERT} you are repeating a failed action. {name} fails with these arguments. "
            "Stop, and analyse why before you do anything else. The same again locks you."
        )

    def _same_success(self, name: str) -> Verdict:
        """The same call returned the same result too often in a row."""
        limit = self.checks.same_successes
        if not limit or self.failed:
            return None
        if self.times >= 2 * limit:
            return Halt(Cause.REPEAT, f"{name} was called {self.times} times for the same result")
        if self.times != limit:
            return None
        return Caution(
            f"{ALERT} you have this answer already. {name} brings the same each time. "
            "Use what you know, or do something else."
        )

    def _cascade(self) -> Verdict:
        """Most of the newest operations went wrong, in any order."""
        size, limit = self.checks.window, self.checks.anomalies
        wrong = len(self.window) - self.window.count(GOOD)
        if not limit or len(self.window) < size or wrong < limit:
            return None
        return Halt(Cause.CASCADE, f"{wrong} of the last {size} operations went wrong")

    def _failures_in_a_row(self) -> Verdict:
        limit = self.checks.failures_in_a_row
        # The model is warned once, when the number is reached, not after each further failure.
        if not limit or self.failed != limit:
            return None
        return Caution(
            f"{ALERT} actions in a row that failed: {limit}. "
            "Stop trying, and ask the person for help."
        )

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database."""
        return {
            "failed": self.failed,
            "last": self.last,
            "times": self.times,
            "window": list(self.window),
            "warned": sorted(self.warned),
        }

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any], checks: Checks) -> SafetyMonitor:
        """Read what `as_stored` wrote; a window that is shorter since then keeps the newest."""
        monitor = cls(
            checks,
            failed=int(stored.get("failed", 0)),
            last=str(stored.get("last", "")),
            times=int(stored.get("times", 0)),
        )
        monitor.window.extend(str(mark) for mark in stored.get("window", ()))
        monitor.warned.update(str(mark) for mark in stored.get("warned", ()))
        return monitor
