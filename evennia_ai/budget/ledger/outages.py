"""Access to a shared ledger, its outages, and the reserve from which calls are paid meanwhile.

After it did not answer there is a pause, common to a whole server process, since each try may block
the game's thread for the seconds of a connection timeout.

A reserve is held in the ledger like an open call, so that no cap can be exceeded. During an outage
calls draw on it in memory, and they are written once the ledger answers again. If the process is
killed before that, the whole reserve counts as used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.names import OWN_NAME
from evennia_ai.budget.ledger.reservations import (
    BillingContext,
    CostEstimate,
    Ending,
    Reservation,
    Row,
    TotalsChange,
)
from evennia_ai.budget.ledger.rows import translated_errors
from evennia_ai.core.safety.budget import DAY, BudgetAccount, CallState, Purpose
from evennia_ai.core.safety.prices import FREE, Price
from evennia_ai.core.turn.turn import TokenUsage
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


# Duration of the reserve as a call: it must not become overdue before its day ends.
RESERVE_SECONDS = 2 * DAY
MODEL = "reserve"
RETRY_SECONDS = 60  # pause before the next try to set a reserve aside, if caps had no room
EARLY_SECONDS = 600  # a reserve is set aside this long before its day begins


def is_wanted() -> bool:
    """True if the game is configured to set a reserve aside."""
    config = place.config()
    return config.is_shared and config.reserve_tokens > 0


def estimate_of_reserve(*, is_whole: bool) -> tuple[BillingContext, CostEstimate]:
    """The reserve for a day, as a call that can be reserved.

    Args:
        is_whole: False: it may be reduced to the room that caps have.
    """
    config = place.config()
    tokens = config.reserve_tokens
    # US dollars for a million tokens, the unit of prices.
    dollars = Decimal(str(config.reserve_dollars)) * 10**6 / tokens
    # The same price for input and output, as it may be spent on either.
    price = Price(dollars, dollars) if config.reserve_dollars else FREE
    # A share does not count as a call: those drawn from it will.
    billing = BillingContext("", "", Purpose.RESERVE, is_share=True)
    estimate = CostEstimate(
        TokenUsage(0, tokens), MODEL, price, seconds=RESERVE_SECONDS, least=None if is_whole else 1
    )
    return billing, estimate


@dataclass(slots=True)
class Reserve:
    """The unused rest of the reserve for one day.

    Attributes:
        tokens, nano: tokens and nano-dollars that are left.
    """

    held: Reservation
    tokens: int
    nano: int

    @classmethod
    def of(cls, held: Reservation) -> Reserve:
        """A reserve of which nothing is used yet."""
        return cls(held, held.estimate.usage.total_tokens, held.estimate.cost_nano)

    @property
    def day(self) -> int:
        """The day that it is for, in days since 1970."""
        return self.held.at // DAY

    def draw(self, estimate: CostEstimate) -> bool:
        """Take the estimate of a call; False if less is left."""
        tokens, nano = estimate.usage.total_tokens, estimate.cost_nano
        if tokens > self.tokens or nano > self.nano:
            return False
        self.give_back(-tokens, -nano)
        return True

    def give_back(self, tokens: int, nano: int) -> None:
        """Put the unused part of an estimate back."""
        self.tokens += tokens
        self.nano += nano


class Outage:
    """The reserves of one server process, and the calls drawn from them during an outage.

    There is a reserve for today and, in the last minutes of a day, one for the next day too, so
    that an outage at midnight does not stop the game.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reserves: dict[int, Reserve] = {}
        self._today = 0
        self._refused_at: dict[int, float] = {}
        self._drawn: dict[str, Reservation] = {}
        self._is_leaving = False
        self._is_doubted = False

    # ---- setting aside ---------------------------------------------------------------------

    def missing_at(self, now: float) -> list[float]:
        """The times for which a reserve must be set aside: now, and the start of the next day."""
        # `over` ends the reserves of all days but these; a clock may have been set, too.
        self._today = int(now) // DAY
        if not is_wanted() or self._is_leaving:
            return []
        tomorrow = (self._today + 1) * DAY
        times = [now, tomorrow] if tomorrow - now <= EARLY_SECONDS else [now]
        return [at for at in times if self._lacks(int(at) // DAY, now)]

    def _lacks(self, day: int, now: float) -> bool:
        refused_at = self._refused_at.get(day)
        if refused_at is not None and abs(now - refused_at) < RETRY_SECONDS:
            return False
        return day not in self._reserves or self._is_drawn(day)

    def _is_drawn(self, day: int) -> bool:
        """True if calls drawn from the reserve of a day are not in the ledger yet."""
        return any(drawn.at // DAY == day for drawn in self._drawn.values())

    def add(self, held: Reservation) -> None:
        """Take a reserve that was set aside."""
        self._reserves[held.at // DAY] = Reserve.of(held)

    def refuse(self, at: float, now: float) -> None:
        """Note that caps have no room for a reserve for the day of `at`."""
        # Past days are removed here, because nothing else does.
        ahead = {day: then for day, then in self._refused_at.items() if day >= self._today}
        self._refused_at = {**ahead, int(at) // DAY: now}

    def leave(self) -> bool:
        """End all reserves with the next write, and set no more aside. True: there are some."""
        self._is_leaving = True
        return bool(self._reserves or self._drawn)

    def stay(self) -> None:
        """Undo `leave`, because the write failed."""
        self._is_leaving = False

    # ---- while it is away --------------------------------------------------------------------

    def draw(self, begun: Reservation) -> bool:
        """Pay a call from its day's reserve; False if that has too little left."""
        reserve = self._reserves.get(begun.at // DAY)
        # An interrupted write may have ended the reserve, which would then be spent twice.
        if reserve is None or self._is_doubted or not reserve.draw(begun.estimate):
            return False
        self._drawn[begun.key] = begun
        return True

    def note_ending(self, ending: Ending) -> None:
        """Put the unused part of a call back into the reserve that paid for it."""
        reservation, reserve = ending.reservation, self._reserves.get(ending.reservation.at // DAY)
        if reserve is not None and reservation.key in self._drawn:
            unused = reservation.estimate.usage.total_tokens - ending.usage.total_tokens
            reserve.give_back(unused, reservation.estimate.cost_nano - ending.cost_nano)

    # ---- writing it to the ledger ------------------------------------------------------------

    def unwritten(
        self, still_open: Mapping[str, Reservation]
    ) -> tuple[list[tuple[tuple[BudgetAccount, ...], TotalsChange]], list[Row]]:
        """Changes and rows of drawn calls that are not in the ledger yet."""
        changes = [(drawn.accounts, drawn.opening) for drawn in self._drawn.values()]
        # The row of a call that has ended is written with its end.
        rows = [drawn.as_row() for key, drawn in self._drawn.items() if key in still_open]
        return changes, rows

    def over(self) -> list[Ending]:
        """The ends of reserves that were drawn on, or that are for other days.

        A reserve that was drawn on is released as a whole, since its calls are written themselves.
        """
        return [
            each.held.released(each.held.at, self._clock())
            for each in self._reserves.values()
            if self._is_leaving
            or each.day not in (self._today, self._today + 1)
            or self._is_drawn(each.day)
        ]

    def doubt(self, *, is_over: bool) -> None:
        """Note that the outcome of a transaction is unknown.

        Args:
            is_over: it would have ended a reserve, which must not be drawn on until this is clear.
        """
        self._is_doubted |= is_over

    def settle(self, over: Iterable[Ending]) -> None:
        """Note that everything was written."""
        self._drawn = {}
        for ending in over:
            del self._reserves[ending.reservation.at // DAY]

    def make_sure(self, states: Mapping[str, str]) -> None:
        """Resolve a doubt by the states of the calls that the ledger has, by key."""
        # Rows and totals are committed together, so a call with a row is counted.
        self._drawn = {k: v for k, v in self._drawn.items() if k not in states}
        self._is_doubted = False
        self._reserves = {
            day: reserve
            for day, reserve in self._reserves.items()
            if states.get(reserve.held.key) != CallState.RELEASED
        }

    @property
    def keys(self) -> list[str]:
        """The keys of all drawn calls and reserves."""
        return [*self._drawn, *(each.held.key for each in self._reserves.values())]
