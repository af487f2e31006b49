"""The default adapter for background work: the game's own process does it.

Vectors are made in the thread of the memory store; models are asked as for a reply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import DatabaseError
from twisted.internet.defer import Deferred, succeed

from evennia_ai.llm.fallback import Client
from evennia_ai.memory_store.port import Item
from evennia_ai.memory_store.service import MemoryService
from evennia_ai.workers import board
from evennia_ai.workers.port import Run, WorkersStanding

NO_RUN = ""  # the id of no run, so that jobs of any run are withdrawn


class Here:
    """Background work in this process."""

    is_elsewhere = False
    portions = 1
    patience = 30.0

    def __init__(self, memory: Callable[[], MemoryService], problem: str = "") -> None:
        """Set up the adapter.

        Args:
            problem: the reason workers are set but not used, or "".
        """
        self._memory = memory
        self._problem = problem

    def begin(self) -> None:
        """Withdraw jobs that were posted before workers were removed from the settings."""
        try:
            board.drop_strangers(NO_RUN)
        except DatabaseError:
            return  # the tables do not exist yet, which a system check reports

    def embed(self, run: Run, items: Sequence[Item]) -> Deferred[list[bytes] | None]:
        """Make vectors in the store's thread."""
        return self._memory().add(run.assistant, items)

    def client(self, run: Run, client: Client) -> Client:
        """Return the client itself."""
        return client

    def drop(self, assistant: int) -> None:
        """Do nothing: callers cancel what is under way themselves."""

    def standing(self, assistant: int | None = None) -> WorkersStanding:
        """Report that nothing waits for workers."""
        return WorkersStanding(problem=self._problem)

    def close(self) -> Deferred[None]:
        """Do nothing: there is nothing to withdraw."""
        return succeed(None)
