"""`assistant budget`: usage by period and player, and allowing more."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest
from django.core import checks
from django.db import connection
from django.test.utils import override_settings

from evennia_ai.apps import check_tables
from evennia_ai.budget import ledger
from evennia_ai.commands.upkeep import usage_lines
from evennia_ai.core.safety.prices import Price
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import LedgerAwayError, LimitReachedError
from evennia_ai.messages.incoming import person_of
from evennia_ai.operations.budget import usage
from evennia_ai.operations.budget.caps import budget_of, today_of
from evennia_ai.operations.budget.raising import raise_budget
from evennia_ai.operations.result import ProblemKind
from tests.game.budget.ledger_case import OPEN, need
from tests.game.support import GameTest, one_by_one
from tests.recorded import record_of

HALF_PAST_TWO = datetime(2026, 11, 21, 14, 48, tzinfo=UTC).timestamp()
FREE = need().price
TEN_DOLLARS = Price(Decimal(10), Decimal(10))  # for a million tokens
CAPS = {
    "assistant": {"tokens_per_day": 200_000, "cost_per_month": 20},
    "game": {"tokens_per_day": 2_000_000},
}


class BudgetTest(GameTest):
    def setUp(self) -> None:
        """Set the clock to an afternoon in November."""
        super().setUp()
        ledger.start_anew()
        self.addCleanup(ledger.start_anew)
        self.clock.advance(HALF_PAST_TWO)
        self.recorded = record_of(self)

    def use(
        self, tokens: int, person: Any = None, price: Price | None = FREE, name: str = "Ada"
    ) -> None:
        billing = ledger.BillingContext(name, person_of(person) if person else "")
        reservation = ledger.store().reserve(
            billing, need(tokens, 1, price=price), OPEN, HALF_PAST_TWO
        )
        ledger.store().settle(reservation, TokenUsage(tokens, 0), HALF_PAST_TWO)


@override_settings(EVENNIA_AI_BUDGET_CONFIG=CAPS)
class TestShown(BudgetTest):
    def test_l15_what_was_used_and_by_whom(self) -> None:
        self.use(30_500, self.tom, TEN_DOLLARS)
        self.use(15_000, self.mira, TEN_DOLLARS)
        self.use(4_500, None, TEN_DOLLARS)
        self.use(50_000, self.mira, name="Edda")
        shown = budget_of(self.ada_script).message.splitlines()
        assert [
            "Ada                     used             cap   resets",
            "  today           50,000 tok         200,000   in 09:12",
            "  month                $0.50          $20.00   on 1 Dec",
            "  minute             3 calls              60   in 00:01",
            "  by player    Tom 61 %   Mira 30 %   no player (checks, own work) 9 %   (this month)",
            "  each player  500,000 tokens a day",
            "The whole game",
            "  today          100,000 tok       2,000,000   in 09:12",
            "  month                $0.50          no cap   on 1 Dec",
            "  minute             4 calls             600   in 00:01",
        ] == [line.replace("TestAccount2", "Mira").replace("TestAccount", "Tom") for line in shown]

    def test_one_call_is_one_call(self) -> None:
        self.use(10, self.tom)
        assert "  minute              1 call " in budget_of(self.ada_script).message

    def test_before_the_first_call(self) -> None:
        result = budget_of(self.ada_script)
        assert "  by player    nobody yet   (this month)" in result.message.splitlines()
        assert [0.0] * 6 == [row["used"] for row in result.data.standings]

    def test_for_programs(self) -> None:
        self.use(1000, self.tom)
        data = budget_of(self.ada_script).data
        today = next(row for row in data.standings if row["name"] == "tokens_per_day")
        assert {
            "name": "tokens_per_day",
            "used": 1000,
            "cap": 200_000,
            "granted": 0,
            "resets_in_seconds": 33_120.0,
            "resets_at": today["resets_at"],
        } == today
        assert {person_of(self.tom): 1.0} == data.players

    def test_status_counts_what_was_granted(self) -> None:
        self.use(1000, self.tom)
        ledger.store().flush()
        raise_budget(self.ada_script, "tokens_per_day", "50,000", "Bea")
        assert "1,000 of 250,000" == today_of(self.ada_script)

    def test_a_price_that_nobody_knows_is_told(self) -> None:
        """A cost from an unknown price is shown as unknown."""
        self.use(1000, self.tom, None)
        shown = budget_of(self.ada_script).message.splitlines()
        assert "  month              unknown          $20.00   on 1 Dec" in shown
        last = shown[-1]
        assert "Of 1 call this month the price is not known: EVENNIA_AI_PRICES" == last

    def test_what_is_known_of_the_price_is_shown(self) -> None:
        self.use(1000, self.tom, None)
        assert "unknown in all" in usage.usage(self.ada_script).message
        assert any("1 call, 1,000 tokens, unknown" in line for line in self.usage())
        self.use(50_000, self.tom, TEN_DOLLARS)
        assert any("51,000 tokens, $0.50 + unknown" in line for line in self.usage())
        assert "$0.50 + unknown" in budget_of(self.ada_script).message

    def test_a_ledger_that_goes_away_meanwhile_is_no_internal_error(self) -> None:
        with mock.patch.object(usage, "read_total", side_effect=LedgerAwayError("it is away")):
            result = usage.usage(self.ada_script)
        assert (ProblemKind.UNAVAILABLE, {}) == (result.problem, result.data.totals)
        assert "That is unknown: it is away." == result.message

    def usage(self) -> list[str]:
        return usage_lines(usage.usage(self.ada_script))

    def test_shares_of_players_are_those_of_the_month(self) -> None:
        """They stand below `ever`."""
        assert any(re.fullmatch(r"  by .*\(this month\)", line) for line in self.usage())

    def test_a_player_who_is_gone_keeps_their_number(self) -> None:
        reservation = ledger.store().reserve(
            ledger.BillingContext("Ada", "*#9999"), need(), OPEN, HALF_PAST_TWO
        )
        ledger.store().settle(reservation, TokenUsage(1, 1), HALF_PAST_TWO)
        assert "*#9999 100 %" in budget_of(self.ada_script).message

    def test_of_many_players_ten_are_named(self) -> None:
        """Those who use most; a list of hundreds would hide the caps below it."""
        for number in range(12):
            reservation = ledger.store().reserve(
                ledger.BillingContext("Ada", f"*#99{number:02}"), need(), OPEN, HALF_PAST_TWO
            )
            ledger.store().settle(reservation, TokenUsage(100 + number, 1), HALF_PAST_TWO)
        lines = [*budget_of(self.ada_script).message.splitlines(), *self.usage()]
        by_player = [line for line in lines if "*#99" in line]
        assert [(True, False, True)] * 2 == [
            ("*#9911" in line, "*#9900" in line, " and 2 more" in line) for line in by_player
        ]

    def test_wrong_caps_are_said(self) -> None:
        self.ada_script.db.budget_config = {"assistant": {"tokens_per_day": "many"}}
        result = budget_of(self.ada_script)
        assert (False, True) == (
            result.ok,
            "budget_config.assistant.tokens_per_day is 'many'" in result.message,
        )


@override_settings(EVENNIA_AI_BUDGET_CONFIG=CAPS)
class TestRaised(BudgetTest):
    def test_it_is_raised_and_recorded(self) -> None:
        result = raise_budget(self.ada_script, "tokens_per_day", "50,000", "Tom")
        assert "Ada: tokens_per_day is raised by 50,000, until the day ends." == result.message
        facts = {"cap": "tokens_per_day", "amount": 50_000.0, "by": "Tom"}
        assert [("budget_raised", "ada", {**facts, "account": "assistant ada 2026-11-21"})] == (
            self.recorded
        )
        assert "250,000   in 09:12 (50,000 of it granted)" in budget_of(self.ada_script).message

    def test_money_is_raised_in_dollars(self) -> None:
        result = raise_budget(self.ada_script, "cost_per_month", "$2.50", "Tom")
        assert "Ada: cost_per_month is raised by $2.50, until the month ends." == result.message
        assert "$22.50" in budget_of(self.ada_script).message

    def test_what_cannot_be_raised(self) -> None:
        for text, name, amount in (
            ("There is no cap 'tokens'; there are tokens_total, ", "tokens", "5"),
            ("Ada has no cap tokens_total: there is nothing to raise.", "tokens_total", "5"),
            ("'many' is not an amount; it must be a number above 0", "tokens_per_day", "many"),
            ("'-5' is not an amount", "tokens_per_day", "-5"),
            ("'nan' is not an amount", "tokens_per_day", "nan"),
            ("That was not done: 1e+30 is not an amount", "tokens_per_day", "1e30"),
            ("That was not done: 1e+308 is not an amount", "cost_per_month", "1e308"),
            ("'0,50' is not an amount", "cost_per_month", "0,50"),
            ("'$1,500' is not an amount", "cost_per_month", "$1,500"),
            ("'2,5' is not an amount", "tokens_per_day", "2,5"),
        ):
            with self.subTest(name=name, amount=amount):
                result = raise_budget(self.ada_script, name, amount, "Tom")
                assert not result.ok
                assert result.message.startswith(text)
        assert [] == self.recorded


@override_settings(EVENNIA_AI_BUDGET_CONFIG=CAPS)
class TestCommand(BudgetTest):
    def test_staff_look(self) -> None:
        assert self.assistant("budget Ada").startswith("Ada  ")
        assert self.assistant("budget").startswith("Ada  ")
        assert self.assistant("budget game").startswith("The whole game  ")
        assert "There is no assistant named Bob." in self.assistant("budget Bob")

    def test_players_do_not_look(self) -> None:
        assert "'assistant budget' is for staff." in self.assistant("budget Ada", self.mira)

    def test_who_controls_her_raises_her_caps(self) -> None:
        line = "budget Ada raise tokens_per_day 1000"
        assert "raised by 1,000" in self.assistant(line)
        self.ada.locks.add("ai_control:false()")
        self.tom.account.is_superuser = False
        assert "You may not control Ada" in self.assistant(line)
        assert ["budget_raised", "control_refused"] == [event for event, _, _ in self.recorded]

    def test_the_games_caps_need_an_admin(self) -> None:
        line = "budget game raise tokens_per_day 1000"
        assert "The whole game: tokens_per_day is raised by 1,000" in self.assistant(line)
        self.tom.permissions.clear()
        self.tom.account.permissions.clear()
        self.tom.permissions.add("Builder")
        self.tom.account.permissions.add("Builder")
        self.tom.account.is_superuser = False
        wanted = "You may not do that: raise budget of the game needs perm(Admin)."
        assert wanted in self.assistant(line)
        assert ["budget_raised", "control_refused"] == [event for event, _, _ in self.recorded]

    def test_half_a_line_is_answered_with_a_whole_one(self) -> None:
        for line in (
            "budget Ada raise",
            "budget Ada raise tokens_per_day",
            "budget Ada raise 5 6 7",
        ):
            with self.subTest(line=line):
                assert self.assistant(line).startswith("Usage: assistant budget [<name>], ")


class TestCheck(BudgetTest):
    def test_missing_tables_are_an_error(self) -> None:
        """While `migrate` itself runs, nothing is reported missing."""
        assert [] == check_tables(None)
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE evennia_ai_budgettotal RENAME TO elsewhere")
        (error,) = check_tables(None)
        assert isinstance(error, checks.Error)
        assert "the game's database has no tables evennia_ai_budgettotal" == error.msg
        assert "evennia migrate" in str(error.hint)
        assert [] == check_tables(None, databases=["default"])
        with one_by_one():
            assert not budget_of(self.ada_script).ok


@override_settings(EVENNIA_AI_BUDGET_CONFIG={"player": {"tokens_per_day": 2000}})
class TestOnePlayer(BudgetTest):
    """The budget of one player, with all assistants together."""

    def shown(self, line: str, person: Any = None) -> str:
        return self.assistant(line, person).replace("TestAccount2", "Mira")

    def test_it_is_shown(self) -> None:
        self.use(600, self.mira, None)
        self.use(200, self.mira, TEN_DOLLARS, name="Edda")
        self.use(150, self.tom, TEN_DOLLARS)
        for name in ("TestAccount2", str(self.mira.key), person_of(self.mira)):
            shown = self.shown(f"budget player {name}").splitlines()
            assert "Mira  " == shown[0][:6]
            assert "  today                  800 tok       2,000   in 09:12" == shown[1]
            assert "  month        $0.0020 + unknown      no cap   on 1 Dec" == shown[2]
            assert "  by assistant Ada 75 %   edda 25 %" == shown[-2]
            assert "Of 1 call this month the price is not known: EVENNIA_AI_PRICES" == shown[-1]

    def test_a_cap_that_one_assistant_lowers_is_shown_and_can_be_raised(self) -> None:
        self.ada_script.db.budget_config = {"player": {"cost_per_day": 0.5}}
        shown = self.shown("budget player TestAccount2")
        assert "With Ada" in shown
        assert "$0.50" in shown
        line = "budget player TestAccount2 raise cost_per_day 0.25"
        assert "Mira: cost_per_day is raised by $0.25, until the day ends." in self.shown(line)
        assert "$0.75" in self.shown("budget player TestAccount2")
        line = "budget player TestAccount2 raise cost_per_month 1"
        assert "Mira has no cap cost_per_month: there is nothing to raise." in self.shown(line)

    def test_a_raise_lets_that_player_go_on_and_nobody_else(self) -> None:
        self.use(1990, self.mira)
        ledger.store().flush()
        config = ledger.config_for({})
        for mira_may in (False, True):
            for person, may in ((self.mira, mira_may), (self.tom, True)):
                billing = ledger.BillingContext("Ada", person_of(person))
                if may:
                    held = ledger.store().reserve(billing, need(100, 1), config, HALF_PAST_TWO)
                    ledger.store().release(held, HALF_PAST_TWO)
                else:
                    with pytest.raises(LimitReachedError):
                        ledger.store().reserve(billing, need(100, 1), config, HALF_PAST_TWO)
            self.shown("budget player TestAccount2 raise tokens_per_day 1000")

    def test_it_is_recorded_in_the_log_of_the_game(self) -> None:
        """With the player's id for a subject, which has no log, it was stored nowhere."""
        self.shown("budget player TestAccount2 raise tokens_per_day 1000")
        account = f"player {person_of(self.mira)} 2026-11-21"
        ((event, subject, facts),) = self.recorded
        assert ("budget_raised", "game", account) == (event, subject, facts["account"])

    def test_only_owners_raise_it(self) -> None:
        line = "budget player TestAccount2 raise tokens_per_day 1000"
        assert "Only" not in self.shown(line, self.tom)
        assert "'assistant budget' is for staff." in self.shown(line, self.mira)
        for each in (self.tom, self.tom.account):
            each.permissions.clear()
            each.permissions.add("Builder")
        self.tom.account.is_superuser = False
        assert "raise budget of a player needs perm(Admin)." in self.shown(line)

    def test_who_is_nobody_is_told(self) -> None:
        for line in ("budget player Nobody", "budget player *#999 raise tokens_per_day 5"):
            assert "There is no player called" in self.shown(line)


