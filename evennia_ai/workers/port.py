"""The port for background work: embeddings of memories, and the model calls of nights.

There are two adapters: `here.Here` works in the game's process, `queued.Queued` leaves it to
workers. A worker's job is a pure function of its input (`kinds`). Only the game's server uses the
result, and only while the run that asked for it goes on.
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
    """The run of an assistant in which something is asked for.

    Attributes:
        assistant: primary key of its script.
        epoch: of its work at that time.
        is_current: tells whether that still holds; False once it is stopped, reset or gone.
    """

    assistant: int
    epoch: int
    is_current: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class WorkersStanding:
    """The state of the work that workers do.

    Attributes:
        is_on: workers are set.
        waiting: jobs that no worker has begun.
        running: jobs that a living worker works on.
        stalled: jobs whose worker is not heard of any more; another takes them up.
        workers: number of living workers.
        given_up: jobs that ended every worker, since the server started.
        problem: the reason not all is done, and what to do, or "".
    """

    is_on: bool = False
    waiting: int = 0
    running: int = 0
    stalled: int = 0
    workers: int = 0
    given_up: int = 0
    problem: str = ""


class BackgroundWork(Protocol):
    """The place where background work is done. Call it in the reactor's thread.

    Attributes:
        is_elsewhere: other processes do it.
        portions: how many portions of an assistant's memories may be asked for at a time.
        patience: seconds that a portion may take.
    """

    is_elsewhere: bool
    portions: int
    patience: float

    def begin(self) -> None:
        """Withdraw what another run of the server left behind. It never fails."""

    def embed(self, run: Run, items: Sequence[Item]) -> Deferred[list[bytes] | None]:
        """Make vectors for a portion of memories that are in the table.

        Returns:
            As `MemoryService.add`. Fails with PoisonError where they ended every worker, and with
            NotBegunError where no worker took them.
        """

    def client(self, run: Run, client: Client) -> Client:
        """The same client, with its requests sent from where the work is done."""

    def drop(self, assistant: int) -> None:
        """Withdraw everything that an assistant waits for, because it is stopped or gone."""

    def standing(self, assistant: int | None = None) -> WorkersStanding:
        """The state of an assistant's work; None: of all."""

    def close(self) -> Deferred[None]:
        """Withdraw everything, because this process ends."""


class PoisonError(MemoryStoreError):
    """Every worker that began it ended without a word. It is not tried again."""


class NotBegunError(MemoryStoreError):
    """No worker took it in time, or none could do it. It cost nothing."""


class WorkerError(ModelError):
    """A worker could not ask the model; that says nothing about the model's service."""

    # Workers are our own affair: neither the breaker nor the assistant's errors may count it.
    blames_service = counts_as_error = False
    is_of_service = True
    trouble = "a worker cannot ask it"


class UnsentError(WorkerError, NoFreeSlotError):
    """No worker could ask the model, and nothing was sent. It cost nothing."""


class WorkerLostError(ModelConnectionError):
    """The worker that asked the model ended; the call may have been charged, and is made again."""

    blames_service = counts_as_error = False


class NoWorkerError(NoFreeSlotError):
    """No worker took the call in time. The service was not even asked."""
