"""A test case of the ledger: a store, calls made with it, and the rows of the database."""

from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.test import TestCase

from evennia_ai.budget.ledger import BillingContext, CostEstimate, LedgerStore, Reservation
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import BudgetAccount, CallState, Total
from evennia_ai.core.safety.prices import FREE, Price
from evennia_ai.core.settings.budget import BudgetConfig, Caps, Scope
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.models import BudgetTotal, ModelCall
from tests.recorded import record_of

NOON = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC).timestamp()
FOR_EVER = BudgetAccount(Scope.GAME, "", "")
OPEN = BudgetConfig(game=Caps(), assistant=Caps(), player=Caps(), calls_in_flight=0)
SUMMED = ("prompt_tokens", "completion_tokens", "cost_nano")


def capped(scope: str = "game", **caps: Any) -> BudgetConfig:
    return BudgetConfig(**{"game": Caps(), "assistant": Caps(), "player": Caps()} | {
        scope: Caps(**caps), "calls_in_flight": 0
    })  # fmt: skip


def need(prompt: int = 60, completion: int = 40, **changes: Any) -> CostEstimate:
    """The estimate of a call: 100 tokens unless a test changes it."""
    return CostEstimate(
        TokenUsage(prompt, completion), **{"model": "openai/mini", "price": FREE} | changes
    )


class LedgerTest(TestCase):
    """An empty ledger, and the store of one server process.

    Attributes:
        recorded: the recorded events: (event, subject, facts).
    """

    def setUp(self) -> None:
        super().setUp()
        self.store = LedgerStore()
        self.recorded = record_of(self)

    def reserve(
        self,
        config: BudgetConfig = OPEN,
        *,
        at: float = NOON,
        wanted: CostEstimate | None = None,
        store: LedgerStore | None = None,
        assistant: str = "Ada",
        person: str = "*#3",
        purpose: str = "turn",
    ) -> Reservation:
        billing = BillingContext(assistant, person, purpose)
        return (store or self.store).reserve(billing, wanted or need(), config, at)

    def use(
        self, prompt: int, completion: int, config: BudgetConfig = OPEN, **who: Any
    ) -> Reservation:
        """Reserve and settle a call that uses exactly these tokens."""
        reservation = self.reserve(config, wanted=need(prompt, completion), **who)
        self.store.settle(reservation, TokenUsage(prompt, completion), who.get("at", NOON))
        self.store.flush()
        return reservation

    def price(self, dollars: float) -> Price:
        """The same price for every token, in dollars for a million."""
        return Price(Decimal(str(dollars)), Decimal(str(dollars)))

    def total(self, account: BudgetAccount = FOR_EVER) -> Total:
        return read_total(account)

    def assert_consistent(self) -> None:
        """No counter is negative, and the game's totals equal the sum of all calls."""
        counters = [entry.name for entry in fields(Total) if not entry.name.startswith("warned")]
        for row in BudgetTotal.objects.values(*counters):
            assert all(value >= 0 for value in row.values()), row
        calls = list(ModelCall.objects.all())
        total = self.total()
        for name in SUMMED:
            assert getattr(total, name) == sum(getattr(call, name) for call in calls)
        still = [call for call in calls if call.state == CallState.OPEN]
        held = sum(c.estimated_prompt_tokens + c.estimated_completion_tokens for c in still)
        assert (len(still), held) == (total.open_calls, total.held_tokens)
        assert sum(call.estimated_cost_nano for call in still) == total.held_cost_nano
        assert total.calls == sum(call.state != CallState.RELEASED for call in calls)
