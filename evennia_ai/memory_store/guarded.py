"""A store behind a worker thread, deadlines and a circuit breaker.

Calls never block, and return None instead of raising when the store is down. The first job opens
the store in the worker thread, the only one that uses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import CircuitOpenError, LimitReachedError, MemoryStoreError, NoFreeSlotError
from evennia_ai.memory_store.worker import LOG, DeadlineError, Inline, WorkerThread
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerConfig
from evennia_ai.resilience.deferreds import is_cancellation
from evennia_ai.resilience.permit import Permit

if TYPE_CHECKING:
    from evennia_ai.memory_store.mem0_store import Mem0Store

T = TypeVar("T")
# Deadlines. A reply waits for a search; indexing a batch with a local model may take longer.
SEARCH_SECONDS = 5.0
WRITE_SECONDS = 30.0
CLOSE_SECONDS = 10.0
BREAKER = CircuitBreakerConfig(failure_threshold=3, success_threshold=1, timeout_seconds=30.0)
CLOSED = "the store of memories is closed"
# Reasons for which a request is not made or paid for now.
NOT_NOW = (CircuitOpenError, LimitReachedError, NoFreeSlotError)


def _ignore(*_: object) -> None:
    return None


class GuardedStore:
    """A store that is used from a thread of its own.

    Attributes:
        absence: the reason why there is no store at all, or "".
    """

    def __init__(
        self, open_store: Callable[[], Mem0Store], reactor: Reactor, *, is_inline: bool
    ) -> None:
        """Create the guard without opening the store. For the arguments see `MemoryService`."""
        self.breaker = CircuitBreaker("memory", BREAKER, clock=reactor.seconds)
        self.absence = ""
        self._open_store = open_store
        self._thread = Inline() if is_inline else WorkerThread("evennia_ai memory", reactor)
        self._store: Mem0Store | None = None
        self._is_opening = False
        self._last_error = ""
        self._table_error = ""
        self._counts: Counter[str] = Counter()

    @property
    def is_open(self) -> bool:
        """True if the store has been opened and not closed."""
        return self._store is not None and not self.absence

    @property
    def problem(self) -> str:
        """One sentence that says why the store cannot be used now, or ""."""
        return self.absence or self._table_error or self._last_error

    def open(self) -> Deferred[bool]:
        """Open the store ahead of the first search. Concurrent calls open it only once.

        Returns:
            Whether it is open. A call during another one gets the current state at once.
        """
        if self.is_open or self._is_opening:
            return succeed(self.is_open)
        self._is_opening = True
        return self._run_command("open", _ignore).addBoth(self._end_opening)

    def _end_opening(self, outcome: T) -> T:
        self._is_opening = False
        return outcome

    def close(self) -> Deferred[None]:
        """Close the store. Jobs that still wait for it get None."""
        if self.absence == CLOSED:
            return succeed(None)
        self.absence = CLOSED
        done = self._thread.ask(self._close_store, CLOSE_SECONDS)
        self._thread.stop()
        return done.addCallbacks(_ignore, partial(LOG.warning, "closing the memories: %s"))

    def _run_command(self, name: str, job: Callable[[Mem0Store], object]) -> Deferred[bool]:
        # The list makes any result true; `_run_job` returns None if the job failed.
        return self._run_job(name, WRITE_SECONDS, lambda store: [job(store)]).addCallback(bool)

    def _run_job(
        self,
        name: str,
        seconds: float,
        job: Callable[[Mem0Store], T],
        pay: Callable[[], None] = _ignore,
    ) -> Deferred[T | None]:
        """Run a job with the store. Returns None if it fails or cannot run now.

        Args:
            pay: called before the job is queued; it may raise LimitReachedError, or
                NoFreeSlotError.
        """
        if self.absence:
            return succeed(None)
        try:
            permit = self._acquire_permit(pay)
        except NOT_NOW as error:
            # An open breaker has no news: the error that opened it says more.
            self._last_error = self._last_error or str(error)
            return succeed(None)
        self._counts[name] += 1
        # A player waits for a search; writes can wait in the queue.
        is_urgent = seconds <= SEARCH_SECONDS
        done = self._thread.ask(lambda: job(self._open_once()), seconds, is_urgent=is_urgent)
        return done.addCallbacks(self._succeeded, self._failed, (permit,), None, (permit,))

    def _acquire_permit(self, pay: Callable[[], None]) -> Permit:
        # Breaker first: nothing is paid for a request that will not be made.
        permit = self.breaker.acquire()
        try:
            pay()
        except BaseException:
            permit.release()
            raise
        return permit

    def _succeeded(self, outcome: T, permit: Permit) -> T:
        permit.success()
        self._last_error = self._table_error = ""
        return outcome

    def _failed(self, failure: Failure, permit: Permit) -> Any:
        error = failure.value
        if is_cancellation(error):
            permit.release()
            return failure
        error = self._as_store_error(failure)
        self._last_error = str(error)
        if isinstance(error, DeadlineError) and (self._store is None or self._store.is_loading):
            # Loading a model or mem0 takes seconds: slow, but not down.
            permit.release()
        else:
            permit.failure(error)
        return None

    def _as_store_error(self, failure: Failure) -> MemoryStoreError:
        # Stores raise MemoryStoreError for all that is expected; anything else is a bug.
        self._counts["failed"] += 1
        error = failure.value
        if isinstance(error, MemoryStoreError):
            return error
        LOG.error("the store of memories met a bug: %s", failure.getTraceback())
        return MemoryStoreError(f"the store of memories met a bug ({type(error).__name__})")

    def _open_once(self) -> Mem0Store:
        if self.absence:
            raise MemoryStoreError(self.absence)
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def _close_store(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()
