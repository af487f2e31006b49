"""Turns of the requests to a server beside the game, of which one is worked on at a time."""

from __future__ import annotations

import asyncio


class Turn:
    """The turn of a request, from when it has come until its answer, or until it has to wait.

    A server's library and the game are two threads of one interpreter: where both have much to do,
    each query of the game's waits five milliseconds for the other thread. So one waits while the
    other works.

    Args:
        free: the one turn that there is.
    """

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._is_mine = False

    async def begin(self) -> None:
        """Wait for it."""
        await self._free.acquire()
        self._is_mine = True

    def end(self) -> None:
        """Let the next request have it; doing it again does nothing."""
        if self._is_mine:
            self._is_mine = False
            self._free.release()
