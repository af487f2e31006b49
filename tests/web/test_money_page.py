"""The page about money: the ledger's own figures from each side, and caps that are raised there."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.test.utils import override_settings
from twisted.internet import reactor

from evennia_ai import operations
from evennia_ai.core.safety.budget import DAY, CallState
from evennia_ai.core.safety.prices import NANO
from evennia_ai.messages.incoming import find_being, person_of
from evennia_ai.models import ModelCall
from evennia_ai.operations.spending import MOST_ROWS, spending
from tests.browser.cases import CASES
from tests.web.support import WebTest, intruders, text_of

PRICES = {"scripted": {"input": 1.0, "output": 2.0}}


class MoneyTest(WebTest):
    """A ledger with calls of some days."""

    made = 0

    def call(
        self, *, days_ago: int = 0, prompt: int = 600, completion: int = 400, **more: Any
    ) -> None:
        """A model call that is over."""
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
            key=f"call-{MoneyTest.made}",
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
        """An empty page says what to do next."""
        shown = text_of(self.get("money"))
        assert "No model was asked in these days. Whisper to an assistant" in shown
        assert "tokens today: 0" in shown

    def test_every_side_has_the_figures_of_the_ledger(self) -> None:
        """By day, assistant, player, model and purpose; each sums up to the whole."""
        self.call()
        self.call(days_ago=3, purpose="reflection", person="", assistant="gone")
        self.call(days_ago=3, model="openai/big", is_priced=False, cost_nano=0)
        self.call(days_ago=40)
        self.call(state=CallState.OPEN)
        self.call(state=CallState.RELEASED)
        data = spending().data
        assert (3, 3000) == (data.whole["calls"], data.whole["tokens"])
        assert 30 == len(data.days)
        for side in (data.days, data.assistants, data.players, data.models, data.purposes):
            for name in ("calls", "prompt_tokens", "tokens", "unpriced_calls"):
                assert data.whole[name] == sum(row[name] for row in side)
        shown = text_of(self.get("money"))
        mira = str(find_being(person_of(self.mira)).key)
        for told in ("Ada 2", "gone 1", f"{mira} 2", "nobody (by itself) 1", "reflection 1"):
            assert told in shown
        assert "openai/big 1 600 400 1,000 33 % unknown" in shown
        assert "3 model calls, 3,000 tokens, $0.02 + unknown" in shown

    def test_a_day_is_one_of_utc(self) -> None:
        """The last second of yesterday is yesterday's, and the first of today today's."""
        seconds = int(reactor.seconds())
        begun = seconds - seconds % DAY
        self.call()
        ModelCall.objects.update(at=begun)
        assert [1] == [day["calls"] for day in spending(1).data.days]
        ModelCall.objects.update(at=begun - 1)
        assert [0] == [day["calls"] for day in spending(1).data.days]
        assert [1, 0] == [day["calls"] for day in spending(2).data.days]

    def test_one_assistant_alone(self) -> None:
        """The filter of the page leaves out what others used; an unknown name is no filter."""
        self.call()
        self.call(assistant="bea", prompt=9000)
        assert 1000 == spending(assistant="Ada").data.whole["tokens"]
        shown = text_of(self.get("money", query={"assistant": "Ada", "days": "7"}))
        assert "7 days: 1 model calls, 1,000 tokens" in shown
        shown = text_of(self.get("money", query={"assistant": "x", "days": "many"}))
        assert "30 days: 2 model calls" in shown

    def test_of_very_many_players_the_rest_is_one_row(self) -> None:
        """And nothing of it is lost."""
        for number in range(MOST_ROWS + 5):
            self.call(person=f"#9{number:03}", prompt=number)
        rows = spending().data.players
        assert MOST_ROWS == len(rows)
        assert "all others (6)" == rows[-1]["name"]
        assert spending().data.whole["tokens"] == sum(row["tokens"] for row in rows)

    def test_the_ledger_is_read_by_its_index(self) -> None:
        """No statement goes through calls of earlier months, or of all states."""
        self.plans: list[str] = []
        with connection.execute_wrapper(self._explained):
            spending()
            spending(assistant="Ada")
        assert 4 == len(self.plans)
        assert all("USING INDEX evennia_ai_call_" in plan for plan in self.plans), self.plans

    def _explained(self, execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        if "modelcall" in sql:
            plan = sql.replace("%s", "?").replace("%%", "%")
            with connection.cursor() as cursor:
                cursor.cursor.execute(f"EXPLAIN QUERY PLAN {plan}", params)
                self.plans.append(" ".join(map(str, cursor.cursor.fetchall())))
        return execute(sql, params, many, context)

    def test_hostile_names_are_read_as_they_are(self) -> None:
        """A model or an assistant of any name makes no tag."""
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
        """The page says so, and it holds in the game until the day ends."""
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

    def test_what_is_no_amount_is_told_and_kept(self) -> None:
        """With the words of the game, and nothing typed is lost."""
        form = {"cap": "tokens_per_day", "amount": "<b>lots", "of": "Ada"}
        response = self.post("raise", form, key="Ada")
        assert 400 == response.status_code
        assert "'<b>lots' is no amount; it must be a number above 0." in text_of(response)
        body = response.content.decode()
        assert 1 == body.count('value="&lt;b&gt;lots"')

    def test_a_day_that_is_none(self) -> None:
        """More days than are kept are refused in words."""
        assert "the ledger keeps calls 90 days" in spending(91).message
        assert not spending(0).ok
