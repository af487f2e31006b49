"""Counters of this server process for its metrics: ticks, tools, stops, requests.

They count the events that go into the audit log, in memory only. The number of different label
values is limited, and none of them is the name of a person.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from evennia_ai import audit
from evennia_ai.core.turn.executions import OTHERS, tool_counted

# Up to two minutes: a tick waits for a model, and for tools.
BUCKETS_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
STATUSES = range(100, 600)
# Different values of one label, each of which becomes a time series of its own in Prometheus.
MOST_NAMES = 100


@dataclass(slots=True)
class Observed:
    """Counters since this process (or a test) began.

    Attributes:
        ticks: ticks by outcome.
        buckets: ticks by duration; the last bucket: longer than all BUCKETS_SECONDS.
        tools, errors, seconds: calls, failures and time of each tool.
        stops: emergency stops by cause.
        limits: reached limits by kind and "extended" or "denied".
        requests: API requests by method, endpoint and status.
        highest: highest values seen of counters that are read from the database.
    """

    ticks: Counter[str] = field(default_factory=Counter)
    tick_seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_SECONDS) + 1))
    tools: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    stops: Counter[str] = field(default_factory=Counter)
    limits: Counter[tuple[str, str]] = field(default_factory=Counter)
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    highest: dict[str, int] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def count_tick(self, details: Mapping[str, object]) -> None:
        """Count a tick that ended."""
        seconds = _seconds(details)
        self.ticks[_one_of(self.ticks, str(details.get("outcome", "")))] += 1
        self.buckets[bisect_left(BUCKETS_SECONDS, seconds)] += 1
        self.tick_seconds += seconds

    def count_tool(self, details: Mapping[str, object]) -> None:
        """Count a tool call."""
        name = tool_counted(self.tools, str(details.get("tool_name", "")))
        self.tools[name] += 1
        self.errors[name] += not details.get("success")
        self.seconds[name] += _seconds(details)

    def count_stop(self, details: Mapping[str, object]) -> None:
        """Count an emergency stop or a lockout."""
        self.stops[_one_of(self.stops, str(details.get("cause", "")))] += 1

    def count_limit(self, details: Mapping[str, object], decision: str) -> None:
        """Count a limit that was reached."""
        kinds = dict.fromkeys(kind for kind, _ in self.limits)
        self.limits[_one_of(kinds, str(details.get("kind", ""))), decision] += 1

    def rise(self, name: str, value: int) -> int:
        """Raise a counter that is read from the database, and return its value."""
        # Rows may be deleted, but Prometheus takes a counter that falls for a restart.
        self.highest[name] = max(self.highest.get(name, 0), value)
        return self.highest[name]


_KINDS: dict[str, Callable[[Observed, Mapping[str, Any]], None]] = {
    "TickCompleted": Observed.count_tick,
    "ToolExecuted": Observed.count_tool,
    "EmergencyStopTriggered": Observed.count_stop,
    "limit_extended": lambda seen, details: seen.count_limit(details, "extended"),
    "limit_denied": lambda seen, details: seen.count_limit(details, "denied"),
}
_SEEN = [Observed()]


def observed() -> Observed:
    """The counters of this process."""
    return _SEEN[0]


def start_anew() -> None:
    """Reset all counters, between two tests."""
    _SEEN[0] = Observed()


def observe(event: str, _name: str, details: Mapping[str, object]) -> None:
    """Count an event of the audit log, if it is of a kind that is counted."""
    if (count := _KINDS.get(event)) is not None:
        count(observed(), details)


def count_request(method: str, endpoint: str, status: int) -> None:
    """Count one request to the API; may be called in any thread.

    Args:
        endpoint: name of its route, never the path that was requested.
    """
    counts = observed()
    # Only requests are counted in threads of the web server; all else in the reactor's thread.
    with counts.lock:
        known = dict.fromkeys(name for _, name, _ in counts.requests)
        verb = method.upper() if method.upper() in METHODS else OTHERS
        code = str(int(status)) if status in STATUSES else OTHERS
        counts.requests[verb, _one_of(known, endpoint), code] += 1


def _one_of(known: Mapping[str, object], name: str) -> str:
    return name if name in known or len(known) < MOST_NAMES else OTHERS


def _seconds(details: Mapping[str, object]) -> float:
    length = details.get("duration_ms")
    return max(0.0, length / 1000) if isinstance(length, (int, float)) else 0.0


audit.LISTENERS.append(observe)
