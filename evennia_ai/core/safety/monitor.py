"""Circles: each thing an assistant does is counted, and each count has its verdict."""

from __future__ import annotations

import hashlib
import json
import math
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
GOOD, UNPARSABLE = "", "?"
TOO_DEEP = "nested too deeply"
_TO_JSON = json.JSONEncoder(sort_keys=True, default=repr)


def is_error_limit_reached(consecutive_errors: int, max_consecutive_errors: int) -> bool:
    """True for so many failures in a row that they call for an emergency stop."""
    return consecutive_errors >= max(1, max_consecutive_errors)


@dataclass(frozen=True, slots=True)
class Proceed:
    """Nothing is wrong."""


@dataclass(frozen=True, slots=True)
class Caution:
    """The model is to be told.

    Attributes:
        note: for the model, after the result of its call.
    """

    note: str


@dataclass(frozen=True, slots=True)
class Halt:
    """The assistant has to be locked.

    Attributes:
        detail: what was seen, in words for staff.
    """

    cause: Cause
    detail: str


Verdict = Proceed | Caution | Halt
PROCEED = Proceed()


def fingerprint(name: str, arguments: object) -> str:
    """16 hex digits that are the same for calls that ask for the same.

    The order of keys does not count, and equal numbers are equal: 1 and 1.0, but not True or "1".
    What is nested too deeply to be written down is all the same.
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
    """The most severe: the first halt, else all cautions as one."""
    notes = []
    for verdict in verdicts:
        if verdict is PROCEED:
            continue
        if isinstance(verdict, Halt):
            return verdict
        if isinstance(verdict, Caution):
            notes.append(verdict.note)
    return Caution("\n".join(notes)) if notes else PROCEED


def _checked(name: str, value: float) -> float:
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{name} is {value!r}; it must be a number from 0 up")
    return value


@dataclass(slots=True)
class SafetyMonitor:
    """Watches one task. It knows no clock, and its memory is as long as the window.

    Attributes:
        steps: of the loop so far.
        failed: failures in a row.
        last: the newest operation: its call's fingerprint, with its result's if it worked.
        times: how often in a row it was that one.
        window: the newest operations: the fingerprint of a call that failed, or GOOD or UNPARSABLE.
        warned: fingerprints in the window of which the model was told.
    """

    checks: Checks
    steps: int = 0
    failed: int = 0
    last: str = ""
    times: int = 0
    window: deque[str] = field(init=False)
    warned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.window = deque(maxlen=self.checks.window)

    def on_tick_start(self, cap: float) -> Verdict:
        """Count one more step of the loop.

        Args:
            cap: steps a task may take, grants included; 0: no limit.

        Raises:
            ValueError: the cap is not a number that could ever be reached.
        """
        _checked("the cap on steps", cap)
        self.steps += 1
        if cap and self.steps > cap:
            return Halt(Cause.LOOP, f"this task took more than {cap:g} steps")
        return PROCEED

    def before_model_call(self, used: float, cap: float) -> Verdict:
        """Check that one more model call may be paid for.

        Args:
            used: what was used so far.
            cap: how much may be used, grants included; 0: no limit.

        Raises:
            ValueError: one of them is NaN, infinite or negative, which would switch the check off.
        """
        _checked("what is used", used)
        _checked("the cap on use", cap)
        if cap and used >= cap:
            return Halt(Cause.BUDGET, f"{used:,.0f} of {cap:,.0f} are used")
        return PROCEED

    def after_tool(self, call: ToolCall, result: ToolResult, name: str = "") -> Verdict:
        """Count a call and what came of it. One that was not run is none.

        Args:
            name: what the tool is called before staff; "": as the call says.
        """
        if result.fault is Fault.NOT_RUN:
            return PROCEED
        # Arguments that could not be read are known by what was wrong with them.
        mark = fingerprint(call.name, [call.problem] if call.problem else call.arguments)
        if result.success:
            return self._count(name or call.name, fingerprint(mark, result.text), GOOD)
        return self._count(name or call.name, mark, mark)

    def after_reply_unparsable(self) -> Verdict:
        """Count a reply of the model that could not be read."""
        return self._count("", UNPARSABLE, UNPARSABLE)

    def _count(self, name: str, mark: str, kept: str) -> Verdict:
        self.failed = self.failed + 1 if kept else 0
        self.times = self.times + 1 if mark == self.last else 1
        self.last = mark
        self.window.append(kept)
        # What has left the window may be warned of again.
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
        """The same call failed: so often in a row, or a little oftener with others between."""
        limit = self.checks.same_failures
        if not limit or not self.failed or self.last == UNPARSABLE:
            return PROCEED
        within = self.window.count(self.last)
        if self.times > limit or within > limit + 1:
            times = max(self.times, within)
            return Halt(Cause.REPEAT, f"{name} failed {times} times with the same arguments")
        if self.last in self.warned or (self.times < limit and within <= limit):
            return PROCEED
        self.warned.add(self.last)
        return Caution(
            f"{ALERT} you are repeating a failed action. {name} fails with these arguments. "
            "Stop, and analyse why before you do anything else. The same again locks you."
        )

    def _same_success(self, name: str) -> Verdict:
        """The same call brought the same, which is not progress."""
        limit = self.checks.same_successes
        if not limit or self.failed:
            return PROCEED
        if self.times >= 2 * limit:
            return Halt(Cause.REPEAT, f"{name} was called {self.times} times for the same result")
        if self.times != limit:
            return PROCEED
        return Caution(
            f"{ALERT} you have this answer already. {name} brings the same each time. "
            "Use what you know, or do something else."
        )

    def _cascade(self) -> Verdict:
        """Most of the newest operations went wrong, in whatever order."""
        size, limit = self.checks.window, self.checks.anomalies
        wrong = len(self.window) - self.window.count(GOOD)
        if not limit or len(self.window) < size or wrong < limit:
            return PROCEED
        return Halt(Cause.CASCADE, f"{wrong} of the last {size} operations went wrong")

    def _failures_in_a_row(self) -> Verdict:
        limit = self.checks.failures_in_a_row
        # Told once, when it comes to that, and not after each further failure.
        if not limit or self.failed != limit:
            return PROCEED
        return Caution(
            f"{ALERT} actions in a row that failed: {limit}. "
            "Stop trying, and ask the person for help."
        )

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database."""
        return {
            "steps": self.steps,
            "failed": self.failed,
            "last": self.last,
            "times": self.times,
            "window": list(self.window),
            "warned": sorted(self.warned),
        }

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any], checks: Checks) -> SafetyMonitor:
        """Read back what `as_stored` wrote; a shorter window keeps the newest."""
        monitor = cls(
            checks,
            steps=int(stored.get("steps", 0)),
            failed=int(stored.get("failed", 0)),
            last=str(stored.get("last", "")),
            times=int(stored.get("times", 0)),
        )
        monitor.window.extend(str(mark) for mark in stored.get("window", ()))
        monitor.warned.update(str(mark) for mark in stored.get("warned", ()))
        return monitor
