"""Retries: the calls worth trying again, and the pause before each.

    answer = await retry(ask, RetryConfig(), deadline_seconds=30.0, sleep=sleep,
                         clock=reactor.seconds, random=random.random)

Clock, chance and waiting are arguments: with Twisted, `sleep` is
`lambda seconds: deferLater(reactor, seconds)`, and cancelling the Deferred of the whole ends the
wait on the spot. `RetryPlan` is the same decision for those who loop themselves.
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

RETRYABLE_WORDS = ("timeout", "connection", "network", "temporary", "rate limit", "try again")


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """Number and patience of retries.

    Attributes:
        max_attempts: calls in all, the first included.
        backoff_base: seconds before the second attempt.
        backoff_max: longest wait in seconds.
        backoff_multiplier: factor from one wait to the next.
        jitter: whether waits are shortened at random, so that callers do not come back together.
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
    """The attempts of one call: which is under way, and whether there is another.

    Args:
        config: how often and how patiently.
        deadline_seconds: for all attempts and waits together.
        clock: seconds, monotonic.
        random: gives a number from 0 to 1.

    Attributes:
        attempt: number of the attempt under way, from 1.
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
        """Until the deadline, never negative."""
        return max(0.0, self._ends_at - self._clock())

    def wait_after(self, problem: BaseException | str) -> float | None:
        """Seconds to wait before the next attempt, which begins with this; None for no other.

        There is no other when the problem will not pass, when there were enough of them, or when
        the wait would not end before the deadline. Where the service
        said when to come back (`is_wait_told`), that is done as often as there is time for it.
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
    """Call until it works, as often and as long as allowed.

    Args:
        function: called with the seconds that are left; it is to give up by then.
        config: how often and how patiently.
        deadline_seconds: for all attempts and waits together.
        sleep: waits so many seconds.
        clock: seconds, monotonic.
        random: gives a number from 0 to 1.

    Raises:
        Exception: the last attempt's.
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
        if not plan.seconds_left:  # it was woken late: an attempt would end before it begins
            raise failed


def backoff_seconds(
    config: RetryConfig, attempt: int, *, random: float, retry_after: float | None = None
) -> float:
    """Seconds to wait after the given failed attempt.

    min(backoff_max, backoff_base * backoff_multiplier ** (attempt - 1)), times 0.5 to 1.0 with
    jitter, and never less than the service asked for.

    Args:
        config: how patiently to wait.
        attempt: number of the attempt that failed, from 1.
        random: a number from 0 to 1, the randomness.
        retry_after: what the service asked for, in seconds.
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
    """True where the same call may work a little later.

    An error that knows (`retryable`) is believed; of others the kind and the text are read. A
    cancelled call is not wanted any more, and an open breaker says when to come back by itself.
    """
    if isinstance(problem, str):
        return is_retryable_text(problem)
    if is_cancellation(problem) or isinstance(problem, CircuitOpenError):
        return False
    known = getattr(problem, "retryable", None)
    if known is not None:
        return bool(known)
    return is_retryable_text(f"{type(problem).__name__}: {problem}")


def is_retryable_text(text: str) -> bool:
    """True where an error's text speaks of something that may pass."""
    text = text.casefold()
    return any(word in text for word in RETRYABLE_WORDS)


def read_retry_after(header: str, now: datetime) -> float | None:
    """Seconds a `Retry-After` header asks for, None when it says nothing that makes sense.

    Args:
        header: seconds, or a date of HTTP.
        now: with its zone.
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
