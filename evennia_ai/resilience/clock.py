"""Clocks as arguments, and a sliding count of calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]


def seconds_left(since: float, span_seconds: float, now: float) -> float:
    """Seconds left of a span that began at `since`; 0.0 when it is over."""
    # A clock that was set back ends the span: too early is better than much too late.
    elapsed = now - since
    return span_seconds - elapsed if 0.0 <= elapsed < span_seconds else 0.0


# Slots of a SlidingCount: its memory, and the precision of its window.
SLOTS = 24


@dataclass(slots=True)
class _Slot:
    number: int
    calls: int = 0
    failures: int = 0


class SlidingCount:
    """A count of calls within a sliding window, in constant memory.

    Args:
        seconds: the window; a call may drop out up to 1/24 of it too early.
    """

    __slots__ = ("_slot_seconds", "_slots")

    def __init__(self, seconds: float) -> None:
        self._slot_seconds = seconds / SLOTS
        self._slots: deque[_Slot] = deque(maxlen=SLOTS)

    def add(self, now: float, *, is_failure: bool) -> None:
        """Count a call that ended now."""
        number = int(now // self._slot_seconds)
        if self._slots and self._slots[-1].number > number:  # the clock was set back
            self._slots.clear()
        if not self._slots or self._slots[-1].number != number:
            self._slots.append(_Slot(number))
        slot = self._slots[-1]
        slot.calls += 1
        slot.failures += is_failure

    def totals(self, now: float) -> tuple[int, int]:
        """The number of calls in the window, and of those that failed."""
        oldest = int(now // self._slot_seconds) - SLOTS
        # Slots in the future date from before the clock was set back.
        counted = [slot for slot in self._slots if oldest < slot.number <= oldest + SLOTS]
        return sum(slot.calls for slot in counted), sum(slot.failures for slot in counted)

    def clear(self) -> None:
        """Reset the count."""
        self._slots.clear()
