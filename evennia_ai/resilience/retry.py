"""When and after how long a failed call is tried again. Waiting itself is the caller's."""

from __future__ import annotations

import math
from dataclasses import dataclass

RETRYABLE_WORDS = ("timeout", "connection", "network", "temporary", "rate limit", "try again")


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """How often and how patiently a call is tried.

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


def is_retryable_text(text: str) -> bool:
    """Whether an error's text speaks of something that may pass."""
    text = text.casefold()
    return any(word in text for word in RETRYABLE_WORDS)
