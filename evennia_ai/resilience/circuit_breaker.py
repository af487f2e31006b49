"""The circuit breaker (Nygard, "Release It!"): stop asking a failing service, and probe it later.

State is derived from timestamps, so reading it changes nothing and no timer is needed. There are
three ways to guard a call, the last of them by hand:

    answer = yield breaker.call(service.ask, question)     # a value, a Deferred or a coroutine

    with breaker.acquire():                                # CircuitOpenError: do not call now
        answer = await service.ask(question)

    if breaker.is_available: ...                           # then record_success, record_failure

A cancelled call says nothing about the service, so deadlines belong inside the guarded call: the
error raised there counts. Breakers are used in one thread only, the reactor's.
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
    """States of a circuit breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreakerMode(StrEnum):
    """Control of a breaker's state: automatic, or overridden by a person."""

    AUTOMATIC = "automatic"
    ISOLATED = "isolated"
    METRICS_ONLY = "metrics_only"


@dataclass(frozen=True, slots=True)
class CircuitBreakerConfig:
    """Thresholds of a breaker, and its pace of recovery.

    Attributes:
        failure_threshold: failures within the window that trip it.
        success_threshold: successful probes in a row that close it.
        timeout_seconds: time it stays open before a probe is admitted; a probe without an outcome
            is given up after the same time.
        window_seconds: older failures do not count.
        excluded_exceptions: errors that say nothing about the service.
        max_probes: probes that may run at the same time.
        failure_rate: fraction of the calls within the window that must also have failed before it
            trips; 0: no such condition.
        least_calls: with fewer calls in the window, `failure_rate` is not met.
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
    """The breaker of one service. The cost of a call does not depend on its history.

    Args:
        name: shown in errors and statistics.
        config: thresholds and times; None: the defaults.
        clock: monotonic seconds.
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
        # The last `failure_threshold` failures: once full, it trips if the oldest is in the window.
        self._failure_times: deque[float] = deque(maxlen=self.config.failure_threshold)
        # All calls are counted only if a failure rate is configured.
        has_rate = self.config.failure_rate > 0
        self._recent = SlidingCount(self.config.window_seconds) if has_rate else None
        self._mode = CircuitBreakerMode.AUTOMATIC
        # Open between these two times and half open outside of them, also if the clock was set
        # back; None: closed.
        self._opened_at: float | None = None
        self._open_until = 0.0
        self._probes: dict[Permit, float] = {}
        self._probe_successes = 0
        # Raised at each trip and reset, so that outcomes of calls from before can be ignored.
        self._generation = 0
        self._last_error: str | None = None
        self._failures = self._successes = self._rejections = 0

    @property
    def mode(self) -> CircuitBreakerMode:
        """The mode: automatic, or one that a person has set."""
        return self._mode

    @property
    def state(self) -> CircuitBreakerState:
        """The present state; reading it changes nothing."""
        if self._opened_at is None:
            return CircuitBreakerState.CLOSED
        if self._opened_at <= self._clock() < self._open_until:
            return CircuitBreakerState.OPEN
        return CircuitBreakerState.HALF_OPEN

    @property
    def is_available(self) -> bool:
        """True if `acquire` would give a permit now."""
        return self.retry_after is None

    @property
    def has_answered(self) -> bool:
        """True if any call succeeded since the breaker was made."""
        return self._successes > 0

    @property
    def has_answered_lately(self) -> bool:
        """True if some call within the window succeeded, or if calls are not counted."""
        if self._recent is None:
            return True
        calls, failures = self._recent.totals(self._clock())
        return calls > failures

    @property
    def retry_after(self) -> float | None:
        """Seconds until a call may be admitted; None: now; infinite: isolated."""
        if self._opened_at is None:
            return None
        now = self._clock()
        if self._opened_at <= now < self._open_until:
            return self._open_until - now
        if len(self._probes) < self.config.max_probes:
            return None
        # A probe without an outcome must not block the service for ever.
        oldest = next(iter(self._probes.values()))
        return seconds_left(oldest, self.config.timeout_seconds, now) or None

    def acquire(self) -> Permit:
        """Take a permit for one call.

        Raises:
            CircuitOpenError: the breaker is open, or half open with all probes running.
        """
        if self._opened_at is None:
            return Permit(self, self._generation)
        retry_after = self.retry_after
        if retry_after is not None:
            self._rejections += 1
            raise CircuitOpenError(self.name, retry_after)
        return self._admit_probe()

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function under a permit; a Deferred or coroutine counts once it has an outcome.

        Returns:
            The function's result; a coroutine is wrapped in one that reports its outcome.

        Raises:
            CircuitOpenError: the function was not called.
        """
        # While closed, a plain call needs no Permit object; this is the hot path.
        permit = None if self._opened_at is None else self.acquire()
        generation = self._generation
        try:
            outcome = function(*args, **kwargs)
        except BaseException as error:
            (permit or Permit(self, generation)).failure(error)
            raise
        # True for Deferreds as well.
        if hasattr(outcome, "__await__"):
            return (permit or Permit(self, generation)).follow(outcome)
        if permit is not None:
            permit.success()
        # The function itself may have tripped or reset the breaker.
        elif self._generation == generation:
            self._successes += 1
            if self._recent is not None:
                self._recent.add(self._clock(), is_failure=False)
        return outcome

    def record_success(self) -> None:
        """Record a success without a permit."""
        self._succeeded(None)

    def record_failure(self, error: object = None) -> None:
        """Record a failure without a permit: an exception, or Twisted's Failure."""
        self._failed(None, error)

    def reset(self) -> None:
        """Close the breaker, clear its failures and return it to automatic mode; totals stay."""
        self._generation += 1
        self._mode = CircuitBreakerMode.AUTOMATIC
        self._opened_at = None
        self._failure_times.clear()
        if self._recent is not None:
            self._recent.clear()
        self._probes.clear()
        self._probe_successes = 0

    def force_open(self) -> None:
        """Open the breaker as if it had tripped now; it recovers as usual."""
        self.reset()
        self._trip()

    def isolate(self) -> None:
        """Keep the breaker open, without probes, until `reset`."""
        self.force_open()
        self._mode = CircuitBreakerMode.ISOLATED
        self._opened_at, self._open_until = -math.inf, math.inf

    def metrics_only(self) -> None:
        """Admit every call and only count, until `reset`."""
        self.reset()
        self._mode = CircuitBreakerMode.METRICS_ONLY

    def get_stats(self) -> dict[str, Any]:
        """Figures for status pages."""
        # Infinity cannot be written as JSON; an isolated breaker has no time.
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
            # The oldest has timed out; otherwise `retry_after` would not have admitted this call.
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
        # A call from before the breaker opened says nothing about the service now.
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
        # Text only: the error object would keep its traceback and all variables of its frames.
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
        # Outcomes of permits from before say nothing about the state from now on.
        self._generation += 1
        self._opened_at = self._clock()
        self._open_until = self._opened_at + self.config.timeout_seconds
        if self._recent is not None:
            self._recent.clear()
        self._probes.clear()
        self._probe_successes = 0


