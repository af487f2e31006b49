"""A single worker thread with a priority queue and a deadline for each job.

Twisted's thread pool runs jobs concurrently and in any order, which an embedded store cannot take.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from functools import partial
from queue import PriorityQueue
from threading import Thread
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IDelayedCall
from twisted.python.failure import Failure

from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import MemoryStoreError

LOG = logging.getLogger(__name__)
URGENT, USUAL, LAST = range(3)
Job = Callable[[], Any]
T = TypeVar("T")


class DeadlineError(MemoryStoreError):
    """A job missed its deadline. Its result, if it comes, is dropped."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the store of memories did not answer within {seconds:g} s")


class Inline:
    """Runs jobs in the caller's thread, for tests and for services without a store."""

    waiting = 0

    def ask(self, job: Job, seconds: float, *, is_urgent: bool = False) -> Deferred[Any]:
        """Run a job and return a Deferred that has already fired."""
        return maybeDeferred(job)

    def stop(self) -> None:
        """Do nothing: there is no thread."""


class WorkerThread:
    """A daemon thread, started by the first job. The process can exit without waiting for it."""

    def __init__(self, name: str, reactor: Reactor) -> None:
        self._name = name
        self._reactor = reactor
        self._jobs: PriorityQueue[tuple[int, int, Job | None]] = PriorityQueue()
        self._numbers = itertools.count()
        self._thread: Thread | None = None

    @property
    def waiting(self) -> int:
        """Number of queued jobs."""
        return self._jobs.qsize()

    def ask(self, job: Job, seconds: float, *, is_urgent: bool = False) -> Deferred[Any]:
        """Run a job in the worker thread. Must be called in the reactor thread.

        Returns:
            The job's result or exception, or DeadlineError. A job whose deadline has passed, or
            which was cancelled, is skipped when its turn comes.
        """
        done: Deferred[Any] = Deferred()
        deadline = self._reactor.callLater(seconds, done.errback, DeadlineError(seconds))
        done.addBoth(_cancel_deadline, deadline)
        self._put(URGENT if is_urgent else USUAL, partial(self._run, job, done))
        if self._thread is None:
            self._thread = Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        return done

    def stop(self) -> None:
        """End the thread after the queued jobs."""
        self._put(LAST, None)

    def _put(self, urgency: int, job: Job | None) -> None:
        # The counter keeps jobs of equal urgency in order; functions could not be compared.
        self._jobs.put((urgency, next(self._numbers), job))

    def _work(self) -> None:
        while (job := self._jobs.get()[2]) is not None:
            job()

    def _run(self, job: Job, done: Deferred[object]) -> None:
        if done.called:  # past its deadline, or cancelled
            return
        try:
            outcome = job()
        except Exception:
            # Failure keeps the traceback for the reactor thread.
            outcome = Failure()
        self._reactor.callFromThread(_deliver, done, outcome)


def _deliver(done: Deferred[object], outcome: object) -> None:
    if not done.called:
        (done.errback if isinstance(outcome, Failure) else done.callback)(outcome)
    elif isinstance(outcome, Failure):
        LOG.info("a late answer of the store of memories: %s", outcome.getErrorMessage())


def _cancel_deadline(outcome: T, deadline: IDelayedCall) -> T:
    if deadline.active():
        deadline.cancel()
    return outcome
