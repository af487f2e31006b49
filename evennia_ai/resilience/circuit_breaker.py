"""The circuit breaker (Nygard, "Release It!"): stop asking a failing service, and probe it later.

State is derived from timestamps, so reading it changes nothing and no timer is needed. A call goes
through the breaker in one of three ways, the last of them by hand:

    answer = yield breaker.call(service.ask, question)     # a value, a Deferred or a coroutine

    with breaker.acquire():                                # CircuitOpenError: not to be called now
        answer = await service.ask(question)

    if breaker.is_available: ...                           # then record_success, record_failure

Cancelling a call says nothing of the service, so a deadline belongs inside of it: what gives up
there raises an error of its own, which counts. Breakers live in one thread, the reactor's.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evennia_ai.errors import CircuitOpenError
from evennia_ai.resilience.clock import Clock, SlidingCount, seconds_left
from evennia_ai.resilience.deferreds import error_of, is_cancellation
from evennia_ai.resilience.permit import Permit

LONGEST_ERROR_TEXT = 200


class CircuitBreakerState(StrEnum):
    """The three states."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreakerMode(StrEnum):
    """The owner of the state: the breaker itself, or a person who took it in hand."""

    AUTOMATIC = "automatic"
    ISOLATED = "isolated"
    METRICS_ONLY = "metrics_only"


@dataclass(frozen=True, slots=True)
class CircuitBreakerConfig:
    """Thresholds of a breaker, and its pace of recovery.

    Attributes:
        failure_threshold: failures within the window that trip it.
        success_threshold: probe successes in a row that close it.
        timeout_seconds: how long it stays open before a probe is admitted; a probe that never came
            back is given up after the same time.
        window_seconds: failures older than this do not count.
        excluded_exceptions: errors that say nothing of the service.
        max_probes: probes that may be under way at the same time.
        failure_rate: the share of the calls within the window that must have failed, too, before
            it trips; 0: none is needed.
        least_calls: calls within the window without which no share is taken for one.
    """

    failure_threshold: int = 5
    success_threshold: int = 2
    timeout_seconds: float = 60.0
    window_seconds: float = 120.0
    excluded_exceptions: tuple[type[BaseException], ...] = (ValueError, KeyError)
    max_probes: int = 1
    failure_rate: float = 0.0
    least_calls: int = 1

    def __post_init__(self) -> None:
        for name in ("failure_threshold", "success_threshold", "max_probes", "least_calls"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}")
        for name in ("timeout_seconds", "window_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)!r}")
        if not 0 <= self.failure_rate <= 1:
            raise ValueError(f"failure_rate must be from 0 to 1, not {self.failure_rate!r}")


