"""The ledger over time: days that end, caps that are raised, processes that are killed."""

import math
import tempfile
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from evennia_ai.budget.ledger import LedgerStore, bench, grant, processes, rows, upkeep
from evennia_ai.budget.ledger.processes import is_gone, owner_of_this_process
from evennia_ai.core.safety.budget import DAY, BudgetAccount, CallState, accounts_of
from evennia_ai.core.settings.budget import BudgetConfig, Caps, Scope
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ConfigurationError, LimitReachedError
from evennia_ai.models import BudgetTotal, ModelCall
from tests.game.budget.ledger_case import NOON, LedgerTest, capped, need

TODAY = BudgetAccount(Scope.GAME, "", "2026-11-21")


class TestPeriods(LedgerTest):
    def fill(self, cap: str, value: float, at: float) -> LimitReachedError:
        config = capped(**{cap: value})
        for _ in range(20):
            try:
                self.reserve(config, at=at)
            except LimitReachedError as hit:
                return hit
        raise AssertionError(f"{cap} of {value} never refused")

    def test_l15_a_new_period_begins_at_nothing(self) -> None:
        for cap, value, seconds in (
            ("calls_per_minute", 3, 30),
            ("tokens_per_day", 250, DAY // 2),
            ("tokens_per_month", 250, 10 * DAY),
        ):
            with self.subTest(cap=cap):
                self.fill(cap, value, NOON)
                self.reserve(capped(**{cap: value}), at=NOON + seconds)
                BudgetTotal.objects.all().delete()
        self.fill("tokens_total", 250, NOON)
        with pytest.raises(LimitReachedError):
            self.reserve(capped(tokens_total=250), at=NOON + 400 * DAY)

    def test_a_call_over_midnight_counts_to_the_day_it_began(self) -> None:
        """Its reservation is released on that day, too, and the next day starts empty."""
        late = NOON + DAY // 2 - 31
        reservation = self.reserve(at=late)
        self.store.settle(reservation, TokenUsage(5, 5), late + 60)
        self.store.flush()
        total = self.total(TODAY)
        assert (5, 0, 0) == (total.prompt_tokens, total.held_tokens, total.open_calls)
        assert 0 == self.total(TODAY._replace(period="2026-11-22")).calls

    def test_a_grant_ends_with_its_period(self) -> None:
        config = capped(tokens_per_day=200)
        hit = self.fill("tokens_per_day", 200, NOON)
        grant(hit, 200, by="Tom")
        assert ("budget_raised", "game") == self.recorded[-1][:2]
        assert {
            "cap": "tokens_per_day",
            "account": "game 2026-11-21",
            "amount": 200,
            "by": "Tom",
        } == self.recorded[-1][2]
        self.reserve(config)
        self.reserve(config)
        with pytest.raises(LimitReachedError) as caught:
            self.reserve(config)
        assert (400, 400) == (caught.value.used, caught.value.cap)
        tomorrow = self.fill("tokens_per_day", 200, NOON + DAY)
        assert 200 == tomorrow.cap

    def test_a_grant_of_money_is_exact(self) -> None:
        wanted = need(price=self.price(10_000))
        config = capped("player", cost_per_month=1.5)
        self.reserve(config, wanted=wanted)
        with pytest.raises(LimitReachedError) as caught:
            self.reserve(config, wanted=wanted)
        grant(caught.value, 0.5, by="Tom")
        self.reserve(config, wanted=wanted)
        with pytest.raises(LimitReachedError) as caught:
            self.reserve(config, wanted=wanted)
        assert (2.0, 2.0) == (caught.value.used, caught.value.cap)

    def test_an_amount_that_makes_no_sense_is_refused(self) -> None:
        hit = self.fill("tokens_per_day", 200, NOON)
        for amount in (0, -5, math.nan, math.inf, 1e30):
            with self.subTest(amount=amount), pytest.raises(ConfigurationError, match="amount"):
                grant(hit, amount, by="Tom")


class TestWarnings(LedgerTest):
    def test_told_once_over_all_processes(self) -> None:
        config = BudgetConfig(
            game=Caps(), assistant=Caps(tokens_per_day=1000), player=Caps(), calls_in_flight=0
        )
        other = LedgerStore()
        lines = [
            (number, reservation.warnings)
            for number in range(1, 11)
            if (reservation := self.reserve(config, store=(self.store, other)[number % 2])).warnings
        ]
        text = (
            "assistant ada 2026-11-21: 800 of 1,000 tokens are used "
            "(budget_config.assistant.tokens_per_day)"
        )
        assert [(8, [text])] == lines
        assert ("budget_near", "Ada", {"text": text}) == self.recorded[-1]
        assert 1 == len(self.recorded)
        tomorrow = self.reserve(config, at=NOON + DAY, wanted=need(500, 400))
        assert 1 == len(tomorrow.warnings)

    def test_an_answer_that_may_be_shorter_does_not_count_in_full(self) -> None:
        """The first message of a day warned of a small cap, of which it used a fiftieth."""
        for caps in ({"tokens_per_day": 100}, {"cost_per_day": 0.001}):
            config, price = capped("player", **caps), self.price(10)
            wanted = need(10, 500, least=10, price=price)
            assert [] == self.reserve(config, wanted=wanted).warnings
            self.store.drop()
            BudgetTotal.objects.all().delete()
            earlier = self.reserve(config, wanted=need(75, 0, price=price))
            self.store.settle(earlier, TokenUsage(75, 0), NOON)
            wanted = need(10, 500, least=5, price=price)
            (text,) = self.reserve(config, wanted=wanted).warnings
            assert "90 of 100 tokens" in text or "$0.0009 of $0.0010" in text, text
            self.store.drop()
            BudgetTotal.objects.all().delete()

    def test_of_the_test_bench_in_the_games_log(self) -> None:
        """The call is billed to no assistant."""
        config = capped("bench", tokens_per_day=100)
        with bench():
            assert 1 == len(self.reserve(config).warnings)
        assert ("budget_near", "game") == self.recorded[-1][:2]


class TestKilled(LedgerTest):
    def killed(self, owner: str) -> None:
        """Leave an open call behind, owned by a process of that name."""
        store = LedgerStore()
        store.owner = owner
        self.reserve(store=store)
        store.drop()

    def dead(self) -> str:
        """The name of a process of this machine that has ended."""
        machine, pid, _, token = owner_of_this_process().split(":")
        return f"{machine}:{pid}:1:{token}"

    def test_its_calls_count_as_cut_off(self) -> None:
        self.killed(self.dead())
        self.use(1, 1)
        assert ["cut_off", "settled"] == sorted(call.state for call in ModelCall.objects.all())
        assert (61, 41, 0) == (
            self.total().prompt_tokens, self.total().completion_tokens, self.total().held_tokens
        )  # fmt: skip
        self.assert_consistent()

    def test_the_calls_of_a_living_process_are_left_alone(self) -> None:
        """They are closed five minutes after their deadline, when they are surely over."""
        self.reserve()
        self.killed("elsewhere:1:1:abcd")
        other = LedgerStore()
        assert 0 == other.recover(NOON + 359)
        assert 2 == other.recover(NOON + 362)
        self.assert_consistent()

    def test_a_call_that_was_closed_by_others_still_counts_as_it_was(self) -> None:
        """A process that was only slow corrects what another process had taken for cut off."""
        ends = ("settle", "release", "cut_off")
        reservations = [self.reserve(wanted=need(price=self.price(1))) for _ in ends]
        assert 3 == LedgerStore().recover(NOON + 1000)
        assert 300 == self.total().prompt_tokens + self.total().completion_tokens
        self.store.settle(reservations[0], TokenUsage(5, 6), NOON + 1000)
        self.store.release(reservations[1], NOON + 1000)
        self.store.cut_off(reservations[2], NOON + 1000)
        self.store.flush()
        total = self.total()
        assert (2, 111, 111_000) == (
            total.calls, total.prompt_tokens + total.completion_tokens, total.cost_nano
        )  # fmt: skip
        assert ["cut_off", "released", "settled"] == sorted(
            c.state for c in ModelCall.objects.all()
        )
        self.assert_consistent()

    def test_a_call_is_cut_off_once(self) -> None:
        """Two processes may find the same orphan at the same moment."""
        self.killed(self.dead())
        call = ModelCall.objects.get()
        assert (True, False) == (upkeep.close_orphan(call), upkeep.close_orphan(call))
        self.assert_consistent()

    def test_an_ending_that_waited_long_to_be_written(self) -> None:
        clock = Clock()
        self.store = LedgerStore(clock=clock.seconds)
        self.store.settle(self.reserve(), TokenUsage(5, 6), NOON)
        LedgerStore().recover(NOON + 1000)
        clock.advance(1000)
        self.store.flush()
        assert (5, 6) == (self.total().prompt_tokens, self.total().completion_tokens)
        self.assert_consistent()

    def test_a_call_that_ends_late_but_first(self) -> None:
        reservation = self.reserve()
        self.store.settle(reservation, TokenUsage(5, 6), NOON + 1000)
        self.store.flush()
        self.assert_consistent()

    def test_where_nobody_can_tell_nobody_has_ended(self) -> None:
        """Without /proc a process has no name, and its calls are closed once overdue."""
        with tempfile.TemporaryDirectory() as folder:
            nowhere = Path(folder)
            assert "" == processes.machine(nowhere)
            assert "" == processes.started(1, nowhere)

    def test_who_has_ended(self) -> None:
        """A process differs from a later one with its number; another machine's are unknown."""
        owner = owner_of_this_process()
        machine, pid, started, token = owner.split(":")
        assert (False, True) == (is_gone(owner), is_gone(self.dead()))
        assert is_gone(f"{machine}:999999999:{started}:{token}")
        assert not is_gone(f"elsewhere:{pid}:1:{token}")
        assert not is_gone(f":{pid}:1:{token}")


class TestUpkeep(LedgerTest):
    def test_what_is_old_is_dropped(self) -> None:
        """Calls and days are kept for 90 days, minutes for one, months and totals for ever."""
        self.use(5, 5)
        self.use(5, 5, at=NOON + 2 * DAY)
        periods = {account.period for account in accounts_of("Ada", "", NOON)}
        rest = set(BudgetTotal.objects.values_list("period", flat=True))
        assert {"2026-11-21 12:00"} == periods - rest
        self.use(5, 5, at=NOON + 91 * DAY)
        rest = set(BudgetTotal.objects.values_list("period", flat=True))
        assert {"", "2026-11"} == periods & rest
        assert 2 == ModelCall.objects.count()
        assert 15 == self.total().prompt_tokens

    def test_open_calls_are_never_dropped(self) -> None:
        """However old, they are closed as cut off."""
        self.reserve()
        LedgerStore().recover(NOON + 365 * DAY)
        assert CallState.CUT_OFF == ModelCall.objects.get().state

    def test_rows_that_others_dropped_are_made_anew(self) -> None:
        self.reserve()
        BudgetTotal.objects.filter(period__contains=":").delete()
        self.use(5, 5)
        assert 12 == BudgetTotal.objects.count()

    def test_rows_that_were_mixed_up_are_noticed(self) -> None:
        """After a restored backup, remembered row numbers may belong to other rows."""
        self.use(5, 5)
        BudgetTotal.objects.filter(scope="game", period="").update(period="x")
        BudgetTotal.objects.filter(scope="game", period="2026-11").update(period="")
        self.use(5, 5)
        assert 2 == self.total(TODAY).calls

    def test_the_memory_of_numbers_is_bounded(self) -> None:
        """A process that runs for years would otherwise remember every minute."""
        self.use(5, 5)
        self.store.totals._heads.update(
            {BudgetAccount(Scope.GAME, "", f"{n}"): n for n in range(rows.MOST_REMEMBERED)}
        )
        self.use(5, 5, at=NOON + 60)
        assert 12 == len(self.store.totals._heads)
