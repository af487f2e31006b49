"""Lines of fiction that show an assistant thinking while an answer takes its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evennia_ai.runtime.assistant import Clock

FIRST_AFTER_SECONDS = 2.0
EVERY_SECONDS = 6.0
MOST_LINES = 10  # then it stays quiet, however long the answer takes


class Thinking:
    """Shows one line after 2 s, then one every 6 s, until it is stopped."""

    def __init__(self, lines: Sequence[str], show: Callable[[str], None], clock: Clock) -> None:
        self._lines = lines
        self._show = show
        self._clock = clock
        self._shown = 0
        self._call = clock.callLater(FIRST_AFTER_SECONDS, self._next)

    def stop(self) -> None:
        """Show no further line."""
        if self._call is not None and self._call.active():
            self._call.cancel()
        self._call = None

    def _next(self) -> None:
        line = self._lines[self._shown % len(self._lines)]
        self._shown += 1
        more = self._shown < MOST_LINES
        self._call = self._clock.callLater(EVERY_SECONDS, self._next) if more else None
        # Last: a hook that sees the line may end the turn, which cancels the next line.
        self._show(line)
