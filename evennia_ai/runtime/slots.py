"""Running turns: one at a time in the assistant's slot, others set aside.

A turn leaves the slot while a person is asked about one of its limits, and returns to it to go on.
Nothing in here knows what a turn does.
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
    """One running turn, in the slot or set aside.

    Attributes:
        drop: called with the reason when the turn ends while it is set aside.
        running: the turn's coroutine; cancelling it ends the turn.
        is_due: its wait is over, and it may have the slot again.
        left: fires when it leaves the slot, by ending or being set aside; None while it is aside.
        called: fires when it gets the slot back; None unless it waits for that.
    """

    turn: Turn
    drop: Callable[[Turn, Failure], None]
    running: Deferred[None] | None = None
    is_due: bool = False
    left: Deferred[None] | None = None
    called: Deferred[None] | None = None

    def begin(self, answering: Coroutine[Deferred[object], Any, None]) -> Deferred[None]:
        """Run the turn in the slot.

        Returns:
            Fires when it leaves the slot; fails if the turn fails there.
        """
        left = self.left = Deferred()
        self.running = Deferred.fromCoroutine(answering)
        self.running.addBoth(self._end)
        return left

    def step_aside(self) -> None:
        """Leave the slot to others; the turn goes on waiting."""
        left, self.left = self.left, None
        if left is not None:
            left.callback(None)

    def come_back(self) -> Deferred[None]:
        """Ask for the slot again; fires when the turn gets it."""
        called = self.called = Deferred()
        self.is_due = True
        return called

    def go_on(self) -> Deferred[None]:
        """Give the slot back to the turn; returns the same as `begin`."""
        # Before the callback, in which the turn may run to its end.
        left = self.left = Deferred()
        called, self.called, self.is_due = self.called, None, False
        if called is not None:
            called.callback(None)
        return left

    def cancel(self) -> None:
        """End the turn, wherever it is."""
        if self.running is not None:
            self.running.cancel()

    def _end(self, outcome: Failure | None) -> None:
        left, self.left = self.left, None
        if left is not None:
            left.callback(outcome)
        # Nobody waits in the slot for a turn that ends while it is set aside.
        elif isinstance(outcome, Failure):
            self.drop(self.turn, outcome)
