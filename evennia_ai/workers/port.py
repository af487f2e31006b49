"""The port of work that nobody waits for: embeddings of memories, and the model calls of nights.

Two adapters: `here.Here` does it in the game's process, `queued.Queued` lets workers do it. What a
worker does is a pure function of its input (`kinds`). What comes of it is used by the game's server
alone, and only as long as the run that asked for it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from twisted.internet.defer import Deferred

from evennia_ai.errors import MemoryStoreError, ModelConnectionError, ModelError, NoFreeSlotError
from evennia_ai.llm.fallback import Client
from evennia_ai.memory_store.port import Item


@dataclass(frozen=True, slots=True)
class Run:
    """The life of an assistant in which something is asked for.

    Attributes:
        assistant: number of its script.
        epoch: as of its work, then.
        is_current: tells whether that still holds; False once it is stopped, reset or gone.
    """

    assistant: int
    epoch: int
    is_current: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class WorkersStanding:
    """The standing of work that is done by workers.

    Attributes:
        is_on: workers are set.
        waiting: jobs that nobody has begun.
        running: those that a living worker is at.
        stalled: those whose worker is not heard of any more; another takes them up.
        workers: how many live.
        given_up: jobs that ended every worker, since the server started.
        problem: why not all is done, and what to do, or "".
    """

    is_on: bool = False
    waiting: int = 0
    running: int = 0
    stalled: int = 0
    workers: int = 0
    given_up: int = 0
    problem: str = ""


class BackgroundWork(Protocol):
    """The place of work that nobody waits for. To be called in the reactor's thread.

    Attributes:
        is_elsewhere: by other processes than this one.
        portions: how many portions of an assistant's memories may be asked for at one time.
        patience: seconds that a portion may take.
    """

    is_elsewhere: bool
    portions: int
    patience: float

    def begin(self) -> None:
        """Clear away what another run of the server left behind. It never fails."""

    def embed(self, run: Run, items: Sequence[Item]) -> Deferred[list[bytes] | None]:
        """Make vectors of memories that are in the table: a portion of them at most.

        Returns:
            As of `MemoryService.add`; fails with PoisonError where they ended every worker, and
            with NotBegunError where nobody took them.
        """

    def client(self, run: Run, client: Client) -> Client:
        """The same client, whose requests are sent from where such work is done."""

    def drop(self, assistant: int) -> None:
        """Take everything back that an assistant waits for: it is stopped, or gone."""

    def standing(self, assistant: int | None = None) -> WorkersStanding:
        """The standing of an assistant's work, or with None of all."""

    def close(self) -> Deferred[None]:
        """Take everything back: this process ends."""


class PoisonError(MemoryStoreError):
    """Every worker that began it ended without a word. It is not tried again."""


class NotBegunError(MemoryStoreError):
    """No worker took it in time, or could make anything of it. It cost nothing."""


class WorkerError(ModelError):
    """A worker could not ask the model. It says nothing of the model's service."""

    blames_service = counts_as_error = False
    is_of_service = True
    trouble = "a worker cannot ask it"


class UnsentError(WorkerError, NoFreeSlotError):
    """No worker could ask the model, and none did. It cost nothing."""


class WorkerLostError(ModelConnectionError):
    """The worker that asked the model ended. It may have been charged for, and is asked again."""

    blames_service = counts_as_error = False


class NoWorkerError(NoFreeSlotError):
    """No worker took the call in time. The service was not even asked."""
