"""Slots that bound the calls in flight, shared by all clients of a game."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from twisted.internet.defer import DeferredSemaphore
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import NoFreeSlotError


class Slots(DeferredSemaphore):
    """A semaphore that gives a freed slot to the longest waiting call."""

    _holds = 0
    _is_giving = False

    def release(self) -> None:
        """Give a slot back."""
        self.tokens += 1
        self._give()

    def _give(self) -> None:
        # A call that fails at once releases its slot inside its callback. The outer loop then gives
        # it to the next one; recursion could overflow the stack if many wait.
        if self._is_giving:
            return
        self._is_giving = True
        try:
            while self.tokens and self.waiting and not self._holds:
                self.tokens -= 1
                self.waiting.pop(0).callback(self)
        finally:
            self._is_giving = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Give no waiting call a slot until the end of the block."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self._give()


async def take_slot(slots: DeferredSemaphore, seconds: float, reactor: Reactor) -> None:
    """Wait for a slot.

    Raises:
        NoFreeSlotError: none is free within this time.
    """
    taken = slots.acquire()
    if taken.called:  # the usual case; spares a timer
        return
    try:
        await taken.addTimeout(seconds, reactor)
    except DeadlineError:
        raise NoFreeSlotError(f"no free slot for a model call within {seconds:g} s") from None


class Slot:
    """The slot of one call, which it can release and take again.

    Args:
        ends_at: the deadline of the call, in the reactor's seconds.

    Attributes:
        is_taken: True while the call holds its slot.
    """

    def __init__(self, slots: DeferredSemaphore, ends_at: float, reactor: Reactor) -> None:
        self._slots = slots
        self._ends_at = ends_at
        self._reactor = reactor
        self.is_taken = False

    async def take(self) -> None:
        """Wait for the slot, unless the call holds it already.

        Raises:
            NoFreeSlotError: none is free before the call's deadline.
        """
        if not self.is_taken:
            seconds = max(0.0, self._ends_at - self._reactor.seconds())
            await take_slot(self._slots, seconds, self._reactor)
            self.is_taken = True

    def give_back(self) -> None:
        """Release the slot, if the call holds it."""
        if self.is_taken:
            self.is_taken = False
            self._slots.release()
