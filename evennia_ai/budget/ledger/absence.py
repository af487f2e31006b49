"""The asking of the ledger, and the while in which a shared one that is away is left alone.

One note of it for a server process, whoever asks: each try may hold up the game's thread for the
seconds in which a connection is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.names import OURS
from evennia_ai.budget.ledger.rows import tables_wanted
from evennia_ai.errors import LedgerAwayError
from evennia_ai.resilience.clock import Clock

T = TypeVar("T")


class Absence:
    """The last time that the ledger did not answer.

    Args:
        clock: seconds that only ever go up.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until, self._why = -1.0, ""

    def forget(self) -> None:
        """Ask it at once again."""
        self._why = ""

    def refuse(self) -> None:
        """Ask a ledger that did not answer no more for a while, in which nobody waits for it.

        Raises:
            LedgerAwayError: it did not answer a moment ago.
        """
        if self._why and self._clock() < self._until:
            raise LedgerAwayError(self._why)

    def note(self, error: LedgerAwayError) -> None:
        """Note that it did not answer."""
        self._why, self._until = str(error), self._clock() + place.config().retry_seconds


ABSENCE = Absence()


def asked(ask: Callable[[], T], *, by_name: bool = True, takes: bool = False) -> T:
    """The ledger's answer: all that reads it, or begins to write, asks by this.

    Args:
        ask: may be called twice: a connection that was opened before may be dead by now, though
            the database answers again.
        by_name: only if this game's name there is not another's; else whoever has it.
        takes: as of `OwnName.ensure`.

    Raises:
        ConfigurationError: the tables do not exist, or another game has the name.
        LedgerAwayError: a shared ledger does not answer, or did not a moment ago.
    """
    ABSENCE.refuse()
    # A connection that is made just now cannot be stale: its failure is not tried again.
    may_be_dead = place.is_shared() and place.connection().connection is not None
    while True:
        try:
            if by_name:
                OURS.ensure(takes=takes)
            with tables_wanted:
                told = ask()
        except LedgerAwayError as error:
            if not may_be_dead:
                ABSENCE.note(error)
                raise
            may_be_dead = False  # its connection is let go
        else:
            ABSENCE.forget()
            return told
