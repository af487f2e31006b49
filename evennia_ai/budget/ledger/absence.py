"""Access to the ledger, with a pause after a shared one did not answer.

The pause is common to a whole server process, since each try may block the game's thread for the
seconds of a connection timeout.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.names import OWN_NAME
from evennia_ai.budget.ledger.rows import translated_errors
from evennia_ai.errors import LedgerAwayError
from evennia_ai.resilience.clock import Clock

T = TypeVar("T")


class Absence:
    """The state of a shared ledger that did not answer.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until, self._why = -1.0, ""

    def forget(self) -> None:
        """End the pause."""
        self._why = ""

    def refuse(self) -> None:
        """Raise at once during the pause.

        Raises:
            LedgerAwayError: the ledger did not answer a moment ago.
        """
        if self._why and self._clock() < self._until:
            raise LedgerAwayError(self._why)

    def note(self, error: LedgerAwayError) -> None:
        """Begin a pause, because the ledger did not answer."""
        self._why, self._until = str(error), self._clock() + place.config().retry_seconds


ABSENCE = Absence()


def query_ledger(ask: Callable[[], T], *, by_name: bool = True, takes: bool = False) -> T:
    """Run a query of the ledger; every access goes through this function.

    Args:
        ask: the query; it may be called twice.
        by_name: first check that this game's name in a shared ledger is its own.
        takes: see `OwnName.ensure`.

    Raises:
        ConfigurationError: the tables do not exist, or another game has the name.
        LedgerAwayError: a shared ledger does not answer, or did not a moment ago.
    """
    ABSENCE.refuse()
    # A connection opened earlier may be dead although the database answers again, so it is worth
    # one more try on a new one. A connection opened just now is not.
    may_be_dead = place.is_shared() and place.connection().connection is not None
    while True:
        try:
            if by_name:
                OWN_NAME.ensure(takes=takes)
            with translated_errors:
                answer = ask()
        except LedgerAwayError as error:
            if not may_be_dead:
                ABSENCE.note(error)
                raise
            may_be_dead = False  # `translated_errors` has closed it; the next try opens a new one
        else:
            ABSENCE.forget()
            return answer
