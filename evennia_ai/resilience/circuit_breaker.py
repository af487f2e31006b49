"""The circuit breaker (Nygard, "Release It!"): stop asking a failing service, and probe it later.

State is derived from timestamps, so reading it changes nothing and no timer is needed. By hand:

    permit = breaker.acquire()          # CircuitOpenError when it may not be called
    try:
        answer = yield service.call()
    except Exception as error:
        permit.failure(error)           # or permit.release() when it says nothing of the service
        raise
    permit.success()

A permit belongs to the generation it was taken in: a result that comes back after the breaker
changed state in the meantime changes nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evennia_ai.errors import CircuitOpenError

Clock = Callable[[], float]


class CircuitBreakerState(StrEnum):
    """The three states."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class CircuitBreakerConfig:
    """When a breaker trips and how it recovers.

    Attributes:
        failure_threshold: failures within the window that trip it.
        success_threshold: probe successes in a row that close it.
        timeout_seconds: how long it stays open before a probe is admitted; a probe that never came
            back is given up after the same time.
        window_seconds: failures older than this do not count.
        excluded_exceptions: errors that say nothing of the service.
    """

    failure_threshold: int = 5
    success_threshold: int = 2
    timeout_seconds: float = 60.0
    window_seconds: float = 120.0
    excluded_exceptions: tuple[type[BaseException], ...] = (ValueError, KeyError)

    def __post_init__(self) -> None:
        for name in ("failure_threshold", "success_threshold"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}")
        for name in ("timeout_seconds", "window_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)!r}")


class Permit:
    """The right to make one call. Its outcome is told once; later tellings change nothing."""

    __slots__ = ("_breaker", "_generation", "_open", "at")

    def __init__(self, breaker: CircuitBreaker, generation: int, at: float) -> None:
        self._breaker = breaker
        self._generation = generation
        self._open = True
        self.at = at

    def success(self) -> None:
        """The service answered."""
        if self._close():
            self._breaker._succeeded(self)

    def failure(self, error: BaseException | None = None) -> None:
        """The service failed, unless the error is of an excluded kind."""
        if self._close():
            self._breaker._failed(self, error)

    def release(self) -> None:
        """The call was cancelled or told nothing of the service."""
        if self._close():
            self._breaker._released(self)

    def _close(self) -> bool:
        was_open, self._open = self._open, False
        return was_open and self._generation == self._breaker._generation


class CircuitBreaker:
    """One breaker for one service.

    Args:
        name: shown in errors and statistics.
        config: thresholds and times; the defaults when None.
        clock: seconds, monotonic.
    """

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
        self._failures: deque[float] = deque(maxlen=self.config.failure_threshold)
        self._opened_at: float | None = None
        self._probe: Permit | None = None
        self._probe_successes = 0
        self._generation = 0
        self._last_error: str | None = None
        self._totals = {"failures": 0, "successes": 0, "rejections": 0}

    @property
    def state(self) -> CircuitBreakerState:
        """The state now; reading it changes nothing."""
        if self._opened_at is None:
            return CircuitBreakerState.CLOSED
        if self._clock() - self._opened_at < self.config.timeout_seconds:
            return CircuitBreakerState.OPEN
        return CircuitBreakerState.HALF_OPEN

    @property
    def is_available(self) -> bool:
        """Whether `acquire` would give a permit now."""
        state = self.state
        if state is CircuitBreakerState.HALF_OPEN:
            return not self._is_probing()
        return state is CircuitBreakerState.CLOSED

    @property
    def retry_after(self) -> float | None:
        """Seconds until a probe may be admitted, or None when calls are admitted now."""
        if self._opened_at is None:
            return None
        now = self._clock()
        left = self._opened_at + self.config.timeout_seconds - now
        if left <= 0 and self._probe is not None:
            left = self._probe.at + self.config.timeout_seconds - now
        return left if left > 0 else None

    def acquire(self) -> Permit:
        """Take the right to make one call.

        Raises:
            CircuitOpenError: the breaker is open, or half open with its probe under way.
        """
        if self._opened_at is None:
            return Permit(self, self._generation, 0.0)
        if not self.is_available:
            self._totals["rejections"] += 1
            raise CircuitOpenError(self.name, self.retry_after or 0.0)
        self._probe = Permit(self, self._generation, self._clock())
        return self._probe

    def record_success(self) -> None:
        """Tell of a success by hand, without a permit."""
        Permit(self, self._generation, self._clock()).success()

    def record_failure(self, error: BaseException | None = None) -> None:
        """Tell of a failure by hand, without a permit."""
        Permit(self, self._generation, self._clock()).failure(error)

    def reset(self) -> None:
        """Close the breaker and forget its failures; totals stay."""
        self._generation += 1
        self._failures.clear()
        self._opened_at = None
        self._probe = None
        self._probe_successes = 0

    def get_stats(self) -> dict[str, Any]:
        """Plain figures for status pages."""
        return {
            "name": self.name,
            "state": self.state.value,
            "failures_in_window": self._failures_in_window(),
            "failure_threshold": self.config.failure_threshold,
            "total_failures": self._totals["failures"],
            "total_successes": self._totals["successes"],
            "total_rejections": self._totals["rejections"],
            "last_failure_error": self._last_error,
            "retry_after": self.retry_after,
            "half_open_successes": self._probe_successes,
            "success_threshold": self.config.success_threshold,
        }

    def _is_probing(self) -> bool:
        probe = self._probe
        return probe is not None and self._clock() - probe.at < self.config.timeout_seconds

    def _failures_in_window(self) -> int:
        oldest = self._clock() - self.config.window_seconds
        return sum(1 for at in self._failures if at >= oldest)

    def _succeeded(self, permit: Permit) -> None:
        self._totals["successes"] += 1
        if self.state is not CircuitBreakerState.HALF_OPEN:
            return
        self._end_probe(permit)
        self._probe_successes += 1
        if self._probe_successes >= self.config.success_threshold:
            self.reset()

    def _failed(self, permit: Permit, error: BaseException | None) -> None:
        if isinstance(error, self.config.excluded_exceptions):
            self._released(permit)
            return
        self._totals["failures"] += 1
        self._last_error = str(error) if error is not None else None
        if self._opened_at is not None:
            if self.state is CircuitBreakerState.HALF_OPEN:
                self._trip()
            return
        self._failures.append(self._clock())
        if self._failures_in_window() >= self.config.failure_threshold:
            self._trip()

    def _released(self, permit: Permit) -> None:
        self._end_probe(permit)

    def _end_probe(self, permit: Permit) -> None:
        if self._probe is permit:
            self._probe = None

    def _trip(self) -> None:
        self._generation += 1
        self._opened_at = self._clock()
        self._probe = None
        self._probe_successes = 0


class CircuitBreakerRegistry:
    """The breakers of one process, by name."""

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

    def reset_all(self) -> None:
        """Close every breaker."""
        for breaker in self._breakers.values():
            breaker.reset()
