"""Time limit of a start: as long as there is progress, up to a maximum."""

from __future__ import annotations

import time
from collections.abc import Callable

QUIET_SECONDS = 120.0
LONGEST_SECONDS = 900.0
LONGER_THAN_USUAL_SECONDS = 30.0


class Patience:
    """A time limit that ends after a while without progress, or after a maximum.

    So a slow machine that makes progress gets more time than a game that hangs.

    Args:
        quiet_seconds: longest time without progress.
        longest_seconds: longest time in all.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        quiet_seconds: float = QUIET_SECONDS,
        longest_seconds: float = LONGEST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quiet_seconds = quiet_seconds
        self._longest_seconds = longest_seconds
        self._clock = clock
        self._began = self._moved = clock()
        self._seen: object = None

    @property
    def waited(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._began

    @property
    def is_over(self) -> bool:
        """True when the time is over."""
        is_quiet = self._clock() - self._moved > self._quiet_seconds
        return is_quiet or self.waited > self._longest_seconds

    @property
    def delay_note(self) -> str:
        """Words about the delay, once it takes longer than usual."""
        if self.waited <= LONGER_THAN_USUAL_SECONDS:
            return ""
        still = self._clock() - self._moved
        if still > LONGER_THAN_USUAL_SECONDS:
            left = max(0.0, self._quiet_seconds - still)
            return f"; nothing has moved for {still:.0f} s, given up in {left:.0f} s"
        return ", slowly: it moves, so it is given time"

    def record(self, signs: object) -> None:
        """Record the current signs of life; any difference from the last ones is progress."""
        if signs != self._seen:
            self._seen, self._moved = signs, self._clock()