def describe(error: BaseException) -> str:
    """The error's text, or its type if it has none, cut for a status page."""
    return (str(error) or type(error).__name__)[:LONGEST_ERROR_TEXT]


class CircuitBreakerRegistry:
    """The breakers of one process, by name.

    None is ever removed, so names must be of configured things (endpoints, tools), of which
    players cannot create more.
    """

    def __init__(self, *, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._breakers: dict[str, CircuitBreaker] = {}

    def get_or_create(
        self, name: str, config: CircuitBreakerConfig | None = None
    ) -> CircuitBreaker:
        """The breaker with this name; `config` is used only if it does not exist yet."""
        if name not in self._breakers:
            self._breakers[name] = CircuitBreaker(name, config, clock=self._clock)
        return self._breakers[name]

    def get_all_stats(self) -> dict[str, dict[str, Any]]:
        """Statistics of every breaker, by name."""
        return {name: breaker.get_stats() for name, breaker in self._breakers.items()}

    def degraded(self) -> list[dict[str, Any]]:
        """The breakers that are not closed, with the details that staff need."""
        keys = ("name", "state", "retry_after", "last_failure_error")
        unwell = [stats for stats in self.get_all_stats().values() if stats["state"] != "closed"]
        return [{key: stats[key] for key in keys} for stats in unwell]

    def reset_all(self) -> None:
        """Close every breaker."""
        for breaker in self._breakers.values():
            breaker.reset()
