"""The time in which a shared ledger cannot be reached, and what a game set aside for it.

Such a reserve is held in the ledger like a call under way, so that no cap is passed whatever
becomes of it: calls made meanwhile are drawn from it here, and written once the ledger answers
again. Of a process that is killed before, all of it counts as used, as nobody knows better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.reservations import (
    BillingContext,
    CostEstimate,
    Ending,
    Reservation,
    Row,
    TotalsChange,
)
from evennia_ai.core.safety.budget import DAY, BudgetAccount, CallState, Purpose
from evennia_ai.core.safety.prices import FREE, Price
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.resilience.clock import Clock

# Nobody takes it for a call that is long over before its day is.
SECONDS = 2 * DAY
MODEL = "reserve"
ASIDE_SECONDS = 60  # between two tries to set a reserve aside, where caps left no room
EARLY_SECONDS = 600  # so long before a day begins its reserve is set aside


def is_wanted() -> bool:
    """True where a game sets something aside."""
    found = place.config()
    return found.is_shared and found.reserve_tokens > 0


def wanted(*, is_whole: bool) -> tuple[BillingContext, CostEstimate]:
    """All that is set aside for a day.

    Args:
        is_whole: where caps leave less room, nothing is; else less of it.
    """
    found = place.config()
    tokens = found.reserve_tokens
    dollars = Decimal(str(found.reserve_dollars)) * 10**6 / tokens
    # One amount for prompts and answers: nobody knows yet what it will be spent on.
    price = Price(dollars, dollars) if found.reserve_dollars else FREE
    billing = BillingContext("", "", Purpose.RESERVE, is_share=True)
    least = None if is_whole else 1
    return billing, CostEstimate(TokenUsage(0, tokens), MODEL, price, seconds=SECONDS, least=least)


@dataclass(slots=True)
class Reserve:
    """The rest of what a game set aside for one day.

    Attributes:
        held: as it is held in the ledger.
        tokens, nano: what is left; of nano-dollars too.
    """

    held: Reservation
    tokens: int
    nano: int

    @classmethod
    def of(cls, held: Reservation) -> Reserve:
        """All of it."""
        return cls(held, held.estimate.usage.total_tokens, held.estimate.cost_nano)

    @property
    def day(self) -> int:
        """The day that it is for, counted from 1970."""
        return self.held.at // DAY

    def draw(self, estimate: CostEstimate) -> bool:
        """Take what a call may need. Returns whether there is so much left."""
        tokens, nano = estimate.usage.total_tokens, estimate.cost_nano
        if tokens > self.tokens or nano > self.nano:
            return False
        self.give_back(-tokens, -nano)
        return True

    def give_back(self, tokens: int, nano: int) -> None:
        """Put back what a call did not need."""
        self.tokens += tokens
        self.nano += nano


class Outage:
    """The deeds of one server process while a shared ledger is away, to be told to it afterwards.

    It has a reserve for each day, and for the last minutes of one also that of the next, so that a
    ledger which is away at midnight does not end it.

    Args:
        clock: seconds that only ever go up.
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

    def lacking(self, now: float) -> list[float]:
        """The times for which something has to be set aside: now, and when the next day begins.

        Reserves of other days go with what is written next; a clock may have been set.
        """
        self._today = int(now) // DAY
        if not is_wanted() or self._is_leaving:
            return []
        tomorrow = (self._today + 1) * DAY
        times = [now, tomorrow] if tomorrow - now <= EARLY_SECONDS else [now]
        return [at for at in times if self._lacks(int(at) // DAY, now)]

    def _lacks(self, day: int, now: float) -> bool:
        refused_at = self._refused_at.get(day)
        if refused_at is not None and abs(now - refused_at) < ASIDE_SECONDS:
            return False
        return day not in self._reserves or self._is_drawn(day)

    def _is_drawn(self, day: int) -> bool:
        """True where calls were drawn from the reserve of a day that the ledger was not told of."""
        return any(drawn.at // DAY == day for drawn in self._drawn.values())

    def add(self, held: Reservation) -> None:
        """Note what was set aside."""
        self._reserves[held.at // DAY] = Reserve.of(held)

    def refuse(self, at: float, now: float) -> None:
        """Note that caps leave no room to set aside anything for the day of `at`."""
        # Days that are over leave here, as nothing else would take them out.
        ahead = {day: then for day, then in self._refused_at.items() if day >= self._today}
        self._refused_at = {**ahead, int(at) // DAY: now}

    def leave(self) -> bool:
        """Let all go with what is written next, and set nothing aside any more.

        Returns:
            Whether anything is to be told.
        """
        self._is_leaving = True
        return bool(self._reserves or self._drawn)

    def stay(self) -> None:
        """Go on as before; it could not leave."""
        self._is_leaving = False

    # ---- while it is away --------------------------------------------------------------------

    def draw(self, begun: Reservation) -> bool:
        """Let a call be paid from its day's reserve. Returns whether so much is left of one."""
        reserve = self._reserves.get(begun.at // DAY)
        # A write that broke off may have ended the reserve, which would then be spent twice.
        if reserve is None or self._is_doubted or not reserve.draw(begun.estimate):
            return False
        self._drawn[begun.key] = begun
        return True

    def note_ending(self, ending: Ending) -> None:
        """Put back what a call that was paid from a reserve did not need."""
        held, reserve = ending.reservation, self._reserves.get(ending.reservation.at // DAY)
        if reserve is not None and held.key in self._drawn:
            unused = held.estimate.usage.total_tokens - ending.usage.total_tokens
            reserve.give_back(unused, held.estimate.cost_nano - ending.cost_nano)

    # ---- what the ledger is told -------------------------------------------------------------

    def untold(
        self, still_open: Mapping[str, Reservation]
    ) -> tuple[list[tuple[tuple[BudgetAccount, ...], TotalsChange]], list[Row]]:
        """Changes and rows of calls of which the ledger knows nothing yet.

        Args:
            still_open: calls under way, which have no end yet that would be written.
        """
        changes = [(drawn.accounts, drawn.opening) for drawn in self._drawn.values()]
        # The rows of those that have ended are written with their ends.
        rows = [drawn.as_row() for key, drawn in self._drawn.items() if key in still_open]
        return changes, rows

    def over(self) -> list[Ending]:
        """The ends of reserves from which calls were drawn, or that are of other days.

        What was drawn from them is written by itself.
        """
        return [
            Ending(each.held, CallState.RELEASED, TokenUsage(), 0, each.held.at, self._clock())
            for each in self._reserves.values()
            if self._is_leaving
            or each.day not in (self._today, self._today + 1)
            or self._is_drawn(each.day)
        ]

    def doubt(self, *, is_over: bool) -> None:
        """Note that nobody heard what came of a transaction: no call is drawn from what it ended.

        Args:
            is_over: it ended a reserve.
        """
        self._is_doubted |= is_over

    def settle(self, over: Iterable[Ending]) -> None:
        """Note that the ledger was told all.

        Args:
            over: the ends of reserves among it.
        """
        self._drawn = {}
        for ending in over:
            del self._reserves[ending.reservation.at // DAY]

    def make_sure(self, told: Mapping[str, str]) -> None:
        """Note what the ledger turned out to know: the states of the calls that it has, by key."""
        # A row that is there was committed, and the totals with it.
        self._drawn = {k: v for k, v in self._drawn.items() if k not in told}
        self._is_doubted = False
        self._reserves = {
            day: reserve
            for day, reserve in self._reserves.items()
            if told.get(reserve.held.key) != CallState.RELEASED
        }

    @property
    def keys(self) -> list[str]:
        """The keys of all that the ledger may have been told of."""
        return [*self._drawn, *(each.held.key for each in self._reserves.values())]
