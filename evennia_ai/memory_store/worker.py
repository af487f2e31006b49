"""One thread for what blocks: what is urgent first, the rest in order, and a deadline for each.

Evennia's own threads run several jobs at once and in any order; embedded stores take neither.
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
    """No answer in time. What comes of it later is dropped."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the store of memories did not answer within {seconds:g} s")


class Inline:
    """Runs a job at once: for stores that never block for long."""

    waiting = 0

    def ask(self, job: Job, seconds: float, *, is_urgent: bool = False) -> Deferred[Any]:
        """Run a job; the Deferred has fired already."""
        return maybeDeferred(job)

    def stop(self) -> None:
        """There is nothing to stop."""


class WorkerThread:
    """A thread that is started by the first job. A process that ends does not wait for it."""

    def __init__(self, name: str, reactor: Reactor) -> None:
        self._name = name
        self._reactor = reactor
        self._jobs: PriorityQueue[tuple[int, int, Job | None]] = PriorityQueue()
        self._numbers = itertools.count()
        self._thread: Thread | None = None

    @property
    def waiting(self) -> int:
        """Number of jobs that have not begun."""
        return self._jobs.qsize()

    def ask(self, job: Job, seconds: float, *, is_urgent: bool = False) -> Deferred[Any]:
        """Run a job in the thread; to be called in the reactor thread.

        Returns:
            What the job returns or raises, or DeadlineError. A job that nobody waits for any more
            when its turn comes is not run.
        """
        done: Deferred[Any] = Deferred()
        deadline = self._reactor.callLater(seconds, done.errback, DeadlineError(seconds))
        done.addBoth(_stopped, deadline)
        self._put(URGENT if is_urgent else USUAL, partial(self._run, job, done))
        if self._thread is None:
            self._thread = Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        return done

    def stop(self) -> None:
        """Let the thread end when nothing is left to do."""
        self._put(LAST, None)

    def _put(self, urgency: int, job: Job | None) -> None:
        # The number keeps equals in order, and jobs from being compared, which they cannot be.
        self._jobs.put((urgency, next(self._numbers), job))

    def _work(self) -> None:
        while (job := self._jobs.get()[2]) is not None:
            job()

    def _run(self, job: Job, done: Deferred[object]) -> None:
        if done.called:  # its deadline is over, or whoever asked has left
            return
        try:
            outcome = job()
        except Exception:
            outcome = Failure()
        self._reactor.callFromThread(_settle, done, outcome)


def _settle(done: Deferred[object], outcome: object) -> None:
    if not done.called:
        (done.errback if isinstance(outcome, Failure) else done.callback)(outcome)
    elif isinstance(outcome, Failure):
        LOG.info("a late answer of the store of memories: %s", outcome.getErrorMessage())


def _stopped(outcome: T, deadline: IDelayedCall) -> T:
    if deadline.active():
        deadline.cancel()
    return outcome
