"""The ledger under any order of events: never over a cap, always consistent."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.budget.ledger import LedgerStore
from evennia_ai.budget.ledger.grants import Raise, raise_cap
from evennia_ai.core.safety.budget import BudgetAccount
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import LimitReachedError
from evennia_ai.models import BudgetTotal, ModelCall
from tests.game.budget.ledger_case import NOON, LedgerTest, capped, need

TODAY = BudgetAccount(Scope.GAME, "", "2026-11-21")
ACTS = ("reserve", "reserve", "reserve", "settle", "release", "cut_off", "flush", "raise", "crash")
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 90), st.integers(0, 3)), max_size=40
)


class TestAnyOrder(LedgerTest):
    """Two server processes, a cap, and every possible end of a call."""

    def setUp(self) -> None:
        super().setUp()
        self.reservations: list[tuple[LedgerStore, Any]] = []
        self.granted = 0

    def test_r26_used_and_held_never_pass_a_cap(self) -> None:
        """The cap includes grants, and totals equal the sum of the calls."""

        @given(STEPS, st.integers(1, 1000), st.integers(0, 100))
        def walk(steps: list[tuple[str, int, int]], cap: int, last: int) -> None:
            BudgetTotal.objects.all().delete()
            ModelCall.objects.all().delete()
            self.reservations, self.granted = [], 0
            stores = [LedgerStore(), LedgerStore()]
            for act, amount, which in steps:
                self.step(stores, act, amount, which, cap=cap, last=last)
                used = self.total(TODAY)
                spent = used.prompt_tokens + used.completion_tokens + used.held_tokens
                assert spent <= cap + self.granted
            for store in stores:
                store.flush()
            stores[0].recover(NOON + 10_000)
            self.assert_consistent()

        walk()

    def step(
        self, stores: list[LedgerStore], act: str, amount: int, which: int, *, cap: int, last: int
    ) -> None:
        store = stores[which % 2]
        if act == "reserve":
            wanted = need(amount + 1, amount, last=TokenUsage(last, 0))
            purpose = "wrap_up" if which == 3 else "turn"
            try:
                reservation = self.reserve(
                    capped(tokens_per_day=cap), store=store, wanted=wanted, purpose=purpose
                )
            except LimitReachedError:
                return
            self.reservations.append((store, reservation))
        elif act == "flush":
            store.flush()
        elif act == "raise":
            self.granted += amount + 1
            raise_cap(Raise(TODAY, "tokens_per_day", amount + 1, "Tom"))
        elif act == "crash":
            store.drop()
            stores[which % 2] = LedgerStore()
        elif self.reservations:
            self.close(act, *self.reservations.pop(amount % len(self.reservations)), part=amount)

    def close(self, act: str, store: LedgerStore, reservation: Any, part: int) -> None:
        """A call ends with no more usage than was estimated."""
        if act == "settle":
            estimate = reservation.estimate.usage
            used = TokenUsage(
                min(part + 1, estimate.prompt_tokens), estimate.completion_tokens // 2
            )
            store.settle(reservation, used, NOON)
        else:
            getattr(store, act)(reservation, NOON)
