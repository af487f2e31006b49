"""Time, as an argument: what the rooms of this floor are given instead of reading it."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], float]


def seconds_left(since: float, span_seconds: float, now: float) -> float:
    """The rest of a span that began at `since`, 0.0 when it is over.

    A clock that was set back ends the span: it is better to ask too early than for ever too late.
    """
    elapsed = now - since
    return span_seconds - elapsed if 0.0 <= elapsed < span_seconds else 0.0
