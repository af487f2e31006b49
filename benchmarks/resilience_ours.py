"""Breaker and cache in the form in which the comparison with other libraries takes them.

The comparison gets this module by name, as `--ours benchmarks.resilience_ours`. What it measures is
the whole product: the breaker that also counts Deferreds, the cache that also has scopes.
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
    """A breaker that also says what it raises."""

    __slots__ = ()
    Rejected = CircuitOpenError


def answer() -> int:
    """A service that works."""
    return 1


def fail() -> int:
    """A service that does not."""
    raise OSError("down")


def make_breaker(fail_max: int, reset: float) -> Breaker:
    """A breaker that trips at so many failures and probes after so many seconds."""
    return Breaker("bench", CircuitBreakerConfig(failure_threshold=fail_max, timeout_seconds=reset))


def closed() -> Callable[[], Any]:
    """A guarded call of a service that works."""
    call = make_breaker(FAILURES, FOREVER_SECONDS).call
    return lambda: call(answer)


def opened() -> tuple[Callable[[], Any], type[Exception]]:
    """A call that an open breaker rejects, and what it raises."""
    breaker = make_breaker(FAILURES, FOREVER_SECONDS)
    for _ in range(FAILURES):
        with contextlib.suppress(OSError):
            breaker.call(fail)
    return lambda: breaker.call(answer), CircuitOpenError


def cache(maxsize: int, ttl: float) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """A cache of so many entries that live so many seconds: its get and its put."""
    ours = ToolResultCache(maxsize)

    def put(key: Any, value: Any) -> None:
        ours.set(key, value, "session", ttl)

    return ours.get, put


def memo(function: Callable[..., Any], maxsize: int, ttl: float) -> Callable[..., Any]:
    """A function that remembers what it gave."""
    get, put = cache(maxsize, ttl)

    def remembering(*args: Any) -> Any:
        value = get(args)
        if value is None:
            value = function(*args)
            put(args, value)
        return value

    return remembering
