"""Requests that wait for events of a task, and are woken once a new one is stored.

Only the fact that there is news is passed on: a request that wakes up reads the events itself, with
its own rights. All but `tell` is called on the asyncio lane.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from a2a.utils.errors import UnsupportedOperationError

from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.core.text.words import counted

TOO_MANY = "You may have {requests} waiting here; close one of them."
ALL_BUSY = "At most {requests} may wait here; try again later."


class Hub:
    """The requests that wait, by task, and their limits per account and in all."""

    def __init__(self, config: A2aConfig) -> None:
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._open: Counter[int] = Counter()
        self.news = asyncio.Event()

    def tell(self, task: str) -> None:
        """Wake the requests that wait for a task; may be called in any thread."""
        # At a shutdown the game may store an event after the asyncio thread has ended.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, task)

    def _wake(self, task: str) -> None:
        self.news.set()  # for the sender of webhooks, which follows all tasks
        for event in self._waiting.get(task, ()):
            event.set()

    @contextmanager
    def place(self, account: int) -> Iterator[None]:
        """Hold one of the places for requests that wait.

        Raises:
            UnsupportedOperationError: all places are taken, or all that the account may have.
        """
        mine, of_all = self._open[account], self._open.total()
        if mine >= self._config.streams_per_peer:
            raise UnsupportedOperationError(TOO_MANY.format(requests=counted(mine, "requests")))
        if of_all >= self._config.streams_at_once:
            raise UnsupportedOperationError(ALL_BUSY.format(requests=counted(of_all, "requests")))
        self._open[account] += 1
        try:
            yield
        finally:
            self._open[account] -= 1
            if not self._open[account]:
                del self._open[account]

    @contextmanager
    def watch(self, task: str) -> Iterator[asyncio.Event]:
        """Yield an asyncio event that is set whenever there is news of a task."""
        event = asyncio.Event()
        self._waiting[task].add(event)
        try:
            yield event
        finally:
            self._waiting[task].discard(event)
            if not self._waiting[task]:
                del self._waiting[task]
