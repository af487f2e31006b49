"""asyncio beside Twisted: one event loop in a daemon thread, and Deferreds for what runs on it.

Evennia runs the epoll reactor; aiohttp wants asyncio. Cancelling the Deferred cancels the
task on the loop, and with it the request: the socket closes. A thousand answers may arrive within
one reactor turn; they are handed back in slices of time, or they would freeze the game.
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

SLICE_SECONDS = 0.005
# A cancelled task ends, lets go of its connection, and that of its socket: a turn of the loop each.
TURNS_TO_CLOSE = 4
MOST_CLOSING_SECONDS = 0.05


class Pacer:
    """A queue of calls, run in the reactor thread, a slice of time at once, in order."""

    def __init__(self, reactor: Reactor, slice_seconds: float = SLICE_SECONDS) -> None:
        self._reactor = reactor
        self._slice = slice_seconds
        self._waiting: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self._is_scheduled = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run soon; to be called in the reactor thread."""
        self._waiting.append((function, arguments))
        self._schedule()

    @property
    def is_busy(self) -> bool:
        """True where something waits for its turn."""
        return bool(self._waiting)

    def call_first(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run soon, before all that waits; to be called in the reactor thread."""
        self._waiting.appendleft((function, arguments))
        self._schedule()

    def turn(self) -> Deferred[None]:
        """Fires soon, when it is the caller's turn. Cancelled, it is left out."""
        waiting: Deferred[None] = Deferred()
        self.call(_fire, waiting)
        return waiting

    def call_from_thread(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run soon; to be called in any other thread."""
        self._waiting.append((function, arguments))
        # To wake the reactor is dear: where a slice is due, it runs this call too.
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
            except Exception:
                log.err(None, "in a paced call")
            if self._reactor.seconds() >= ends_at:
                break
        self._schedule()


def _fire(waiting: Deferred[None]) -> None:
    if not waiting.called:
        waiting.callback(None)


try:
    import uvloop as loops
except ImportError:  # where it has no build, asyncio's own loop does the same work more slowly
    import asyncio as loops  # type: ignore[no-redef]

T = TypeVar("T")


class Lane:
    """The event loop and its thread. Calls are handed over together: waking a thread is dear."""

    def __init__(self) -> None:
        self._loop = loops.new_event_loop()
        self._waiting: deque[Callable[[], Any]] = deque()
        self._is_awake = False
        thread = threading.Thread(
            target=self._loop.run_forever, name="evennia_ai asyncio", daemon=True
        )
        thread.start()

    def call(self, function: Callable[[], object]) -> None:
        """Run a function in the loop's thread, soon and in order."""
        self._waiting.append(function)
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon_threadsafe(self._drain)

    def task(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a coroutine; to be called in the loop's thread."""
        return self._loop.create_task(coroutine)

    def _drain(self) -> None:
        # Before the queue is emptied: what comes in the middle of that wakes it once more.
        self._is_awake = False
        while self._waiting:
            self._waiting.popleft()()

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Hand nothing over until the end of the block, and then wait until it is done.

        Two threads that both have much to do change places at every system call, and wait five
        milliseconds for each other each time.

        Args:
            seconds: the longest wait.
        """
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
def lane() -> Lane:
    """The process's lane, opened when it is first needed."""
    return Lane()


@contextmanager
def all_at_once() -> Iterator[None]:
    """Around the cancelling of many: their sockets are closed at its end, one after the other."""
    if not lane.cache_info().currsize:
        yield
        return
    with lane().held(MOST_CLOSING_SECONDS):
        yield


@lru_cache(maxsize=4)
def pacer_of(reactor: Reactor) -> Pacer:
    """The one queue of a reactor's thread: two would take two slices of each of its turns."""
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
        """End the task now; whoever waits for its outcome is cancelled later, by the caller.

        To cancel whoever waits takes many times as long, and the socket would be open meanwhile.
        """
        self._is_dropped = True
        self._end()

    def settle(self, done: asyncio.Task[T]) -> None:
        """Take the outcome of the task, in the reactor thread."""
        if self.called or self._is_dropped:  # while the outcome was on its way
            return
        error = CancelledError() if done.cancelled() else done.exception()
        if error is not None:
            self.errback(Failure(error))
        else:
            self.callback(done.result())


def as_deferred(coroutine: Coroutine[Any, Any, T], reactor: Reactor) -> Bridged[T]:
    """Run a coroutine on the asyncio loop; its outcome comes back in the reactor thread."""
    tasks: list[asyncio.Task[T]] = []
    # Over the lane and in its order, so that by then there is a task to cancel.
    bridged: Bridged[T] = Bridged(lambda: lane().call(lambda: tasks[0].cancel()))
    pacer = pacer_of(reactor)

    def start() -> None:
        task = lane().task(coroutine)
        tasks.append(task)
        task.add_done_callback(lambda done: pacer.call_from_thread(bridged.settle, done))

    lane().call(start)
    return bridged
