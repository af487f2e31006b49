"""asyncio beside Twisted: one event loop in a daemon thread, and Deferreds for its tasks.

Evennia runs Twisted's epoll reactor, and aiohttp needs asyncio. Cancelling a Deferred cancels the
task on the loop, which closes the socket of its request. A thousand answers may arrive within one
reactor turn; they are handed back in short time slices, because they would freeze the game
otherwise.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python import log
from twisted.python.failure import Failure

from evennia_ai.core.typed_objects import Reactor

# Short enough that a player does not notice the pause, long enough for several answers.
SLICE_SECONDS = 0.005
# A cancelled task ends, releases its connection, and that closes its socket: each takes one
# iteration of the event loop.
TURNS_TO_CLOSE = 4
# The reactor thread blocks for this long at most while sockets close.
MOST_CLOSING_SECONDS = 0.05


class Pacer:
    """A queue of calls that the reactor thread runs in order, one time slice per reactor turn."""

    def __init__(self, reactor: Reactor, slice_seconds: float = SLICE_SECONDS) -> None:
        self._reactor = reactor
        self._slice = slice_seconds
        self._waiting: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self._is_scheduled = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Queue a call; only from the reactor thread."""
        self._waiting.append((function, arguments))
        self._schedule()

    @property
    def is_busy(self) -> bool:
        """True while calls are queued."""
        return bool(self._waiting)

    def call_first(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Queue a call ahead of all others; only from the reactor thread."""
        self._waiting.appendleft((function, arguments))
        self._schedule()

    def turn(self) -> Deferred[None]:
        """A Deferred that fires when the queue reaches it; cancelling it skips it."""
        waiting: Deferred[None] = Deferred()
        self.call(_fire, waiting)
        return waiting

    def call_from_thread(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Queue a call; from any thread but the reactor's."""
        self._waiting.append((function, arguments))
        # Waking the reactor is expensive, and a slice that is already scheduled runs this call
        # too. The length is checked as well because that slice may be ending just now.
        if len(self._waiting) == 1 or not self._is_scheduled:
            self._reactor.callFromThread(self._schedule)

    def _schedule(self) -> None:
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            self._reactor.callLater(0, self._run_slice)

    def _run_slice(self) -> None:
        ends_at = self._reactor.seconds() + self._slice
        self._is_scheduled = False
        while self._waiting:
            function, arguments = self._waiting.popleft()
            try:
                function(*arguments)
            except Exception:  # the calls after it must still run
                log.err(None, "in a paced call")
            if self._reactor.seconds() >= ends_at:
                break
        self._schedule()


def _fire(waiting: Deferred[None]) -> None:
    if not waiting.called:
        waiting.callback(None)


try:
    import uvloop as loops
except ImportError:  # uvloop has no build for some platforms; asyncio's own loop is only slower
    import asyncio as loops  # type: ignore[no-redef]

T = TypeVar("T")


class EventLoopThread:
    """The asyncio event loop and its thread. Calls are batched: waking a thread is expensive."""

    def __init__(self) -> None:
        self._loop = loops.new_event_loop()
        self._waiting: deque[Callable[[], Any]] = deque()
        self._is_awake = False
        thread = threading.Thread(
            target=self._loop.run_forever, name="evennia_ai asyncio", daemon=True
        )
        thread.start()

    def call(self, function: Callable[[], object]) -> None:
        """Queue a function for the loop's thread; functions run in order."""
        self._waiting.append(function)
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon_threadsafe(self._drain)

    def task(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a coroutine; only from the loop's thread."""
        return self._loop.create_task(coroutine)

    def _drain(self) -> None:
        # Reset before the queue is emptied: a call added meanwhile then wakes the loop again. Done
        # afterwards, a call added in between would wait for the next one to wake it.
        self._is_awake = False
        while self._waiting:
            self._waiting.popleft()()

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Hand over no calls until the end of the block, then wait until they have run.

        Two busy threads trade the GIL at every system call, and each waits up to five
        milliseconds (the interpreter's switch interval) to get it back.

        Args:
            seconds: the longest wait at the end.
        """
        # Pretending that the loop is awake keeps `call` from waking it.
        self._is_awake = True
        done = threading.Event()
        try:
            yield
        finally:
            self._waiting.append(partial(self._after_turns, TURNS_TO_CLOSE, done.set))
            self._loop.call_soon_threadsafe(self._drain)
            done.wait(seconds)

    def _after_turns(self, count: int, function: Callable[[], object]) -> None:
        if count:
            self._loop.call_soon(self._after_turns, count - 1, function)
        else:
            function()


@lru_cache(maxsize=1)
def lane() -> EventLoopThread:
    """The process's event loop thread, started when it is first needed."""
    return EventLoopThread()


@contextmanager
def all_at_once() -> Iterator[None]:
    """Context for cancelling many calls: their sockets are closed together at its end."""
    # Without a loop there are no calls to cancel, and it must not be started for that.
    if not lane.cache_info().currsize:
        yield
        return
    with lane().held(MOST_CLOSING_SECONDS):
        yield


@lru_cache(maxsize=4)
def pacer_of(reactor: Reactor) -> Pacer:
    """The shared queue of a reactor: a second one would take a second slice of every turn."""
    return Pacer(reactor)


class Bridged(Deferred[T]):
    """The outcome of a task on the asyncio loop. Cancelling it cancels the task.

    Args:
        end: cancels the task.
    """

    def __init__(self, end: Callable[[], None]) -> None:
        super().__init__(lambda _: end())
        self._end = end
        self._is_dropped = False

    def drop(self) -> None:
        """Cancel the task now, without firing this Deferred; the caller cancels that later.

        Running the Deferred's callbacks takes many times as long, and the sockets of other calls
        would stay open meanwhile.
        """
        self._is_dropped = True
        self._end()

    def settle(self, done: asyncio.Task[T]) -> None:
        """Fire with the outcome of the task; only in the reactor thread."""
        if self.called or self._is_dropped:  # cancelled while the outcome was queued
            return
        error = CancelledError() if done.cancelled() else done.exception()
        if error is not None:
            self.errback(Failure(error))
        else:
            self.callback(done.result())


def as_deferred(coroutine: Coroutine[Any, Any, T], reactor: Reactor) -> Bridged[T]:
    """Run a coroutine on the asyncio loop; the Deferred fires in the reactor thread."""
    tasks: list[asyncio.Task[T]] = []
    # Queued calls run in order, so the task exists by the time it is to be cancelled.
    bridged: Bridged[T] = Bridged(lambda: lane().call(lambda: tasks[0].cancel()))
    pacer = pacer_of(reactor)

    def start() -> None:
        task = lane().task(coroutine)
        tasks.append(task)
        task.add_done_callback(lambda done: pacer.call_from_thread(bridged.settle, done))

    lane().call(start)
    return bridged
