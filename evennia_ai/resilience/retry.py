"""Retries: which errors are worth another attempt, and the pause before it.

    answer = await retry(ask, RetryConfig(), deadline_seconds=30.0, sleep=sleep,
                         clock=reactor.seconds, random=random.random)

Clock, randomness and waiting are arguments, so the same code serves Twisted, asyncio and tests.
With Twisted, `sleep` is `lambda seconds: deferLater(reactor, seconds)`, and cancelling the Deferred
of the whole ends the wait at once. `RetryPlan` has the same logic for callers with their own loop.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from evennia_ai.errors import CircuitOpenError
from evennia_ai.resilience.clock import Clock
from evennia_ai.resilience.deferreds import is_cancellation

T = TypeVar("T")
Chance = Callable[[], float]

# For errors without a `retryable` attribute, such as those of a game's own tools.
RETRYABLE_WORDS = ("timeout", "connection", "network", "temporary", "rate limit", "try again")


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """Number of attempts, and pauses between them.

    Attributes:
        max_attempts: including the first.
        backoff_base: seconds before the second attempt.
        backoff_max: longest wait in seconds.
        backoff_multiplier: factor from one wait to the next.
        jitter: True: waits are shortened at random, so that callers do not retry in step.
    """

    max_attempts: int = 4
    backoff_base: float = 1.0
    backoff_max: float = 10.0
    backoff_multiplier: float = 2.0
    jitter: bool = True

    def __post_init__(self) -> None:
        limits = {"max_attempts": 1, "backoff_base": 0, "backoff_max": 0, "backoff_multiplier": 1}
        for name, least in limits.items():
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)!r}")


class RetryPlan:
    """Counts the attempts of one call and decides whether there is another.

    Args:
        random: gives a number from 0 to 1.
        clock: monotonic seconds.

    Attributes:
        attempt: number of the present attempt, from 1.
    """

    __slots__ = ("_clock", "_config", "_ends_at", "_random", "attempt")

    def __init__(
        self, config: RetryConfig, *, deadline_seconds: float, clock: Clock, random: Chance
    ) -> None:
        self._config = config
        self._clock = clock
        self._random = random
        self._ends_at = clock() + deadline_seconds
        self.attempt = 1

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self._ends_at - self._clock())

    def wait_after(self, problem: BaseException | str) -> float | None:
        """Seconds to wait before the next attempt; None if there is none. Begins that attempt.

        There is none if the problem is not retryable, if all attempts are used, or if the wait
        would not end before the deadline. If the service said when to come back (`is_wait_told`),
        the number of attempts is not limited.
        """
        is_last = self.attempt >= self._config.max_attempts
        if not is_retryable(problem) or (is_last and not getattr(problem, "is_wait_told", False)):
            return None
        wait = backoff_seconds(
            self._config,
            self.attempt,
            random=self._random(),
            retry_after=getattr(problem, "retry_after", None),
        )
        # No time would be left for the attempt itself.
        if wait >= self.seconds_left:
            return None
        self.attempt += 1
        return wait


async def retry(
    function: Callable[[float], Awaitable[T]],
    config: RetryConfig,
    *,
    deadline_seconds: float,
    sleep: Callable[[float], Awaitable[object]],
    clock: Clock,
    random: Chance,
) -> T:
    """Call a function until it succeeds, within the limits of the config and the deadline.

    Args:
        function: called with the seconds left, in which it must end.
        deadline_seconds: for all attempts and waits together.
        sleep: waits for some seconds.
        clock: monotonic seconds.
        random: gives a number from 0 to 1.

    Raises:
        Exception: that of the last attempt.
    """
    plan = RetryPlan(config, deadline_seconds=deadline_seconds, clock=clock, random=random)
    while True:
        try:
            return await function(plan.seconds_left)
        except Exception as error:
            wait = plan.wait_after(error)
            if wait is None:
                raise
            failed = error
        await sleep(wait)
        if not plan.seconds_left:  # woken too late for another attempt
            raise failed


def backoff_seconds(
    config: RetryConfig, attempt: int, *, random: float, retry_after: float | None = None
) -> float:
    """Seconds to wait after a failed attempt.

    min(backoff_max, backoff_base * backoff_multiplier ** (attempt - 1)), times 0.5 to 1.0 with
    jitter, and never less than the service asked for.

    Args:
        random: a number from 0 to 1.
        attempt: number of the failed attempt, from 1.
        retry_after: seconds that the service asked for.
    """
    try:
        wait = config.backoff_base * config.backoff_multiplier ** (attempt - 1)
    except OverflowError:
        wait = math.inf
    wait = min(config.backoff_max, wait)
    if config.jitter:
        wait *= 0.5 + 0.5 * random
    return max(wait, retry_after or 0.0)


def is_retryable(problem: BaseException | str) -> bool:
    """True if the same call may succeed a little later.

    The error's own `retryable` decides; without one, its type and text do.
    """
    if isinstance(problem, str):
        return is_retryable_text(problem)
    # The result of a cancelled call is not wanted, and an open breaker would refuse a retry.
    if is_cancellation(problem) or isinstance(problem, CircuitOpenError):
        return False
    known = getattr(problem, "retryable", None)
    if known is not None:
        return bool(known)
    return is_retryable_text(f"{type(problem).__name__}: {problem}")


def is_retryable_text(text: str) -> bool:
    """True if an error's text speaks of a temporary problem."""
    text = text.casefold()
    return any(word in text for word in RETRYABLE_WORDS)


def read_retry_after(header: str, now: datetime) -> float | None:
    """The seconds in a `Retry-After` header; None if it cannot be read.

    Args:
        header: a number of seconds, or an HTTP date.
        now: with a time zone.
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except (ValueError, OverflowError):
            return None
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
