"""The ledger: a call is reserved before it is made and closed after it, never over a cap."""

import math
from contextlib import nullcontext
from types import SimpleNamespace
from unittest import mock

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from evennia_ai import audit
from evennia_ai.budget.ledger import LedgerStore, bench, grant, upkeep
from evennia_ai.core.safety.budget import BudgetAccount, accounts_of
from evennia_ai.core.settings.budget import BudgetConfig, Caps, Measure, Scope
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ConfigurationError, LimitReachedError, NoFreeSlotError
from evennia_ai.models import BudgetTotal, ModelCall
from tests.game.budget.ledger_case import NOON, OPEN, LedgerTest, capped, need

TODAY = BudgetAccount(Scope.GAME, "", "2026-11-21")


class TestCounting(LedgerTest):
    def test_l15_held_before_and_counted_after(self) -> None:
        reservation = self.reserve()
        total = self.total()
        assert (1, 1, 100, 0) == (
            total.calls, total.open_calls, total.held_tokens, total.prompt_tokens
        )  # fmt: skip
        self.store.settle(reservation, TokenUsage(50, 7), NOON)
        self.store.flush()
        total = self.total()
        assert (1, 0, 0) == (total.calls, total.open_calls, total.held_tokens)
        assert (50, 7) == (total.prompt_tokens, total.completion_tokens)
        self.assert_consistent()

    def test_a_call_counts_in_twelve_accounts(self) -> None:
        """Game, assistant and player each have four: ever, month, day and minute."""
        self.use(5, 6)
        accounts = accounts_of("Ada", "*#3", NOON)
        assert 12 == BudgetTotal.objects.count()
        assert {11} == {
            total.prompt_tokens + total.completion_tokens for total in map(self.total, accounts)
        }

    def test_a_call_for_nobody_counts_to_no_player(self) -> None:
        """An assistant also makes calls by itself."""
        self.use(5, 6, person="")
        assert not BudgetTotal.objects.filter(scope="player").exists()

    def test_more_than_was_held_counts_in_full(self) -> None:
        """Usage beyond a cap still counts, and the next call is refused."""
        config = capped(tokens_per_day=200)
        self.store.settle(self.reserve(config), TokenUsage(900, 100), NOON)
        with pytest.raises(LimitReachedError):
            self.reserve(config)
        self.store.flush()
        assert 1000 == self.total(TODAY).prompt_tokens + self.total(TODAY).completion_tokens

    def test_nothing_sent_nothing_counted(self) -> None:
        self.store.release(self.reserve(), NOON)
        self.store.flush()
        assert (0, 0, 0) == (self.total().calls, self.total().open_calls, self.total().held_tokens)
        assert "released" == ModelCall.objects.get().state
        self.assert_consistent()

    def test_r26_a_call_that_was_cut_off_counts_as_held(self) -> None:
        """The service may still bill for it."""
        wanted = need(price=self.price(2))
        self.store.cut_off(self.reserve(wanted=wanted), NOON)
        self.store.flush()
        total = self.total()
        assert (60, 40, 200_000, 0) == (
            total.prompt_tokens, total.completion_tokens, total.cost_nano, total.held_cost_nano
        )  # fmt: skip
        self.assert_consistent()

    def test_a_call_is_closed_once(self) -> None:
        reservation = self.reserve()
        self.store.settle(reservation, TokenUsage(1, 2), NOON)
        self.store.settle(reservation, TokenUsage(1, 2), NOON)
        self.store.cut_off(reservation, NOON)
        self.store.release(reservation, NOON)
        self.store.flush()
        self.store.settle(reservation, TokenUsage(1, 2), NOON)
        self.store.flush()
        assert 3 == self.total().prompt_tokens + self.total().completion_tokens
        self.assert_consistent()

    def test_another_model_may_have_answered(self) -> None:
        reservation = self.reserve(wanted=need(price=self.price(100)))
        self.store.settle(
            reservation, TokenUsage(1, 1), NOON, model="local/small", price=self.price(1)
        )
        self.store.flush()
        call = ModelCall.objects.get()
        assert ("local/small", 2_000) == (call.model, self.total().cost_nano)

    def test_an_unknown_price_is_on_record(self) -> None:
        self.store.settle(self.reserve(wanted=need(price=None)), TokenUsage(1, 1), NOON)
        self.store.cut_off(self.reserve(wanted=need(price=None)), NOON)
        self.store.flush()
        assert [False, False] == [call.is_priced for call in ModelCall.objects.all()]

    def test_b2_a_report_that_cannot_be_counts_as_the_estimate(self) -> None:
        """Usage that is absent, negative or NaN counts as the amount held."""
        nan = math.nan
        for prompt, completion in ((nan, nan), (-5, -5), (0, 0), (None, "7")):
            with self.subTest(prompt=prompt, completion=completion):
                before = self.total()
                report = SimpleNamespace(prompt_tokens=prompt, completion_tokens=completion)
                self.store.settle(self.reserve(), report, NOON)
                self.store.flush()
                assert 60 == self.total().prompt_tokens - before.prompt_tokens
                assert 40 == self.total().completion_tokens - before.completion_tokens
        self.assert_consistent()

    def test_long_names_fit(self) -> None:
        self.use(1, 2, assistant="A" * 400, person="relay of " + "x" * 400)
        self.store.settle(self.reserve(wanted=need(model="m" * 400)), TokenUsage(1, 1), NOON)
        self.store.flush()
        self.assert_consistent()


