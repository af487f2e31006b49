"""Slots for calls in flight, shared by all clients of a game: so many calls and no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from twisted.internet.defer import DeferredSemaphore
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import NoFreeSlotError


class Slots(DeferredSemaphore):
    """Slots for calls in flight; a freed one goes to whoever has waited longest."""

    _holds = 0
    _is_giving = False

    def release(self) -> None:
        """Give a slot back."""
        self.tokens += 1
        self._give()

    def _give(self) -> None:
        """Give free slots to those who wait.

        Who gives one back on the spot does so in the middle of this: the next one's turn comes
        here, not deeper and deeper in the stack.
        """
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
        """Give no slot to anybody who waits until the end of the block."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self._give()


async def take_slot(slots: DeferredSemaphore, seconds: float, reactor: Reactor) -> None:
    """Wait until one more call may be in flight.

    Raises:
        NoFreeSlotError: it may not by then.
    """
    taken = slots.acquire()
    if taken.called:  # at once, as mostly
        return
    try:
        await taken.addTimeout(seconds, reactor)
    except DeadlineError:
        raise NoFreeSlotError(f"no free slot for a model call within {seconds:g} s") from None


class Slot:
    """One call's slot, from its first attempt on; given back while it waits for something else.

    Args:
        ends_at: when the call ends at the latest, in the reactor's seconds.

    Attributes:
        is_taken: the call has it now.
    """

    def __init__(self, slots: DeferredSemaphore, ends_at: float, reactor: Reactor) -> None:
        self._slots = slots
        self._ends_at = ends_at
        self._reactor = reactor
        self.is_taken = False

    async def take(self) -> None:
        """Wait for it, unless it is taken already.

        Raises:
            NoFreeSlotError: there is none as long as the call may take.
        """
        if not self.is_taken:
            left = max(0.0, self._ends_at - self._reactor.seconds())
            await take_slot(self._slots, left, self._reactor)
            self.is_taken = True

    def give_back(self) -> None:
        """Let somebody else have it."""
        if self.is_taken:
            self.is_taken = False
            self._slots.release()