class CircuitBreaker:
    """One breaker for one service. Every call costs the same, however much went wrong before.

    Args:
        name: shown in errors and statistics.
        config: thresholds and times; the defaults when None.
        clock: seconds, monotonic.
    """

    __slots__ = (
        "_clock",
        "_failure_times",
        "_failures",
        "_generation",
        "_last_error",
        "_mode",
        "_open_until",
        "_opened_at",
        "_probe_successes",
        "_probes",
        "_recent",
        "_rejections",
        "_successes",
        "config",
        "name",
    )

    def __init__(
        self,
        name: str,
        config: CircuitBreakerConfig | None = None,
        *,
        clock: Clock = time.monotonic,
    ) -> None:
        self.name = name
        self.config = config or CircuitBreakerConfig()
        self._clock = clock
        # Full, it spans the last `failure_threshold` failures: the oldest of them alone decides.
        self._failure_times: deque[float] = deque(maxlen=self.config.failure_threshold)
        # Counted only where a share of failures is asked for.
        has_rate = self.config.failure_rate > 0
        self._recent = SlidingCount(self.config.window_seconds) if has_rate else None
        self._mode = CircuitBreakerMode.AUTOMATIC
        # Open from one time until another; outside of them, also after a step back, half open.
        self._opened_at: float | None = None
        self._open_until = 0.0
        self._probes: dict[Permit, float] = {}
        self._probe_successes = 0
        self._generation = 0
        self._last_error: str | None = None
        self._failures = self._successes = self._rejections = 0

    @property
    def mode(self) -> CircuitBreakerMode:
        """The owner of the state."""
        return self._mode

    @property
    def state(self) -> CircuitBreakerState:
        """The state now; reading it changes nothing."""
        if self._opened_at is None:
            return CircuitBreakerState.CLOSED
        if self._opened_at <= self._clock() < self._open_until:
            return CircuitBreakerState.OPEN
        return CircuitBreakerState.HALF_OPEN

    @property
    def is_available(self) -> bool:
        """True where `acquire` would give a permit now."""
        return self.retry_after is None

    @property
    def has_answered_lately(self) -> bool:
        """A call that went well within the window is known of; True where that is not counted."""
        if self._recent is None:
            return True
        calls, failures = self._recent.totals(self._clock())
        return calls > failures

    @property
    def retry_after(self) -> float | None:
        """Seconds until a call may be admitted, None when it is now, infinite when isolated."""
        if self._opened_at is None:
            return None
        now = self._clock()
        if self._opened_at <= now < self._open_until:
            return self._open_until - now
        if len(self._probes) < self.config.max_probes:
            return None
        # A probe that never came back must not keep the service shut out for ever.
        oldest = next(iter(self._probes.values()))
        return seconds_left(oldest, self.config.timeout_seconds, now) or None

    def acquire(self) -> Permit:
        """Take the right to make one call.

        Raises:
            CircuitOpenError: the breaker is open, or half open with its probes under way.
        """
        if self._opened_at is None:
            return Permit(self, self._generation)
        retry_after = self.retry_after
        if retry_after is not None:
            self._rejections += 1
            raise CircuitOpenError(self.name, retry_after)
        return self._admit_probe()

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function under a permit; a Deferred or coroutine counts when its outcome is known.

        Returns:
            What the function returns; in place of a coroutine one that tells the breaker.

        Raises:
            CircuitOpenError: the function was not called.
        """
        # Where nobody else needs it a permit is not even made: counting is the whole cost.
        permit = None if self._opened_at is None else self.acquire()
        generation = self._generation
        try:
            outcome = function(*args, **kwargs)
        except BaseException as error:
            (permit or Permit(self, generation)).failure(error)
            raise
        # Deferreds can be awaited, too.
        if hasattr(outcome, "__await__"):
            return (permit or Permit(self, generation)).follow(outcome)
        if permit is not None:
            permit.success()
        # The function may itself have led to its being tripped or reset.
        elif self._generation == generation:
            self._successes += 1
            if self._recent is not None:
                self._recent.add(self._clock(), is_failure=False)
        return outcome

    def record_success(self) -> None:
        """Tell of a success by hand, without a permit."""
        self._succeeded(None)

    def record_failure(self, error: object = None) -> None:
        """Tell of a failure by hand, without a permit: an exception, or Twisted's Failure."""
        self._failed(None, error)

    def reset(self) -> None:
        """Close the breaker, forget its failures and let it decide itself again; totals stay."""
        self._generation += 1
        self._mode = CircuitBreakerMode.AUTOMATIC
        self._opened_at = None
        self._failure_times.clear()
        if self._recent is not None:
            self._recent.clear()
        self._probes.clear()
        self._probe_successes = 0

    def force_open(self) -> None:
        """Open it as if it had tripped now: it probes and recovers as usual."""
        self.reset()
        self._trip()

    def isolate(self) -> None:
        """Hold it open, without probes, until `reset`."""
        self.force_open()
        self._mode = CircuitBreakerMode.ISOLATED
        self._opened_at, self._open_until = -math.inf, math.inf

    def metrics_only(self) -> None:
        """Count, but admit every call and never trip, until `reset`."""
        self.reset()
        self._mode = CircuitBreakerMode.METRICS_ONLY

    def get_stats(self) -> dict[str, Any]:
        """Plain figures for status pages; an isolated breaker has no time to say."""
        retry_after = self.retry_after
        return {
            "name": self.name,
            "state": self.state.value,
            "failures_in_window": self._failures_in_window(),
            "failure_threshold": self.config.failure_threshold,
            "total_failures": self._failures,
            "total_successes": self._successes,
            "total_rejections": self._rejections,
            "last_failure_error": self._last_error,
            "retry_after": None if retry_after == math.inf else retry_after,
            "half_open_successes": self._probe_successes,
            "success_threshold": self.config.success_threshold,
        }

    def _failures_in_window(self) -> int:
        oldest = self._clock() - self.config.window_seconds
        return sum(1 for at in self._failure_times if at >= oldest)

    def _admit_probe(self) -> Permit:
        if len(self._probes) >= self.config.max_probes:
            # The oldest has had its time, or `retry_after` would not have let this one pass.
            del self._probes[next(iter(self._probes))]
        permit = Permit(self, self._generation)
        self._probes[permit] = self._clock()
        return permit

    def _succeeded(self, permit: Permit | None) -> None:
        self._successes += 1
        if self._opened_at is None:
            if self._recent is not None:
                self._recent.add(self._clock(), is_failure=False)
            return
        # It was sent before the breaker opened, and says nothing of the service now.
        if self.state is not CircuitBreakerState.HALF_OPEN:
            return
        self._released(permit)
        self._probe_successes += 1
        if self._probe_successes >= self.config.success_threshold:
            self.reset()

    def _failed(self, permit: Permit | None, problem: object) -> None:
        error = error_of(problem)
        if is_cancellation(error) or isinstance(error, self.config.excluded_exceptions):
            self._released(permit)
            return
        self._failures += 1
        # The error itself would keep its traceback, and with it every frame's variables.
        self._last_error = None if error is None else describe(error)
        if self._opened_at is None:
            self._count_failure()
        elif self.state is CircuitBreakerState.HALF_OPEN:
            self._trip()

    def _count_failure(self) -> None:
        now, times = self._clock(), self._failure_times
        times.append(now)
        is_over = len(times) == times.maxlen and now - times[0] <= self.config.window_seconds
        if self._recent is not None:
            self._recent.add(now, is_failure=True)
            calls, failures = self._recent.totals(now)
            is_enough = calls >= self.config.least_calls
            is_over = is_over and is_enough and failures >= self.config.failure_rate * calls
        if is_over and self._mode is not CircuitBreakerMode.METRICS_ONLY:
            self._trip()

    def _released(self, permit: Permit | None) -> None:
        if permit is not None:
            self._probes.pop(permit, None)

    def _trip(self) -> None:
        # Permits from before are void: how they end says nothing of what comes now.
        self._generation += 1
        self._opened_at = self._clock()
        self._open_until = self._opened_at + self.config.timeout_seconds
        if self._recent is not None:
            self._recent.clear()
        self._probes.clear()
        self._probe_successes = 0


