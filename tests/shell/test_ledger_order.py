"""The ledger in whatever order things happen: never over a cap, and always consistent."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.budget.ledger import Book
from evennia_ai.budget.ledger.grants import Raise, raise_cap
from evennia_ai.core.safety.budget import BudgetAccount
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import LimitReachedError
from evennia_ai.models import BudgetTotal, ModelCall
from tests.shell.ledger_case import NOON, LedgerTest, capped, need

TODAY = BudgetAccount(Scope.GAME, "", "2026-11-21")
ACTS = ("reserve", "reserve", "reserve", "settle", "release", "cut_off", "flush", "raise", "crash")
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 90), st.integers(0, 3)), max_size=40
)


class TestAnyOrder(LedgerTest):
    """Two server processes, a cap, and all that can become of a call."""

    def setUp(self) -> None:
        """Nothing has happened yet."""
        super().setUp()
        self.claims: list[tuple[Book, Any]] = []
        self.granted = 0

    def test_r26_used_and_held_never_pass_a_cap(self) -> None:
        """With what was granted; no counter is ever negative; totals equal the sum of calls."""

        @given(STEPS, st.integers(1, 1000), st.integers(0, 100))
        def walk(steps: list[tuple[str, int, int]], cap: int, last: int) -> None:
            BudgetTotal.objects.all().delete()
            ModelCall.objects.all().delete()
            self.claims, self.granted = [], 0
            books = [Book(), Book()]
            for act, amount, which in steps:
                self.step(books, act, amount, which, cap=cap, last=last)
                used = self.total(TODAY)
                spent = used.prompt_tokens + used.completion_tokens + used.held_tokens
                assert spent <= cap + self.granted
            for book in books:
                book.flush()
            books[0].recover(NOON + 10_000)
            self.assert_consistent()

        walk()

    def step(
        self, books: list[Book], act: str, amount: int, which: int, *, cap: int, last: int
    ) -> None:
        """One thing happens in one of the processes."""
        book = books[which % 2]
        if act == "reserve":
            wanted = need(amount + 1, amount, last=TokenUsage(last, 0))
            purpose = "wrap_up" if which == 3 else "turn"
            try:
                claim = self.reserve(
                    capped(tokens_per_day=cap), book=book, wanted=wanted, purpose=purpose
                )
            except LimitReachedError:
                return
            self.claims.append((book, claim))
        elif act == "flush":
            book.flush()
        elif act == "raise":
            self.granted += amount + 1
            raise_cap(Raise(TODAY, "tokens_per_day", amount + 1, "Tom"))
        elif act == "crash":
            book.drop()
            books[which % 2] = Book()
        elif self.claims:
            self.close(act, *self.claims.pop(amount % len(self.claims)), part=amount)

    def close(self, act: str, book: Book, claim: Any, part: int) -> None:
        """A call ends, with no more than was estimated."""
        if act == "settle":
            estimate = claim.need.estimate
            used = TokenUsage(
                min(part + 1, estimate.prompt_tokens), estimate.completion_tokens // 2
            )
            book.settle(claim, used, NOON)
        else:
            getattr(book, act)(claim, NOON)
