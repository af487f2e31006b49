"""Work in small portions: nobody's burst may hold the reactor for long.

A thousand answers may arrive within one reactor turn. Run one after the other they would freeze the
game for a second; here they run until a slice of time is used, then the reactor breathes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.python import log

from evennia_ai.core.typed_objects import Reactor

SLICE_SECONDS = 0.005


class Pacer:
    """A queue of calls, run in the reactor thread, a slice of time at once, in order."""

    def __init__(self, reactor: Reactor, slice_seconds: float = SLICE_SECONDS) -> None:
        self._reactor = reactor
        self._slice = slice_seconds
        self._waiting: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self._is_scheduled = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run soon; to be called in the reactor thread."""
        self._waiting.append((function, arguments))
        self._schedule()

    def call_from_thread(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run soon; to be called in any other thread."""
        self._waiting.append((function, arguments))
        if len(self._waiting) == 1 or not self._is_scheduled:
            self._reactor.callFromThread(self._schedule)

    def _schedule(self) -> None:
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            self._reactor.callLater(0, self._run_slice)

    def _run_slice(self) -> None:
        ends_at = self._reactor.seconds() + self._slice
        self._is_scheduled = False
        while self._waiting:
            function, arguments = self._waiting.popleft()
            try:
                function(*arguments)
            except Exception:
                log.err(None, "in a paced call")
            if self._reactor.seconds() >= ends_at:
                break
        self._schedule()
