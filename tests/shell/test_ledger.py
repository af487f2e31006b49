"""The ledger: reserved before a call, closed after it, and never over a cap."""

from __future__ import annotations

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
from tests.shell.ledger_case import NOON, OPEN, LedgerTest, capped, need

TODAY = BudgetAccount(Scope.GAME, "", "2026-11-21")


class TestCounting(LedgerTest):
    """What one call leaves behind."""

    def test_l15_held_before_and_counted_after(self) -> None:
        """From the reservation on the estimate is held; then what was used counts, no more."""
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
        """The game, the assistant and the player, each for ever, this month, day and minute."""
        self.use(5, 6)
        accounts = accounts_of("Ada", "*#3", NOON)
        assert 12 == BudgetTotal.objects.count()
        assert {11} == {
            total.prompt_tokens + total.completion_tokens for total in map(self.total, accounts)
        }

    def test_a_call_for_nobody_counts_to_no_player(self) -> None:
        """What an assistant does by itself."""
        self.use(5, 6, person="")
        assert not BudgetTotal.objects.filter(scope="player").exists()

    def test_more_than_was_held_counts_in_full(self) -> None:
        """Also beyond a cap: the next call is refused then."""
        config = capped(tokens_per_day=200)
        self.store.settle(self.reserve(config), TokenUsage(900, 100), NOON)
        with pytest.raises(LimitReachedError):
            self.reserve(config)
        self.store.flush()
        assert 1000 == self.total(TODAY).prompt_tokens + self.total(TODAY).completion_tokens

    def test_nothing_sent_nothing_counted(self) -> None:
        """A released call is as if it had never been, but for its row."""
        self.store.release(self.reserve(), NOON)
        self.store.flush()
        assert (0, 0, 0) == (self.total().calls, self.total().open_calls, self.total().held_tokens)
        assert "released" == ModelCall.objects.get().state
        self.assert_consistent()

    def test_r26_a_call_that_was_cut_off_counts_as_held(self) -> None:
        """Nobody knows what the service bills for it."""
        wanted = need(price=self.price(2))
        self.store.cut_off(self.reserve(wanted=wanted), NOON)
        self.store.flush()
        total = self.total()
        assert (60, 40, 200_000, 0) == (
            total.prompt_tokens, total.completion_tokens, total.cost_nano, total.held_cost_nano
        )  # fmt: skip
        self.assert_consistent()

    def test_a_call_is_closed_once(self) -> None:
        """Whoever closes it again changes nothing."""
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
        """Then its price counts, and its name is on record."""
        reservation = self.reserve(wanted=need(price=self.price(100)))
        self.store.settle(
            reservation, TokenUsage(1, 1), NOON, model="local/small", price=self.price(1)
        )
        self.store.flush()
        call = ModelCall.objects.get()
        assert ("local/small", 2_000) == (call.model, self.total().cost_nano)

    def test_an_unknown_price_is_on_record(self) -> None:
        """The tokens count, and that the money is not known can be seen."""
        self.store.settle(self.reserve(wanted=need(price=None)), TokenUsage(1, 1), NOON)
        self.store.cut_off(self.reserve(wanted=need(price=None)), NOON)
        self.store.flush()
        assert [False, False] == [call.is_priced for call in ModelCall.objects.all()]

    def test_b2_a_report_that_cannot_be_counts_as_the_estimate(self) -> None:
        """NaN, negative, absent: as much as was held."""
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
        """Whatever an assistant, a relay or a model is called."""
        self.use(1, 2, assistant="A" * 400, person="relay of " + "x" * 400)
        self.store.settle(self.reserve(wanted=need(model="m" * 400)), TokenUsage(1, 1), NOON)
        self.store.flush()
        self.assert_consistent()


