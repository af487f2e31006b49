"""The time in which a shared ledger cannot be reached, and what a game set aside for it.

Such a reserve is held in the ledger like a call under way, so that no cap is passed whatever
becomes of it: calls made meanwhile are drawn from it here, and written once the ledger answers
again. Of a process that is killed before, all of it counts as used, as nobody knows better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.reservations import (
    BillingContext,
    Change,
    CostEstimate,
    Ending,
    Reservation,
    Row,
)
from evennia_ai.core.safety.budget import DAY, BudgetAccount, CallState, Purpose
from evennia_ai.core.safety.prices import FREE, Price
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.resilience.clock import Clock

# Nobody takes it for a call that is long over before its day is.
SECONDS = 2 * DAY
MODEL = "reserve"


def is_wanted() -> bool:
    """True where a game sets something aside."""
    found = place.config()
    return found.is_shared and found.reserve_tokens > 0


def wanted() -> tuple[BillingContext, CostEstimate]:
    """All that is set aside for a day; where caps leave less room, less of it is."""
    found = place.config()
    tokens = found.reserve_tokens
    dollars = Decimal(str(found.reserve_dollars)) * 10**6 / tokens
    price = Price(dollars, dollars) if found.reserve_dollars else FREE
    billing = BillingContext("", "", Purpose.RESERVE, is_share=True)
    return billing, CostEstimate(TokenUsage(0, tokens), MODEL, price, seconds=SECONDS, least=1)


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

    def is_of(self, now: float) -> bool:
        """True on the day that it was set aside for."""
        return self.held.at // DAY == int(now) // DAY

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

    Args:
        clock: seconds that only ever go up.

    Attributes:
        reserve: what is set aside; None: nothing.
    """

    def __init__(self, clock: Clock) -> None:
        self.reserve: Reserve | None = None
        self._clock = clock
        self._drawn: dict[str, Reservation] = {}
        self._is_leaving = False
        self._is_doubted = False

    def draw(self, begun: Reservation, now: float) -> bool:
        """Let a call be paid from the reserve. Returns whether there is one with so much left."""
        reserve = self.reserve
        if reserve is None or self._is_doubted or not reserve.is_of(now):
            return False
        if not reserve.draw(begun.estimate):
            return False
        self._drawn[begun.key] = begun
        return True

    def note_ending(self, ending: Ending) -> None:
        """Put back what a call that was paid from the reserve did not need."""
        held = ending.reservation.estimate
        if self.reserve is not None and ending.reservation.key in self._drawn:
            unused = held.usage.total_tokens - ending.usage.total_tokens
            self.reserve.give_back(unused, held.cost_nano - ending.cost_nano)

    def untold(
        self, still_open: Mapping[str, Reservation]
    ) -> tuple[list[tuple[tuple[BudgetAccount, ...], Change]], list[Row]]:
        """Changes and rows of calls of which the ledger knows nothing yet.

        Args:
            still_open: calls under way, which have no end yet that would be written.
        """
        changes = [(drawn.accounts, drawn.opening) for drawn in self._drawn.values()]
        rows = [drawn.as_row() for key, drawn in self._drawn.items() if key in still_open]
        return changes, rows

    def has_reserve(self, now: float) -> bool:
        """True where there is one for this day, from which nothing was drawn that is untold."""
        return self.reserve is not None and self.reserve.is_of(now) and not self._drawn

    def leave(self) -> bool:
        """Let the reserve go with what is written next. Returns whether anything is to be told."""
        self._is_leaving = self.reserve is not None
        return self._is_leaving or bool(self._drawn)

    def over(self, next_call: Reservation | None) -> list[Ending]:
        """The end of a reserve from which calls were drawn, that is of another day, or that goes.

        What was drawn from it is written by itself.

        Args:
            next_call: what is written with it, by which it is known what day it is.
        """
        reserve = self.reserve
        if reserve is None:
            return []
        is_of_today = next_call is None or reserve.is_of(next_call.at)
        if is_of_today and not self._drawn and not self._is_leaving:
            return []
        held = reserve.held
        return [Ending(held, CallState.RELEASED, TokenUsage(), 0, held.at, self._clock())]

    def doubt(self, *, is_over: bool) -> None:
        """Note that nobody heard what came of a transaction: no call is drawn from what it ended.

        Args:
            is_over: it ended the reserve.
        """
        self._is_doubted |= is_over

    def settle(self, *, is_over: bool) -> None:
        """Note that the ledger was told all.

        Args:
            is_over: the end of the reserve too.
        """
        if self._drawn:
            self._drawn = {}
        if is_over:
            self.reserve, self._is_leaving = None, False

    def make_sure(self, told: Mapping[str, str]) -> None:
        """Note what the ledger turned out to know: the states of the calls that it has, by key."""
        self._drawn = {k: v for k, v in self._drawn.items() if k not in told}
        self._is_doubted = False
        if self.reserve and told.get(self.reserve.held.key) == CallState.RELEASED:
            self.reserve = None

    @property
    def keys(self) -> list[str]:
        """The keys of all that the ledger may have been told of."""
        return [*self._drawn, *([self.reserve.held.key] if self.reserve else [])]
