"""A store behind a thread, deadlines and a breaker: never blocking, never raising for being down.

It is opened by what is first asked, in the one thread that also asks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import CircuitOpenError, LimitReachedError, MemoryStoreError
from evennia_ai.memory_store.port import MemoryStore
from evennia_ai.memory_store.worker import LOG, DeadlineError, Inline, WorkerThread
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerConfig
from evennia_ai.resilience.deferreds import is_cancellation
from evennia_ai.resilience.permit import Permit

T = TypeVar("T")
SEARCH_SECONDS = 5.0
WRITE_SECONDS = 30.0
CLOSE_SECONDS = 10.0
BREAKER = CircuitBreakerConfig(failure_threshold=3, success_threshold=1, timeout_seconds=30.0)
CLOSED = "the store of memories is closed"


def _nothing(_: object) -> None:
    return None


def _cost_nothing() -> None:
    return None


class GuardedStore:
    """A store that is asked in a thread of its own.

    Attributes:
        breaker: its breaker, named "memory".
        absence: why there is no store at all, or "".
    """

    def __init__(
        self, open_store: Callable[[], MemoryStore], reactor: Reactor, *, is_inline: bool
    ) -> None:
        """Guard a store; nothing is opened yet. The arguments are `MemoryService`'s."""
        self.breaker = CircuitBreaker("memory", BREAKER, clock=reactor.seconds)
        self.absence = ""
        self._open_store = open_store
        self._thread = Inline() if is_inline else WorkerThread("evennia_ai memory", reactor)
        self._store: MemoryStore | None = None
        self._is_opening = False
        self._last_error = ""
        self._table_error = ""
        self._counts: Counter[str] = Counter()

    @property
    def is_open(self) -> bool:
        """True where the store has been opened, and not closed."""
        return self._store is not None and not self.absence

    @property
    def problem(self) -> str:
        """The reason why the store cannot be used now, or "": one sentence for people."""
        return self.absence or self._table_error or self._last_error

    def open(self) -> Deferred[bool]:
        """Open the store now instead of with the first search; once, however many ask for it.

        Returns:
            Whether it is open; while it is opened for somebody else, as it is now.
        """
        if self.is_open or self._is_opening:
            return succeed(self.is_open)
        self._is_opening = True
        return self._told("open", _nothing).addBoth(self._end_opening)

    def _end_opening(self, outcome: T) -> T:
        self._is_opening = False
        return outcome

    def close(self) -> Deferred[None]:
        """Let go of the store; what still waits for it is answered by None."""
        if self.absence == CLOSED:
            return succeed(None)
        self.absence = CLOSED
        done = self._thread.ask(self._shut, CLOSE_SECONDS)
        self._thread.stop()
        return done.addCallbacks(_nothing, partial(LOG.warning, "closing the memories: %s"))

    def _told(self, name: str, job: Callable[[MemoryStore], object]) -> Deferred[bool]:
        # A list is true whatever is in it; where the job could not be done there is none.
        return self._ask(name, WRITE_SECONDS, lambda store: [job(store)]).addCallback(bool)

    def _ask(
        self,
        name: str,
        seconds: float,
        job: Callable[[MemoryStore], T],
        pay: Callable[[], None] = _cost_nothing,
    ) -> Deferred[T | None]:
        """The outcome of a job for the store; None where it cannot be done now.

        Args:
            name: of the job, in the counts.
            pay: asked first; it may raise LimitReachedError.
        """
        if self.absence:
            return succeed(None)
        try:
            permit = self._permitted(pay)
        except (CircuitOpenError, LimitReachedError) as error:
            # The breaker only repeats what went wrong before: that is told.
            self._last_error = self._last_error or str(error)
            return succeed(None)
        self._counts[name] += 1
        # Somebody waits for what is sought; what is written can stand in line.
        is_urgent = seconds <= SEARCH_SECONDS
        done = self._thread.ask(lambda: job(self._opened()), seconds, is_urgent=is_urgent)
        return done.addCallbacks(self._succeeded, self._failed, (permit,), None, (permit,))

    def _permitted(self, pay: Callable[[], None]) -> Permit:
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
        error = self._failure_of(failure)
        self._last_error = str(error)
        if isinstance(error, DeadlineError) and (self._store is None or self._store.is_loading):
            permit.release()  # it is being opened, and answers soon
        else:
            permit.failure(error)
        return None

    def _failure_of(self, failure: Failure) -> MemoryStoreError:
        """Count an error; one that nobody foresaw is a bug, and logged."""
        self._counts["failed"] += 1
        error = failure.value
        if isinstance(error, MemoryStoreError):
            return error
        LOG.error("the store of memories met a bug: %s", failure.getTraceback())
        return MemoryStoreError(f"the store of memories met a bug ({type(error).__name__})")

    def _opened(self) -> MemoryStore:
        if self.absence:
            raise MemoryStoreError(self.absence)
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def _shut(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()