class TestCaps(LedgerTest):
    """When a call is refused."""

    def test_l15_every_cap_of_every_scope_refuses(self) -> None:
        """Exactly so many calls pass as there is room for; the error says whose and which."""
        for scope in set(Scope) - {Scope.ALL_GAMES}:  # see tests/ledger
            for cap, value, passing in (
                ("tokens_total", 250, 2),
                ("tokens_per_day", 250, 2),
                ("tokens_per_month", 300, 3),
                ("cost_per_day", 0.00025, 2),
                ("cost_per_month", 0.0003, 3),
                ("calls_per_minute", 3, 2),  # the third is kept for a last word
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
        """Neither the assistant nor the player does, and so it stays after a crash."""
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
        """Nothing is held for it, and nothing is on record."""
        config = capped(tokens_per_day=150)
        self.reserve(config)
        before = list(BudgetTotal.objects.values())
        with pytest.raises(LimitReachedError):
            self.reserve(config)
        assert before == list(BudgetTotal.objects.values())
        assert 1 == ModelCall.objects.count()

    def test_what_ended_is_seen_also_by_a_call_that_is_refused(self) -> None:
        """Room that a call gave back is there for the next one at once."""
        config = capped(tokens_per_day=150)
        self.store.settle(self.reserve(config), TokenUsage(10, 10), NOON)
        self.reserve(config)
        with pytest.raises(LimitReachedError) as caught:
            self.reserve(config)
        assert 120 == caught.value.used

    def test_l15_two_processes_cannot_both_have_the_last_room(self) -> None:
        """What another has reserved counts, before anybody knows how it ends."""
        config, other = capped(tokens_per_day=250), LedgerStore()
        self.reserve(config)
        self.reserve(config, store=other)
        for store in (self.store, other):
            with pytest.raises(LimitReachedError):
                self.reserve(config, store=store)

    def test_f3_a_last_call_fits_into_what_is_kept_for_it(self) -> None:
        """Ordinary calls leave its room free; it is counted, and no further one fits."""
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
        """The amount of the error is at least what is missing, and a tenth of the cap."""
        config = capped(tokens_per_day=1000)
        self.use(900, 90, config)
        wanted = need(200, 100, last=TokenUsage(100, 50))
        with pytest.raises(LimitReachedError) as caught:
            self.reserve(config, wanted=wanted)
        assert 990 + 300 + 150 - 1000 == caught.value.amount
        grant(caught.value, caught.value.amount, by="Tom")
        self.reserve(config, wanted=wanted)

    def test_calls_in_flight(self) -> None:
        """So many of one assistant at a time; a last word always; 0 is no limit."""
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
        """It is refused with words: the model, the cap, and what to write where."""
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
    """What the ledger itself costs."""

    def test_two_statements_for_a_call(self) -> None:
        """Reserving one and settling the one before, within a minute; the rest is the commit."""
        for _ in range(2):
            self.store.settle(self.reserve(), TokenUsage(1, 1), NOON)
        with CaptureQueriesContext(connection) as taken:
            self.store.settle(self.reserve(), TokenUsage(1, 1), NOON)
        made = [query["sql"] for query in taken]
        statements = [sql for sql in made if "SAVEPOINT" not in sql]
        reads = int(connection.vendor != "sqlite")  # which gives back what it added to
        assert 2 + reads == len(statements), "\n".join(made)

    def test_nothing_to_write_costs_nothing(self) -> None:
        """A flush without calls, and closing one."""
        reservation = self.reserve()
        with self.assertNumQueries(0):
            self.store.settle(reservation, TokenUsage(1, 1), NOON)
        self.store.flush()
        with self.assertNumQueries(0):
            self.store.flush()


class TestRiding(LedgerTest):
    """How calls ended, written in the transaction of something else."""

    def test_what_ended_is_written_with_it(self) -> None:
        """By two statements, and nothing is left for the timer."""
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
        """A transaction that fails after how calls ended was written."""
        with self.store.joining_transaction() as write, transaction.atomic():
            assert write is not None
            write()
            raise ZeroDivisionError

    def test_what_is_undone_is_written_later(self) -> None:
        """As often as it is tried: it counts once."""
        self.store.settle(self.reserve(), TokenUsage(7, 1), NOON)
        with pytest.raises(ZeroDivisionError):
            self.ride_in_vain()
        assert 100 == self.total().used(Measure.TOKENS)
        self.store.flush()
        assert 8 == self.total().used(Measure.TOKENS)
        self.assert_consistent()

    def test_a_game_at_work_leaves_it_to_the_next_call(self) -> None:
        """Which writes it for nothing; and where nothing ended there is nothing to write."""
        with self.store.joining_transaction() as write:
            assert write is None
        self.store.settle(self.reserve(), TokenUsage(7, 1), NOON)
        self.reserve(person="*#4")
        with self.store.joining_transaction() as write:
            assert write is None
        assert 108 == self.total().used(Measure.TOKENS)

    def test_rows_that_are_gone_are_made_again(self) -> None:
        """The transaction has to be begun anew, as where another process wrote the record."""
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
    """Where an UPDATE gives nothing back, and rows are locked one by one."""

    def test_it_adds_up_the_same(self) -> None:
        """Added row by row, and read after it; caps count, and rows that are gone come again."""
        with mock.patch.object(connection.features, "can_return_columns_from_insert", False):
            self.use(60, 40)
            with pytest.raises(LimitReachedError):
                self.reserve(capped(tokens_per_day=150))
            BudgetTotal.objects.all().delete()
            self.use(6, 4)
        assert 10 == self.total().used(Measure.TOKENS)
