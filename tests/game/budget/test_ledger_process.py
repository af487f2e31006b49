"""The ledger of one server process: its timer, its shutdown, and wrong settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from django.db import OperationalError, ProgrammingError, connection, transaction
from twisted.internet.task import Clock

from evennia_ai.approvals import checkpoints
from evennia_ai.budget import ledger
from evennia_ai.budget.ledger import LedgerStore, ledger_store, rows
from evennia_ai.core.safety.limits import Decision, DecisionReason
from evennia_ai.core.settings.budget import BudgetSpan, Measure, Scope
from evennia_ai.core.settings.model import MOST_KNOWN
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ConfigurationError, LimitReachedError
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.models import BudgetTotal
from tests import postgres
from tests.game.budget.ledger_case import NOON, OPEN, LedgerTest, capped, need


class TestProcess(LedgerTest):
    def test_endings_are_written_within_a_second(self) -> None:
        clock = Clock()
        self.store = LedgerStore(clock.callLater)
        for _ in range(3):
            self.store.settle(self.reserve(), TokenUsage(5, 5), NOON)
        self.store.release(self.reserve(), NOON)
        assert 1 == len(clock.getDelayedCalls())
        clock.advance(1.0)
        assert (15, 0) == (self.total().prompt_tokens, self.total().open_calls)
        assert [] == clock.getDelayedCalls()

    def test_endings_of_many_are_written_in_portions(self) -> None:
        """Other work has its turn between two portions."""
        clock, seen = Clock(), []
        self.store = LedgerStore(clock.callLater)
        calls = [self.reserve() for _ in range(5)]
        for call in calls:
            self.store.cut_off(call, NOON)

        def look() -> None:
            seen.append(self.total().open_calls)
            if seen[-1]:
                clock.callLater(0, look)

        with mock.patch.object(ledger_store, "PORTION", 2):
            clock.callLater(1.0, look)
            clock.advance(1.0)
        assert [3, 1, 0] == seen
        assert (300, []) == (self.total().prompt_tokens, clock.getDelayedCalls())

    def test_endings_are_written_at_shutdown(self) -> None:
        clock = Clock()
        self.store = LedgerStore(clock.callLater)
        self.store.cut_off(self.reserve(), NOON)
        self.store.stop()
        assert (60, []) == (self.total().prompt_tokens, clock.getDelayedCalls())

    def test_a_process_with_nothing_left_stops_too(self) -> None:
        with self.assertNumQueries(0):
            self.store.stop()

    def test_the_front_door(self) -> None:
        self.addCleanup(ledger.start_anew)
        ledger.start_anew()
        billing = ledger.BillingContext("Ada", "*#3", "turn")
        store = ledger.store()
        store.settle(store.reserve(billing, need(), OPEN, NOON), TokenUsage(5, 5), NOON)
        store.release(store.reserve(billing, need(), OPEN, NOON), NOON)
        store.cut_off(store.reserve(billing, need(), OPEN, NOON), NOON)
        report = ledger.report(Scope.ASSISTANT, "ADA", OPEN, NOON)
        used = {standing.name: standing.used for standing in report.standings}
        assert (110, 2) == (used["tokens_total"], used["calls_per_minute"])
        assert {"*#3": 1.0} == report.shares
        assert (0, {}) == (
            report.unpriced[BudgetSpan.EVER],
            ledger.report(Scope.ASSISTANT, "Edda", OPEN, NOON).shares,
        )

    def test_what_nobody_heard_is_given_back_as_it_was_held(self) -> None:
        """The connection is lost after the commit of a call that was made smaller to fit."""
        self.reserve()
        real = rows.together

        @contextmanager
        def dying() -> Iterator[None]:
            with real():
                yield
            raise OperationalError("server closed the connection unexpectedly")

        config, wanted = capped(tokens_per_day=1_000), need(6, 5_000, least=4)
        with mock.patch.object(ledger_store, "together", dying), pytest.raises(OperationalError):
            self.reserve(config, wanted=wanted)
        assert 1_000 == self.total().held_tokens
        self.store.release(self.reserve(), NOON)
        self.store.flush()
        assert 100 == self.total().held_tokens
        self.assert_consistent()

    def test_ends_of_calls_are_written_once_the_database_is_no_longer_locked(self) -> None:
        """Without another call, whose reservation would write them."""
        clock = Clock()
        store = LedgerStore(clock.callLater)
        store.settle(self.reserve(store=store), TokenUsage(30, 20), NOON)
        locked = OperationalError("database is locked")
        with mock.patch.object(store, "_write_once", side_effect=locked):
            clock.advance(ledger_store.FLUSH_SECONDS)
        assert 100 == self.total().held_tokens
        clock.advance(60)
        assert (50, 0) == (self.total().used(Measure.TOKENS), self.total().held_tokens)
        assert [] == clock.getDelayedCalls()

    def test_a_yes_outlasts_a_ledger_that_cannot_be_written(self) -> None:
        """The next turn that shares the answer raises the cap, once."""
        checkpoints._DECIDED.clear()
        self.addCleanup(checkpoints._DECIDED.clear)
        self.reserve()
        with pytest.raises(LimitReachedError) as caught:
            self.reserve(capped(tokens_per_day=100))
        hit = caught.value
        yes = Decision(allow_continue=True, extension=50, reason=DecisionReason.APPROVED)
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE evennia_ai_budgettotal RENAME TO elsewhere")
            with pytest.raises(ConfigurationError):
                checkpoints._raise_once(hit, yes)
            cursor.execute("ALTER TABLE elsewhere RENAME TO evennia_ai_budgettotal")
        for _ in range(2):
            checkpoints._raise_once(hit, yes)
        granted = BudgetTotal.objects.filter(granted_tokens__gt=0)
        assert [50] == list(granted.values_list("granted_tokens", flat=True))

    def test_settings_are_read_again_when_they_change(self) -> None:
        """A change of the mapping in place is noticed too."""
        prices = {"mini": {"input": 0.15, "output": 0.6}}
        with self.settings(EVENNIA_AI_PRICES=prices):
            assert ledger.prices() is ledger.prices()
            prices["maxi"] = {"input": 3, "output": 9}
            assert ["mini", "maxi"] == list(ledger.prices())
        own = {"assistant": {"tokens_per_day": 7}}
        assert ledger.config_for(own) is ledger.config_for({**own})
        for cap in range(MOST_KNOWN + 2):
            config = ledger.config_for({"assistant": {"tokens_per_day": cap}})
            assert cap == config.assistant.tokens_per_day
        with self.settings(EVENNIA_AI_BUDGET_CONFIG={"assistant": {"tokens_per_day": 3}}):
            assert 3 == ledger.config_for(own).assistant.tokens_per_day

    def test_capped_costs_need_a_price_before_anybody_calls(self) -> None:
        """`evennia check` reports it; a local model costs nothing."""
        config = {"game": {"cost_per_day": 5}}
        prices = {"mini": {"input": 0.15, "output": 0.6}}
        with self.settings(EVENNIA_AI_BUDGET_CONFIG=config, EVENNIA_AI_PRICES=prices):
            ledger.check_settings([Endpoint("openai", "mini"), Endpoint("local", "maxi")])
            with pytest.raises(
                ConfigurationError, match="no price is set for the model 'openai/maxi'"
            ):
                ledger.check_settings([Endpoint("openai", "mini"), Endpoint("openai", "maxi")])
        ledger.check_settings([Endpoint("openai", "maxi")])

    def test_missing_tables_let_no_call_through(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE evennia_ai_modelcall RENAME TO elsewhere")
        hint = "type: evennia migrate"
        with pytest.raises(ConfigurationError, match=hint), transaction.atomic():
            self.reserve()
        with pytest.raises(ConfigurationError, match=hint), transaction.atomic():
            ledger.report(Scope.ASSISTANT, "Ada", OPEN, NOON)

    @pytest.mark.skipif(postgres.is_default(), reason="a test's transaction is broken by it there")
    def test_without_tables_a_server_ends_all_the_same(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE evennia_ai_modelcall RENAME TO elsewhere")
        for _ in range(2):
            with pytest.raises(ConfigurationError):
                self.reserve()
        self.store.stop()

    def test_another_fault_of_the_database_stays_what_it_is(self) -> None:
        """A missing column must not be reported as a missing table."""
        kinds, words = (OperationalError, ProgrammingError), "no such column|does not exist"
        with pytest.raises(kinds, match=words), rows.translated_errors, transaction.atomic():
            BudgetTotal.objects.extra(where=["nowhere = 1"]).exists()