@override_settings(EVENNIA_AI_BUDGET_CONFIG=CAPS)
class TestTakenBack(BudgetTest):
    def test_a_raise_is_taken_back(self) -> None:
        """Who added 100 dollars in place of one had to live with it until the day ended."""
        self.assistant("budget Ada raise tokens_per_day 50000")
        self.assistant("budget Ada raise tokens_per_day 500")
        told = self.assistant("budget Ada raise tokens_per_day 0")
        assert "Ada: tokens_per_day is as it was set; 50,500 that was added is gone." in told
        assert "granted" not in budget_of(self.ada_script).message
        event, subject, facts = self.recorded[-1]
        assert ("budget_taken_back", "ada", 50_500) == (event, subject, facts["amount"])
        told = self.assistant("budget Ada raise tokens_per_day 0")
        assert "Ada: nothing was added to tokens_per_day; it is as it was set." in told

    def test_undo_says_how(self) -> None:
        self.assistant("budget Ada raise cost_per_month 5")
        told = self.assistant("undo Ada")
        assert "To end that now: assistant budget Ada raise <cap> 0." in told, told
        self.assistant("budget Ada raise cost_per_month $0.00")
        assert "no cap" not in budget_of(self.ada_script).message.splitlines()[2]
        assert "granted" not in budget_of(self.ada_script).message
