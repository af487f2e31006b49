"""The adapter of work that is done in the game's own process: the default.

Vectors are made in the thread of the store of memories; models are asked as for a reply.
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

NO_RUN = ""


class Here:
    """This process does it."""

    is_elsewhere = False
    portions = 1
    patience = 30.0

    def __init__(self, memory: Callable[[], MemoryService], problem: str = "") -> None:
        """Make it.

        Args:
            problem: why workers that were set do not do it, or "".
        """
        self._memory = memory
        self._problem = problem

    def begin(self) -> None:
        """Clear away what was left for workers before they were taken out of the settings."""
        try:
            board.drop_strangers(NO_RUN)
        except DatabaseError:
            return  # the tables are not made yet, which the check tells

    def embed(self, run: Run, items: Sequence[Item]) -> Deferred[list[bytes] | None]:
        """Make vectors in the store's thread."""
        return self._memory().add(run.assistant, items)

    def client(self, run: Run, client: Client) -> Client:
        """The client itself."""
        return client

    def drop(self, assistant: int) -> None:
        """Nothing: what is under way is cancelled by whoever waits for it."""

    def standing(self, assistant: int | None = None) -> WorkersStanding:
        """Nothing waits for workers."""
        return WorkersStanding(problem=self._problem)

    def close(self) -> Deferred[None]:
        """There is nothing to take back."""
        return succeed(None)