def describe(error: BaseException) -> str:
    """The error's text, or its kind when it has none, short enough for a status page."""
    return (str(error) or type(error).__name__)[:LONGEST_ERROR_TEXT]


class CircuitBreakerRegistry:
    """The breakers of one process, by name.

    None is ever dropped, so a name stands for something configured (an endpoint, a tool) and never
    for something that players can make more of.
    """

    def __init__(self, *, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._breakers: dict[str, CircuitBreaker] = {}

    def get_or_create(
        self, name: str, config: CircuitBreakerConfig | None = None
    ) -> CircuitBreaker:
        """The breaker of that name; `config` counts only when it is made now."""
        if name not in self._breakers:
            self._breakers[name] = CircuitBreaker(name, config, clock=self._clock)
        return self._breakers[name]

    def get_all_stats(self) -> dict[str, dict[str, Any]]:
        """Statistics of every breaker, by name."""
        return {name: breaker.get_stats() for name, breaker in self._breakers.items()}

    def degraded(self) -> list[dict[str, Any]]:
        """The breakers that are not closed now, with the details staff want."""
        wanted = ("name", "state", "retry_after", "last_failure_error")
        unwell = [stats for stats in self.get_all_stats().values() if stats["state"] != "closed"]
        return [{key: stats[key] for key in wanted} for stats in unwell]

    def reset_all(self) -> None:
        """Close every breaker."""
        for breaker in self._breakers.values():
            breaker.reset()
