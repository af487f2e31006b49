"""The page about money: sums of the ledger by day, assistant, player, model and purpose."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import translation
from twisted.internet import reactor

from evennia_ai import operations
from evennia_ai.budget.ledger.reservations import SHARE
from evennia_ai.core.safety.budget import DAY, CallState, period_of
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import BudgetSpan
from evennia_ai.messages.incoming import find_being, person_of
from evennia_ai.models import BudgetTotal, ModelCall, PeerTask, RemoteTask
from evennia_ai.operations.budget.caps import budget_of, standings_of, today_of
from evennia_ai.operations.budget.days import SpentDays
from evennia_ai.operations.budget.raising import raise_budget
from evennia_ai.operations.budget.spending import AUTONOMOUS, MOST_ROWS, spending
from evennia_ai.operations.peers import overview
from evennia_ai.runtime import services
from tests.browser.cases import CASES
from tests.web.support import WebTest, intruders, text_of

PRICES = {"scripted": {"input": 1.0, "output": 2.0}}


def _today() -> int:
    return int(reactor.seconds()) // DAY


class MoneyTest(WebTest):
    """A ledger with calls of some days."""

    made = 0

    def call(
        self,
        *,
        days_ago: int = 0,
        prompt: int = 600,
        completion: int = 400,
        share: str = "",
        **more: Any,
    ) -> None:
        """Store a finished model call, or another person's share of one."""
        MoneyTest.made += 1
        given: dict[str, Any] = {
            "assistant": "ada",
            "person": person_of(self.mira),
            "purpose": "turn",
            "model": "openai/mini",
            "state": CallState.SETTLED,
            "cost_nano": NANO // 100,
        }
        ModelCall.objects.create(
            key=f"call-{MoneyTest.made}{share}",
            owner="me",
            at=int(reactor.seconds()) - days_ago * DAY,
            due=0,
            prompt_tokens=prompt,
            completion_tokens=completion,
            estimated_prompt_tokens=0,
            estimated_completion_tokens=0,
            estimated_cost_nano=0,
            **{**given, **more},
        )

    def test_nothing_was_used_yet(self) -> None:
        shown = text_of(self.get("money"))
        assert "No model was called in this time. Whisper to an assistant" in shown
        assert "tokens today: 0" in shown

    def test_many_assistants_ask_the_ledger_as_often_as_one(self) -> None:
        """One query for each assistant would stop a large game for seconds."""
        for day in (0, 3):
            self.call(days_ago=day)
            self.call(days_ago=day, assistant="brass", state=CallState.CUT_OFF, is_priced=False)
        for period in (period_of(span, reactor.seconds()) for span in BudgetSpan):
            for key, used in (("ada", 600), ("brass", 77)):
                BudgetTotal.objects.create(
                    scope="assistant", key=key, period=period, prompt_tokens=used
                )
        others = [
            operations.create_assistant(name, location=self.room1) for name in ("Brass", "Edda")
        ]
        scripts = [self.ada_script, *(each.data.script for each in others)]
        self.ada_script.db.budget_config = {"assistant": {"tokens_per_day": 700}}
        with CaptureQueriesContext(connection) as of_one:
            standings_of(scripts[:1])
        with self.assertNumQueries(len(of_one)):
            standings = standings_of(scripts)
        for script in scripts:
            alone = operations.budget_of(script).data.standings
            for row, expected in zip(standings[str(script.key)].data, alone, strict=True):
                resets = {"resets_in_seconds": row["resets_in_seconds"]}
                assert {**expected, **resets} == row

    def test_agents_elsewhere_stand_there_with_their_cost(self) -> None:
        """The tasks of remote agents are listed without their words."""
        assert "External agents" not in text_of(self.get("money"))
        pia = self.people["player"]
        day = period_of(BudgetSpan.DAY, time.time())
        key = f"*#{pia.pk}"
        BudgetTotal.objects.create(scope="player", key=key, period=day, prompt_tokens=321)
        PeerTask.objects.create(
            id="t1",
            assistant=self.ada_script.id,
            account=pia.pk,
            context="c",
            request="r",
            number=77,
            state="completed",
            words='[{"text": "Where is the hoard?"}]',
            made_at=time.time(),
            changed_at=time.time(),
        )
        with override_settings(TIME_ZONE="Asia/Tokyo"):
            shown = text_of(self.get("money"))
        # Times are in the zone of the game, as on every page.
        at = r"\d{4}-\d\d-\d\d \d\d:\d\d JST"
        assert re.search(rf"Pia {at} 1 0 321 500,000 0", shown), shown
        assert re.search(rf"{at} Pia Ada completed 77", shown)
        assert "hoard" not in shown

    def test_agents_that_assistants_ask_stand_there_too(self) -> None:
        entry = {"card": "http://127.0.0.1:1", "assistants": ["*"], "tasks_per_day": 7}
        RemoteTask.objects.create(
            id="r1",
            assistant=self.ada_script.id,
            agent="atlas",
            chain="c",
            hops=1,
            state="dropped",
            tokens=1_234,
            cost_nano=10_000_000,
            began_at=time.time(),
        )
        self.addCleanup(services.remote_specialists.cache_clear)
        with override_settings(EVENNIA_AI_REMOTE_SPECIALISTS={"atlas": entry}):
            services.remote_specialists.cache_clear()
            shown = text_of(self.get("money"))
            (row,) = overview.list_peers().data.remotes
        assert re.search(r"atlas not known yet closed 1 of 7 0 1 1,234 \$0.01", shown), shown
        assert ("atlas", 1, 1_234) == (row["name"], row["failed_month"], row["tokens_month"])

    def test_every_side_has_the_figures_of_the_ledger(self) -> None:
        self.call()
        self.call(days_ago=3, purpose="reflection", person="", assistant="gone")
        self.call(days_ago=3, model="openai/big", is_priced=False, cost_nano=0)
        self.call(days_ago=40)
        self.call(state=CallState.OPEN)
        self.call(state=CallState.RELEASED)
        self.call(person="", assistant="", purpose="bench")
        self.call(person="", assistant="", purpose="bench", days_ago=3)
        self.call(person="", assistant="", purpose="embedding")
        data = spending().data
        assert (6, 6000) == (data.whole["calls"], data.whole["tokens"])
        assert 30 == len(data.days)
        for side in (data.days, data.assistants, data.players, data.models, data.purposes):
            for name in ("calls", "prompt_tokens", "tokens", "unpriced_calls"):
                assert data.whole[name] == sum(row[name] for row in side)
        shown = text_of(self.get("money"))
        mira = str(find_being(person_of(self.mira)).key)
        for text in ("Ada 2", "gone 1", f"{mira} 2", "nobody (by itself) 2", "reflection 1"):
            assert text in shown
        assert "openai/big 1 600 400 1,000 17 % unknown" in shown
        assert "6 model calls, 6,000 tokens, $0.05 + unknown" in shown
        for side in (data.assistants, data.players):
            assert [2] == [row["calls"] for row in side if row["name"] == "the test bench"]
            assert all(row["name"] for row in side)
        assert 1000 == data.days[-1]["by_assistant"]["the test bench"]
        assert 1 == shown.count("the game itself 1")

    def test_a_call_that_several_people_pay_for_is_one_call(self) -> None:
        """The page counted one for each of them, where `assistant usage` has one."""
        self.call(purpose="consolidation")
        self.call(purpose="consolidation", person=person_of(self.tom), share=SHARE)
        ModelCall.objects.update(is_priced=False)
        assert "Of 1 call this month the price is not known" in budget_of(self.ada_script).message
        data = spending().data
        assert (1, 2000) == (data.whole["calls"], data.whole["tokens"])
        for side in (data.days, data.assistants, data.players, data.models, data.purposes):
            assert 1 == sum(row["calls"] for row in side)

    @override_settings(EVENNIA_AI_BUDGET_CONFIG={"bench": {"tokens_per_day": 3000}})
    def test_the_purse_of_the_bench(self) -> None:
        """The test bench has caps of its own, which owners may raise."""
        day = period_of(BudgetSpan.DAY, reactor.seconds())
        BudgetTotal.objects.create(scope="bench", key="", period=day, prompt_tokens=900)
        assert "The test bench tokens today: 900 of 3,000" in text_of(self.get("money"))
        form = {"cap": "tokens_per_day", "amount": "500", "of": "=bench"}
        assert 403 == self.post("raise-bench", form, who="controller").status_code
        shown = text_of(self.post("raise-bench", form))
        assert "The test bench: tokens_per_day is raised by 500, until the day ends." in shown
        assert "900 of 3,500 (500 of it granted)" in shown
        assert "900 of 3,500" == today_of(None)
        row = BudgetTotal.objects.get(scope="bench", key="", period=day)
        assert 500 == row.granted_tokens
        assert not BudgetTotal.objects.filter(scope="game", granted_tokens__gt=0).exists()
        body = self.post("raise-bench", {**form, "amount": "lots"}).content.decode()
        assert 1 == body.count('value="lots"')

    def test_what_has_no_price_is_not_called_nothing(self) -> None:
        """Calls without a known price must not look like calls that cost nothing."""
        nothing = "Nothing was used in this time."
        assert 2 == text_of(self.get("money")).count(nothing)
        self.call(is_priced=False, cost_nano=0)
        shown = text_of(self.get("money"))
        assert nothing not in shown
        assert "No call in this time had a known price." in shown
        self.call(cost_nano=0)
        assert "had no known cost." in text_of(self.get("money"))

    def test_names_stand_there_as_they_are(self) -> None:
        """Only purposes, which are the ledger's own, are shown in other words."""
        self.call(model="local/my_model", assistant="old_bea", purpose="wrap_up")
        shown = text_of(self.get("money"))
        for text in ("local/my_model 1", "old_bea 1", "wrap up 1"):
            assert text in shown

    def test_a_day_is_one_of_utc(self) -> None:
        seconds = int(reactor.seconds())
        begun = seconds - seconds % DAY
        self.call()
        ModelCall.objects.update(at=begun)
        assert [1] == [day["calls"] for day in spending(1).data.days]
        ModelCall.objects.update(at=begun - 1)
        assert [0] == [day["calls"] for day in spending(1).data.days]
        assert [1, 0] == [day["calls"] for day in spending(2).data.days]

    def test_one_assistant_alone(self) -> None:
        self.call()
        self.call(assistant="bea", prompt=9000)
        assert 1000 == spending(assistant="Ada").data.whole["tokens"]
        shown = text_of(self.get("money", query={"assistant": "Ada", "days": "7"}))
        assert "7 days: 1 model call, 1,000 tokens" in shown
        shown = text_of(self.get("money", query={"assistant": "x", "days": "many"}))
        assert "30 days: 2 model calls" in shown

    def test_of_very_many_players_the_rest_is_one_row(self) -> None:
        """Its key tells it from the row of calls without a person."""
        self.call(person="", prompt=9000)
        for number in range(MOST_ROWS + 4):
            self.call(person=f"#9{number:03}", prompt=number)
        rows = spending().data.players
        assert MOST_ROWS == len(rows)
        assert ("=others", "all others (6)") == (rows[-1]["key"], rows[-1]["name"])
        assert [AUTONOMOUS] == [row["name"] for row in rows if not row["key"]]
        assert spending().data.whole["tokens"] == sum(row["tokens"] for row in rows)

    def test_the_ledger_is_read_by_its_index(self) -> None:
        """No statement scans calls of earlier months or of other states."""
        self.plans: list[str] = []
        with connection.execute_wrapper(self._explained):
            spending()
            spending(assistant="Ada")
        assert 4 == len(self.plans)
        known = "INDEX evennia_ai_call_state (state=? AND at>"
        is_told = connection.vendor == "sqlite"  # PostgreSQL reads all of so few rows
        assert not is_told or all(known in plan for plan in self.plans)

    def test_days_that_are_over_are_asked_for_once(self) -> None:
        """A second look reads the current days alone, and still sees new calls."""
        self.call()
        self.call(days_ago=3)
        self.call(days_ago=50, assistant="bea")
        assert 3 == spending(90).data.whole["calls"]
        self.call(prompt=9000)
        with self.asking() as asked:
            seen = spending(90).data
        assert asked
        assert min(asked) >= _today() - 1  # yesterday is read again in the first hour of a day
        assert (4, 12_400) == (seen.whole["calls"], seen.whole["tokens"])
        assert [1, 1, 2] == [day["calls"] for day in seen.days if day["calls"]]
        assert [4] == [row["calls"] for row in seen.models]
        assert 1 == spending(90, "Bea").data.whole["calls"]

    def test_a_day_with_an_open_call_is_asked_for_until_it_is_closed(self) -> None:
        """A call that is cut off days later counts on its own day."""
        self.call(days_ago=3, state=CallState.OPEN)
        days, today = SpentDays(), _today()
        for state, counted, wanted in (
            (CallState.OPEN, 0, [today - 9]),
            (CallState.OPEN, 0, [today - 3, today]),
            (CallState.CUT_OFF, 1, [today - 3, today]),
            (CallState.CUT_OFF, 1, [today]),
        ):
            ModelCall.objects.update(state=state)
            with self.asking() as asked:
                uses, people = days.read(today - 9, today * DAY + DAY // 2)
            assert (wanted, counted, counted) == (asked, len(uses), len(people))

    def test_yesterday_may_change_for_an_hour(self) -> None:
        """A call that ended before midnight may be stored after it."""
        days, today = SpentDays(), _today()
        for seconds, counted in ((60, 1), (3500, 2), (3700, 3), (3800, 3)):
            self.call()
            ModelCall.objects.update(at=today * DAY - 1)
            uses, _ = days.read(today - 3, today * DAY + seconds)
            assert [counted] == [row["calls"] for row in uses]

    def test_what_is_kept_is_bounded(self) -> None:
        """Days beyond the limit of the cache are read anew each time."""
        for number in range(20):
            self.call(days_ago=number)
        days, today = SpentDays(most_kept=10), _today()
        noon = today * DAY + DAY // 2
        for wanted in (today - 29, today - 19):
            with self.asking() as asked:
                uses, _ = days.read(today - 29, noon)
            assert (wanted, 20) == (asked[0], sum(row["calls"] for row in uses))

    @contextmanager
    def asking(self) -> Iterator[list[int]]:
        """Collect the first day that each sum over calls asks for."""
        asked: list[int] = []

        def seen(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
            if "modelcall" in sql and "SUM(" in sql:
                asked.append(next(x for x in params if isinstance(x, int) and x > 365 * DAY) // DAY)
            return execute(sql, params, many, context)

        with connection.execute_wrapper(seen):
            yield asked

    def _explained(self, execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        if "modelcall" in sql:
            is_lite = connection.vendor == "sqlite"
            plan = sql.replace("%s", "?").replace("%%", "%") if is_lite else sql
            word = "EXPLAIN QUERY PLAN" if is_lite else "EXPLAIN"
            with connection.cursor() as cursor:
                cursor.cursor.execute(f"{word} {plan}", params)
                self.plans.append(" ".join(map(str, cursor.cursor.fetchall())))
        return execute(sql, params, many, context)

    def test_hostile_names_are_read_as_they_are(self) -> None:
        for case in CASES:
            name = case.written.replace("\x00", "")[:200]
            self.call(model=name, assistant=name.casefold())
        response = self.get("money")
        assert [] == intruders(response)
        assert "&lt;img src=x" in response.content.decode()

    @override_settings(
        EVENNIA_AI_BUDGET_CONFIG={
            "game": {"tokens_per_day": 5000},
            "assistant": {"tokens_per_day": 2000},
        }
    )
    def test_a_cap_is_raised(self) -> None:
        form = {"cap": "tokens_per_day", "amount": "1,500", "of": "Ada"}
        shown = text_of(self.post("raise", form, who="controller", key="Ada"))
        assert "Ada: tokens_per_day is raised by 1,500, until the day ends." in shown
        row = next(
            row
            for row in operations.budget_of(self.ada_script).data.standings
            if row["name"] == "tokens_per_day"
        )
        assert (3500, 1500) == (row["cap"], row["granted"])
        assert 403 == self.post("raise-game", form, who="controller").status_code
        shown = text_of(self.post("raise-game", {**form, "of": ""}))
        assert "The whole game: tokens_per_day is raised by 1,500" in shown
        assert "of 6,500" in shown

    @override_settings(EVENNIA_AI_BUDGET_CONFIG={"player": {"tokens_per_day": 3000}})
    def test_the_cap_of_one_player_is_shown_and_raised(self) -> None:
        """A player at the cap could be helped only by raising it for everybody, in the settings."""
        self.ada_script.db.budget_config = {"player": {"cost_per_day": 0.5}}
        now, mira = self.ada_script.clock.seconds(), person_of(self.mira)
        day = period_of(BudgetSpan.DAY, now)
        BudgetTotal.objects.create(scope="player", key=mira, period=day, prompt_tokens=900)
        name = str(self.mira.account.key)
        shown = text_of(self.get("money", query={"player": name}))
        assert f"{name} tokens today: 900 of 3,000" in shown
        assert f"{name} with Ada" in shown
        assert "money today: $0.00 of $0.50" in shown
        form = {"cap": "tokens_per_day", "amount": "500", "of": mira, "player": mira}
        assert 403 == self.post("raise-player", form, who="controller").status_code
        shown = text_of(self.post("raise-player", form))
        assert f"{name}: tokens_per_day is raised by 500, until the day ends." in shown
        assert "900 of 3,500 (500 of it granted)" in shown
        body = self.post("raise-player", {**form, "amount": "lots"}).content.decode()
        assert 1 == body.count('value="lots"')
        assert "There is no player called 'Nobody'" in text_of(
            self.get("money", query={"player": "Nobody"})
        )

    @override_settings(EVENNIA_AI_BUDGET_CONFIG={"game": {"tokens_per_day": 1200}})
    def test_the_line_of_a_cap_is_that_of_every_day(self) -> None:
        """The line spans all days, so it leaves out what was added for today alone."""
        self.call()
        drawn = self.line()
        assert drawn
        raise_budget(None, "tokens_per_day", "700", "Astrid")
        assert drawn == self.line()

    def line(self) -> str:
        body = self.get("money").content.decode()
        assert "The line is the cap of a day, without what was added by hand." in body
        return body.partition('<line class="cap"')[2].partition("/>")[0]

    def test_what_is_no_amount_is_told_and_kept(self) -> None:
        form = {"cap": "tokens_per_day", "amount": "<b>lots", "of": "Ada"}
        response = self.post("raise", form, key="Ada")
        assert 400 == response.status_code
        assert "'<b>lots' is not an amount; it must be a number above 0, such as" in text_of(
            response
        )
        body = response.content.decode()
        assert 1 == body.count('value="&lt;b&gt;lots"')

    def test_a_day_that_is_none(self) -> None:
        assert "the ledger keeps calls for 90 days" in spending(91).message
        assert not spending(0).ok

    def test_numbers_are_written_for_programs(self) -> None:
        """A language with other decimal signs must break neither drawings nor form fields."""
        for days in range(4):
            self.call(days_ago=days, prompt=1_234_567 + days)
        with override_settings(USE_THOUSAND_SEPARATOR=True), translation.override("de"):
            page = self.get("money").content.decode()
        places = re.findall(r'<(?:rect|text|line)[^>]* (?:x|y|x1|y1)="([^"]*)"', page)
        assert places
        assert [] == [each for each in places if not re.fullmatch(r"-?\d+(\.\d+)?", each)]