class TestCaps(LedgerTest):
    def test_l15_every_cap_of_every_scope_refuses(self) -> None:
        for scope in set(Scope) - {Scope.ALL_GAMES}:  # that one is tested in tests/ledger
            for cap, value, passing in (
                ("tokens_total", 250, 2),
                ("tokens_per_day", 250, 2),
                ("tokens_per_month", 300, 3),
                ("cost_per_day", 0.00025, 2),
                ("cost_per_month", 0.0003, 3),
                ("calls_per_minute", 3, 2),  # the third is kept for a wrap-up call
            ):
                with self.subTest(scope=scope, cap=cap):
                    config = capped(scope, **{cap: value})
                    who = {"assistant": f"{scope} {cap}", "person": f"*{scope} {cap}"}
                    wanted = need(price=self.price(1))
                    BudgetTotal.objects.filter(scope__in=("game", "bench")).delete()
                    with bench() if scope is Scope.BENCH else nullcontext():
                        for _ in range(passing):
                            self.reserve(config, wanted=wanted, **who)
                        with pytest.raises(LimitReachedError) as caught:
                            self.reserve(config, wanted=wanted, **who)
                    assert f"cost.{cap}" == caught.value.kind
                    assert scope == caught.value.scope.split(" ")[0]
                    assert value == caught.value.cap

    def test_the_bench_pays_for_all_that_is_begun_there(self) -> None:
        """The bench also pays for a call that a crash left open."""
        with bench():
            self.reserve(assistant="Ada", person="*#3")
        (call,) = ModelCall.objects.all()
        assert ("", "", "bench") == (call.assistant, call.person, call.purpose)
        scopes = set(BudgetTotal.objects.values_list("scope", flat=True))
        assert {"game", "bench"} == scopes
        assert upkeep.close_orphan(call)
        assert {0} == set(BudgetTotal.objects.values_list("held_tokens", flat=True))
        assert {0} == set(BudgetTotal.objects.values_list("open_calls", flat=True))

    def test_l15_a_refused_call_leaves_nothing(self) -> None:
        config = capped(tokens_per_day=150)
        self.reserve(config)
        before = list(BudgetTotal.objects.values())
        with pytest.raises(LimitReachedError):
            self.reserve(config)
        assert before == list(BudgetTotal.objects.values())
        assert 1 == ModelCall.objects.count()

    def test_what_ended_is_seen_also_by_a_call_that_is_refused(self) -> None:
        """Room that a closed call gave back is available at once."""
        config = capped(tokens_per_day=150)
        self.store.settle(self.reserve(config), TokenUsage(10, 10), NOON)
        self.reserve(config)
        with pytest.raises(LimitReachedError) as caught:
            self.reserve(config)
        assert 120 == caught.value.used

    def test_l15_two_processes_cannot_both_have_the_last_room(self) -> None:
        """Another process's reservation counts while its call is still open."""
        config, other = capped(tokens_per_day=250), LedgerStore()
        self.reserve(config)
        self.reserve(config, store=other)
        for store in (self.store, other):
            with pytest.raises(LimitReachedError):
                self.reserve(config, store=store)

    def test_f3_a_last_call_fits_into_what_is_kept_for_it(self) -> None:
        """Ordinary calls must leave room for one wrap-up call."""
        config = capped("assistant", tokens_per_day=300)
        wanted = need(last=TokenUsage(60, 40))
        for _ in range(2):
            self.reserve(config, wanted=wanted)
        with pytest.raises(LimitReachedError):
            self.reserve(config, wanted=wanted)
        self.store.settle(
            self.reserve(config, wanted=wanted, purpose="wrap_up"), TokenUsage(50, 30), NOON
        )
        self.store.flush()
        ada = BudgetAccount(Scope.ASSISTANT, "ada", "2026-11-21")
        assert (50, 30, 200) == (
            self.total(ada).prompt_tokens,
            self.total(ada).completion_tokens,
            self.total(ada).held_tokens,
        )
        with pytest.raises(LimitReachedError):
            self.reserve(config, wanted=wanted, purpose="wrap_up")
        self.assert_consistent()

    def test_a_yes_lets_exactly_this_call_through(self) -> None:
        """The amount to grant is at least the missing one and a tenth of the cap."""
        config = capped(tokens_per_day=1000)
        self.use(900, 90, config)
        wanted = need(200, 100, last=TokenUsage(100, 50))
        with pytest.raises(LimitReachedError) as caught:
            self.reserve(config, wanted=wanted)
        assert 990 + 300 + 150 - 1000 == caught.value.amount
        grant(caught.value, caught.value.amount, by="Tom")
        self.reserve(config, wanted=wanted)

    def test_calls_in_flight(self) -> None:
        """A wrap-up call is always allowed, and 0 means no limit."""
        config = BudgetConfig(game=Caps(), assistant=Caps(), player=Caps(), calls_in_flight=2)
        first = self.reserve(config)
        self.reserve(config)
        with pytest.raises(NoFreeSlotError, match="Ada has 2 model calls under way"):
            self.reserve(config)
        self.reserve(config, purpose="wrap_up")
        self.reserve(config, assistant="Edda")
        self.store.release(first, NOON)
        with pytest.raises(NoFreeSlotError):
            self.reserve(config)
        self.reserve(OPEN)

    def test_l15_r26_an_unknown_price_does_not_pass_a_cap_on_money(self) -> None:
        config = capped(cost_per_day=5)
        with pytest.raises(ConfigurationError) as caught:
            self.reserve(config, wanted=need(price=None))
        text = str(caught.value)
        for part in (
            "'openai/mini'",
            "EVENNIA_AI_BUDGET_CONFIG.game.cost_per_day",
            "EVENNIA_AI_PRICES = {'openai/mini': {'input': 0.15, 'output': 0.6}}",
        ):
            assert part in text
        assert not ModelCall.objects.exists()
        self.reserve(OPEN, wanted=need(price=None))


