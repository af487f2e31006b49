"""Calls into the game's own thread from other threads, and long work within it.

Views run in web threads and some servers on the asyncio lane, but game objects may be touched only
in the reactor's thread. Calls hop there with a time limit and a bounded number of waiters.
Evennia's `run_in_main_thread` does not: it decides at import which thread is the main one.

Long work is a generator whose steps take a few milliseconds each: the game goes on between them.
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

POLL_SECONDS = 0.02  # per turn of a reactor that is run by hand
SLICE_SECONDS = 0.002  # the reactor's time that paced work takes in one go
T = TypeVar("T")
# Work done step by step. Steps left when the process ends are never done.
Steps = Generator[None, None, T]
NOT_BEGUN = "the game is busy and did not get to it within {seconds:g} s; nothing was done"
CUT_OFF = "the game took longer than {seconds:g} s; what had begun was called off where it could be"
NO_ROOM = "{count} requests wait for the game already"


class GameBusyError(Exception):
    """The game does not answer in time, or too many requests wait for it."""

    retry_seconds = 2


class WaitingRoom:
    """A bounded number of places for requests that wait at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @contextmanager
    def place(self, most: int) -> Iterator[None]:
        """Hold a place.

        Raises:
            GameBusyError: all places are taken.
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


# A long request, as one that waits for a model, takes a place in both: some are left to quick ones.
ANY, LONG = WaitingRoom(), WaitingRoom()


class _Hop:
    """One call into the game's thread and back."""

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
        """In the game's thread: make the call, unless its caller has given up."""
        with self._lock:
            if self._is_given_up:
                return
            self._has_begun = True
        try:
            value = self.function()
        except BaseException:  # SystemExit too: another thread waits for the outcome
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
        """Wait no longer: a call that has not begun never begins. True: it had begun."""
        # Under the same lock as `begin`, so that both threads agree on whether it has begun.
        with self._lock:
            self._is_given_up = True
            return self._has_begun

    def cancel(self) -> None:
        """In the game's thread: cancel what the call still waits for."""
        if self.waiting is not None:
            self.waiting.cancel()

    def value(self) -> Any:
        """The outcome; an error is raised here again."""
        if isinstance(self.outcome, Failure):
            self.outcome.raiseException()
        return self.outcome


def run(function: Callable[[], object], timeout_seconds: float) -> Any:
    """Call a function in the game's thread and return its result; a Deferred is waited for.

    Raises:
        GameBusyError: it did not end in time. What had not begun never begins.
    """
    hop = _Hop(function)
    # `ioThread` is None where no reactor was ever started, as in a shell.
    if threadable.ioThread is None or threadable.isInIOThread():
        _run_here(hop, timeout_seconds)
        cancel = hop.cancel
    else:
        reactor.callFromThread(hop.begin)
        hop.is_over.wait(timeout_seconds)
        cancel = partial(reactor.callFromThread, hop.cancel)
    return _outcome(hop, cancel, timeout_seconds)


async def run_async(function: Callable[[], object], timeout_seconds: float) -> Any:
    """Like `run`, for a coroutine; calls take turns with the game's own work.

    Cancelling the coroutine cancels the call as well.

    Raises:
        GameBusyError: it did not end in time. What had not begun never begins.
    """
    loop, is_over = asyncio.get_running_loop(), asyncio.Event()
    hop = _Hop(function, lambda: loop.call_soon_threadsafe(is_over.set))
    cancel = partial(reactor.callFromThread, hop.cancel)
    # Not `callFromThread`: a hundred calls would all run before the game goes on.
    pacer_of(reactor).call_from_thread(hop.begin)
    try:
        await asyncio.wait_for(is_over.wait(), timeout_seconds)
    except TimeoutError:
        pass
    except asyncio.CancelledError:
        hop.give_up()
        cancel()
        raise
    return _outcome(hop, cancel, timeout_seconds)


def _outcome(hop: _Hop, cancel: Callable[[], object], timeout_seconds: float) -> Any:
    """The outcome of a hop whose time is over."""
    if hop.is_over.is_set():
        return hop.value()
    has_begun = hop.give_up()
    # It may have ended between the timeout and giving up.
    if hop.is_over.is_set():
        return hop.value()
    cancel()
    raise GameBusyError((CUT_OFF if has_begun else NOT_BEGUN).format(seconds=timeout_seconds))


def _run_here(hop: _Hop, timeout_seconds: float) -> None:
    """Run the call in the game's own thread, as in a shell or test, turning the reactor."""
    hop.begin()
    end = time.monotonic() + timeout_seconds
    while not hop.is_over.is_set() and time.monotonic() < end:
        # Nobody else runs the reactor here, so waiting without it would never end.
        reactor.iterate(POLL_SECONDS)


def paced(steps: Steps[T]) -> Deferred[T]:
    """Run steps in slices, soon, in the caller's context.

    Returns:
        Fires with what the generator returns or raises. Cancelling it closes the generator.
    """
    done: Deferred[T] = Deferred(lambda _: steps.close())
    # The audit log reads the actor from context variables, which the reactor's calls do not keep.
    actor = copy_context()

    def go_on() -> None:
        began = reactor.seconds()
        try:
            while not done.called:
                actor.run(next, steps)
                if (took := reactor.seconds() - began) >= SLICE_SECONDS:
                    # Pause for as long as the slice took, so that half of the time is the game's
                    # even on a busy machine. A reactor turned by hand has nothing to give way to.
                    reactor.callLater(took if reactor.running else 0, go_on)
                    return
        except StopIteration as end:
            done.callback(end.value)
        except Exception:
            done.errback()

    reactor.callLater(0, go_on)
    return done


def finish(steps: Steps[T]) -> T:
    """Run all steps at once, for small work, and where no game is running."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: T = end.value
            return value
