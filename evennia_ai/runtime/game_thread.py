"""The game's own thread: the way into it from elsewhere and back, and long work in it.

Views run in web threads and some servers on the asyncio lane, and what belongs to the game is
touched in the reactor's thread only: they hop, with a time limit and room for so many. Evennia's
`run_in_main_thread` decides at import and does not hop.

Long work in it is a generator, each step of which takes a few milliseconds: the game goes on
between two steps.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.python import threadable
from twisted.python.failure import Failure

from evennia_ai.llm.bridge import pacer_of

POLL_SECONDS = 0.02
SLICE_SECONDS = 0.002
T = TypeVar("T")
# Work that is done a little at a time. What is not done of it when a process ends is never done.
Steps = Generator[None, None, T]
# Wherever the reactor does not answer to a hop, nothing is done and this is told.
NOT_BEGUN = "the game is busy and did not get to it within {seconds:g} s; nothing was done"
CUT_OFF = "the game took longer than {seconds:g} s; what had begun was called off where it could be"
NO_ROOM = "{count} requests wait for the game already"


class GameBusyError(Exception):
    """The game does not answer in time, or too many wait for it.

    Attributes:
        retry_seconds: when to ask again.
    """

    def __init__(self, text: str, retry_seconds: int = 2) -> None:
        super().__init__(text)
        self.retry_seconds = retry_seconds


class WaitingRoom:
    """Places for requests that wait at one time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @contextmanager
    def place(self, most: int) -> Iterator[None]:
        """Hold a place.

        Raises:
            GameBusyError: all are taken.
        """
        with self._lock:
            if self._count >= most:
                raise GameBusyError(NO_ROOM.format(count=self._count))
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1


ANY, LONG = WaitingRoom(), WaitingRoom()


class _Hop:
    """One call on its way into the game's thread and back."""

    def __init__(self, function: Callable[[], object], tell: Callable[[], object] = bool) -> None:
        self.function = function
        self.tell = tell
        self.is_over = threading.Event()
        self.outcome: Any = None
        self.waiting: Deferred[Any] | None = None
        self._lock = threading.Lock()
        self._has_begun = False
        self._is_given_up = False

    def begin(self) -> None:
        """In the game's thread: make the call, unless nobody waits for it any more."""
        with self._lock:
            if self._is_given_up:
                return
            self._has_begun = True
        try:
            value = self.function()
        except BaseException:  # also an exit: another thread waits to be told
            value = Failure()
        if isinstance(value, Deferred):
            self.waiting = value
            value.addBoth(self._end)
        else:
            self._end(value)

    def _end(self, outcome: object) -> None:
        with self._lock:
            self.outcome = outcome
            self.waiting = None
            self.is_over.set()
        self.tell()

    def give_up(self) -> bool:
        """Wait no longer: what has not begun never begins.

        Returns:
            Whether it had begun.
        """
        # Under the lock of `begin`: it has begun for both threads, or for neither.
        with self._lock:
            self._is_given_up = True
            return self._has_begun

    def cancel(self) -> None:
        """In the game's thread: call off what still waits for something."""
        if self.waiting is not None:
            self.waiting.cancel()

    def value(self) -> Any:
        """The outcome; an error that was raised there is raised here."""
        if isinstance(self.outcome, Failure):
            self.outcome.raiseException()
        return self.outcome


def run(function: Callable[[], object], timeout_seconds: float) -> Any:
    """Call a function in the game's thread and give what it gives; a Deferred is waited for.

    Raises:
        GameBusyError: it is not over in time. What had not begun never begins.
    """
    hop = _Hop(function)
    # It is None where no reactor was ever started, as in a shell.
    if threadable.ioThread is None or threadable.isInIOThread():
        _run_here(hop, timeout_seconds)
        cancel = hop.cancel
    else:
        reactor.callFromThread(hop.begin)
        hop.is_over.wait(timeout_seconds)
        cancel = partial(reactor.callFromThread, hop.cancel)
    return _outcome(hop, cancel, timeout_seconds)


async def run_async(function: Callable[[], object], timeout_seconds: float) -> Any:
    """The same as `run`, for a coroutine: of many at once the game does some between its own.

    A coroutine that is cancelled meanwhile calls off what it asked for.

    Raises:
        GameBusyError: it is not over in time. What had not begun never begins.
    """
    loop, is_over = asyncio.get_running_loop(), asyncio.Event()
    made = _Hop(function, lambda: loop.call_soon_threadsafe(is_over.set))
    cancel = partial(reactor.callFromThread, made.cancel)
    # Not `callFromThread`: of a hundred requests all would be done before the game goes on.
    pacer_of(reactor).call_from_thread(made.begin)
    try:
        await asyncio.wait_for(is_over.wait(), timeout_seconds)
    except TimeoutError:
        pass
    except asyncio.CancelledError:
        made.give_up()
        cancel()
        raise
    return _outcome(made, cancel, timeout_seconds)


def _outcome(hop: _Hop, cancel: Callable[[], object], timeout_seconds: float) -> Any:
    """The outcome of a hop whose time is over.

    Raises:
        GameBusyError: it has none; it is called off.
    """
    if hop.is_over.is_set():
        return hop.value()
    has_begun = hop.give_up()
    # It may have ended between the end of the wait and the giving up.
    if hop.is_over.is_set():
        return hop.value()
    cancel()
    raise GameBusyError((CUT_OFF if has_begun else NOT_BEGUN).format(seconds=timeout_seconds))


def _run_here(hop: _Hop, timeout_seconds: float) -> None:
    """In the game's own thread, as in a shell or a test, where the caller turns the reactor.

    A web server never does this: its views have threads of their own.
    """
    hop.begin()
    end = time.monotonic() + timeout_seconds
    while not hop.is_over.is_set() and time.monotonic() < end:
        # Nobody else turns the reactor here: to wait without it would be to wait for ever.
        reactor.iterate(POLL_SECONDS)


def paced(steps: Steps[T]) -> Deferred[T]:
    """Begin with some steps, soon; who acts now is who acts in each.

    Returns:
        What the generator returns or raises. Cancelled, it closes the generator.
    """
    done: Deferred[T] = Deferred(lambda _: steps.close())
    # The reactor calls in a context of its own, in which nobody acts.
    actor = copy_context()

    def go_on() -> None:
        began = reactor.seconds()
        try:
            while not done.called:
                actor.run(next, steps)
                if (took := reactor.seconds() - began) >= SLICE_SECONDS:
                    # As long as it took, be it that the machine is busy: half of the time is the
                    # game's. Where the reactor is turned by hand nobody is made way for.
                    reactor.callLater(took if reactor.running else 0, go_on)
                    return
        except StopIteration as end:
            done.callback(end.value)
        except Exception:
            done.errback()

    reactor.callLater(0, go_on)
    return done


def finish(steps: Steps[T]) -> T:
    """All steps at once, for what is small, and where there is no game to go on."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: T = end.value
            return value
