"""The running of turns: one at a time in the assistant's place, others beside it.

A turn leaves the place while a person is asked about a limit of it, and comes back to it for what
it does next. Nothing here knows what a turn does.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from evennia_ai.core.turn.turn import Turn


@dataclass(slots=True, eq=False)
class Seat:
    """The running of one turn, in the place or beside it.

    Attributes:
        drop: told why the turn ended while it was set aside.
        running: the turn's coroutine; cancelling it ends the turn.
        is_due: what it waited for is there, and it may have the place again.
        left: fires when it leaves the place: it ended, or is set aside; None while it is aside.
        called: fires when it has the place again; None while nothing waits for that.
    """

    turn: Turn
    drop: Callable[[Turn, Failure], None]
    running: Deferred[None] | None = None
    is_due: bool = False
    left: Deferred[None] | None = None
    called: Deferred[None] | None = None

    def begin(self, answering: Coroutine[Deferred[object], Any, None]) -> Deferred[None]:
        """Run the turn, in the place.

        Returns:
            Fires when it leaves the place, and fails as the turn does that ends there.
        """
        left = self.left = Deferred()
        self.running = Deferred.fromCoroutine(answering)
        self.running.addBoth(self._end)
        return left

    def step_aside(self) -> None:
        """Leave the place for others; the turn goes on waiting."""
        left, self.left = self.left, None
        if left is not None:
            left.callback(None)

    def come_back(self) -> Deferred[None]:
        """Ask for the place again; fires when it is free for what the turn does next."""
        called = self.called = Deferred()
        self.is_due = True
        return called

    def go_on(self) -> Deferred[None]:
        """Have the place again; as `begin`."""
        # Made before the turn is called, which may run to its end at once.
        left = self.left = Deferred()
        called, self.called, self.is_due = self.called, None, False
        if called is not None:
            called.callback(None)
        return left

    def cancel(self) -> None:
        """End the turn wherever it is."""
        if self.running is not None:
            self.running.cancel()

    def _end(self, outcome: Failure | None) -> None:
        left, self.left = self.left, None
        if left is not None:
            left.callback(outcome)
        # Nobody waits in the place for a turn that ends beside it.
        elif isinstance(outcome, Failure):
            self.drop(self.turn, outcome)
