"""How long something that starts is waited for: as long as it goes on, within reason."""

from __future__ import annotations

import time
from collections.abc import Callable

QUIET_SECONDS = 120.0
LONGEST_SECONDS = 900.0
LONGER_THAN_USUAL_SECONDS = 30.0


class Patience:
    """Ends when nothing has moved for a while, or when it has all taken far too long.

    A slow machine that works is given more time than a game that hangs.

    Args:
        quiet_seconds: without anything new.
        longest_seconds: in all.
        clock: seconds that only ever grow.
    """

    def __init__(
        self,
        quiet_seconds: float = QUIET_SECONDS,
        longest_seconds: float = LONGEST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to wait."""
        self._quiet_seconds = quiet_seconds
        self._longest_seconds = longest_seconds
        self._clock = clock
        self._began = self._moved = clock()
        self._seen: object = None

    @property
    def waited(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    @property
    def is_over(self) -> bool:
        """Whether to wait no longer."""
        is_quiet = self._clock() - self._moved > self._quiet_seconds
        return is_quiet or self.waited > self._longest_seconds

    @property
    def excuse(self) -> str:
        """Words to add to what is waited for, once it takes longer than usual."""
        if self.waited <= LONGER_THAN_USUAL_SECONDS:
            return ""
        still = self._clock() - self._moved
        if still > LONGER_THAN_USUAL_SECONDS:
            left = max(0.0, self._quiet_seconds - still)
            return f"; nothing has moved for {still:.0f} s, given up in {left:.0f} s"
        return ", slowly: it moves, so it is given time"

    def look(self, signs: object) -> None:
        """Take what can be seen of it now; whatever differs from before is a sign of life."""
        if signs != self._seen:
            self._seen, self._moved = signs, self._clock()