class TestCost(LedgerTest):
    def test_two_statements_for_a_call(self) -> None:
        """One reserves a call, one settles the call before it; the rest is the commit."""
        for _ in range(2):
            self.store.settle(self.reserve(), TokenUsage(1, 1), NOON)
        with CaptureQueriesContext(connection) as taken:
            self.store.settle(self.reserve(), TokenUsage(1, 1), NOON)
        queries = [query["sql"] for query in taken]
        statements = [sql for sql in queries if "SAVEPOINT" not in sql]
        reads = int(connection.vendor != "sqlite")  # SQLite returns the updated rows
        assert 2 + reads == len(statements), "\n".join(queries)

    def test_nothing_to_write_costs_nothing(self) -> None:
        reservation = self.reserve()
        with self.assertNumQueries(0):
            self.store.settle(reservation, TokenUsage(1, 1), NOON)
        self.store.flush()
        with self.assertNumQueries(0):
            self.store.flush()


class TestRiding(LedgerTest):
    """Closed calls, written in the transaction of something else."""

    def test_what_ended_is_written_with_it(self) -> None:
        self.store.settle(self.reserve(), TokenUsage(7, 1), NOON)
        with self.store.joining_transaction() as write, transaction.atomic():
            assert write is not None
            with CaptureQueriesContext(connection) as taken:
                write()
        assert 2 == len(taken)
        assert (8, 0) == (self.total().used(Measure.TOKENS), self.total().open_calls)
        with self.assertNumQueries(0):
            self.store.flush()
        self.assert_consistent()

    def ride_in_vain(self) -> None:
        """A transaction that fails after closed calls were written in it."""
        with self.store.joining_transaction() as write, transaction.atomic():
            assert write is not None
            write()
            raise ZeroDivisionError

    def test_what_is_undone_is_written_later(self) -> None:
        self.store.settle(self.reserve(), TokenUsage(7, 1), NOON)
        with pytest.raises(ZeroDivisionError):
            self.ride_in_vain()
        assert 100 == self.total().used(Measure.TOKENS)
        self.store.flush()
        assert 8 == self.total().used(Measure.TOKENS)
        self.assert_consistent()

    def test_a_game_at_work_leaves_it_to_the_next_call(self) -> None:
        """The next reservation writes closed calls at no extra cost."""
        with self.store.joining_transaction() as write:
            assert write is None
        self.store.settle(self.reserve(), TokenUsage(7, 1), NOON)
        self.reserve(person="*#4")
        with self.store.joining_transaction() as write:
            assert write is None
        assert 108 == self.total().used(Measure.TOKENS)

    def test_rows_that_are_gone_are_made_again(self) -> None:
        """The transaction has to start again, as after a write of another process."""
        self.store.settle(self.reserve(), TokenUsage(7, 1), NOON)
        BudgetTotal.objects.all().delete()
        with self.store.joining_transaction() as write:
            assert write is not None
            with pytest.raises(audit.RecordConflictError), transaction.atomic():
                write()
            with transaction.atomic():
                write()
        assert 8 == self.total().used(Measure.TOKENS)


class TestOtherDatabases(LedgerTest):
    """A database whose UPDATE returns no rows, and that locks row by row."""

    def test_it_adds_up_the_same(self) -> None:
        with mock.patch.object(connection.features, "can_return_columns_from_insert", False):
            self.use(60, 40)
            with pytest.raises(LimitReachedError):
                self.reserve(capped(tokens_per_day=150))
            BudgetTotal.objects.all().delete()
            self.use(6, 4)
        assert 10 == self.total().used(Measure.TOKENS)
