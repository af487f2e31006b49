"""Our breaker and cache in the form that the comparison with other libraries needs.

The comparison loads this module by name, with `--ours benchmarks.resilience_ours`. It measures the
whole product: the breaker that also counts Deferreds, the cache that also has scopes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from evennia_ai.resilience import (
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitOpenError,
    ToolResultCache,
)

NAME = "evennia-ai"
FAILURES = 5
FOREVER_SECONDS = 1e6


class Breaker(CircuitBreaker):
    """A breaker, with the error that it raises."""

    __slots__ = ()
    Rejected = CircuitOpenError


def answer() -> int:
    """A service that works."""
    return 1


def fail() -> int:
    """A service that fails."""
    raise OSError("down")


def make_breaker(fail_max: int, reset: float) -> Breaker:
    """Return a breaker that trips after that many failures and probes after `reset` seconds."""
    return Breaker("bench", CircuitBreakerConfig(failure_threshold=fail_max, timeout_seconds=reset))


def closed() -> Callable[[], Any]:
    """Return a guarded call of a service that works."""
    call = make_breaker(FAILURES, FOREVER_SECONDS).call
    return lambda: call(answer)


def opened() -> tuple[Callable[[], Any], type[Exception]]:
    """Return a call that an open breaker rejects, and the error it raises."""
    breaker = make_breaker(FAILURES, FOREVER_SECONDS)
    for _ in range(FAILURES):
        with contextlib.suppress(OSError):
            breaker.call(fail)
    return lambda: breaker.call(answer), CircuitOpenError


def cache(maxsize: int, ttl: float) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """Return get and put of a cache with a maximum size and a time to live in seconds."""
    ours = ToolResultCache(maxsize)

    def put(key: Any, value: Any) -> None:
        ours.set(key, value, "session", ttl)

    return ours.get, put


def memo(function: Callable[..., Any], maxsize: int, ttl: float) -> Callable[..., Any]:
    """Return a function with cached results."""
    get, put = cache(maxsize, ttl)

    def remembering(*args: Any) -> Any:
        value = get(args)
        if value is None:
            value = function(*args)
            put(args, value)
        return value

    return remembering
