"""Breakers, usage and heard messages, as staff and programs read them."""

import json
from typing import Any

from evennia_ai import operations
from evennia_ai.errors import ModelReplyError
from evennia_ai.llm.scripted import completion
from evennia_ai.operations import control
from evennia_ai.operations.budget import usage as budget_usage
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.turns import explaining
from evennia_ai.runtime import services, state
from tests.game.listening import HearingTest
from tests.game.support import as_data, plain_data, whispers
from tests.recorded import record_of

NOOP = completion(None, ("noop", {}))
FLAKY = RuntimeError("no route to 10.0.0.1")


class UpkeepTest(HearingTest):
    """A test case that keeps what is recorded."""

    def setUp(self) -> None:
        super().setUp()
        self.recorded = record_of(self)

    def game_breaker(self) -> Any:
        return services.pool().client(services.endpoint()).circuit_breaker

    def own_breaker(self, name: str = "tool:look") -> Any:
        return self.ada_script.work.breakers.get_or_create(name)


class TestBreakers(UpkeepTest):
    def setUp(self) -> None:
        """Make one breaker of the game, and one of Ada's."""
        super().setUp()
        self.game_breaker()
        self.own_breaker()

    def rows(self) -> dict[str, dict[str, Any]]:
        return {
            row["name"]: row for row in plain_data(control.breakers(self.ada_script))["breakers"]
        }

    def test_they_say_whose_they_are(self) -> None:
        """Without an assistant only those of the game are listed."""
        assert {"tool:look": "assistant", "llm:scripted": "game"} == {
            name: row["scope"] for name, row in self.rows().items()
        }
        game = plain_data(control.breakers(None))["breakers"]
        assert ["llm:scripted"] == [row["name"] for row in game]

    def test_an_open_one(self) -> None:
        for _ in range(5):
            self.own_breaker().record_failure(FLAKY)
        row = self.rows()["tool:look"]
        assert ("open", 5, str(FLAKY)) == (
            row["state"],
            row["total_failures"],
            row["last_failure_error"],
        )
        at = explaining.iso(self.clock.seconds() + row["retry_after"])
        assert at == row["retry_at"]
        assert None is self.rows()["llm:scripted"]["retry_at"]

    def test_one_that_is_held_open_by_hand(self) -> None:
        """It has no time of a next try."""
        self.own_breaker().isolate()
        row = self.rows()["tool:look"]
        assert ("open", "isolated", None) == (row["state"], row["mode"], row["retry_at"])

    def test_a_reset_closes_it_and_is_recorded(self) -> None:
        """It is recorded with the assistant, or with the game."""
        for breaker, subject, scope in (
            (self.own_breaker(), "Ada", "assistant"),
            (self.game_breaker(), "game", "game"),
        ):
            breaker.force_open()
            self.recorded.clear()
            result = control.reset_breaker(self.ada_script, breaker.name.upper(), by="Tom")
            assert ("closed", scope) == (result.data["state"], result.data["scope"])
            assert breaker.is_available
            event, name, details = self.recorded[0]
            assert ("breaker_reset", subject) == (event, name)
            assert {"breaker": breaker.name, "was": "open", "by": "Tom"} == details

    def test_a_scope_narrows_it(self) -> None:
        """A person with the right to an assistant's breakers resets none of the game's."""
        self.game_breaker().force_open()
        result = control.reset_breaker(self.ada_script, "llm:scripted", scope="assistant", by="Tom")
        assert (False, ProblemKind.NOT_FOUND) == (result.ok, result.problem)
        assert "open" == self.game_breaker().state
        assert [] == self.recorded

    def test_it_can_be_looked_up_first(self) -> None:
        """Its scope decides which right a reset needs."""
        assert "game" == plain_data(control.find_breaker(self.ada_script, "LLM:scripted"))["scope"]

    def test_an_unknown_name(self) -> None:
        """Similar names are listed, and asking makes no breaker."""
        for act in (control.find_breaker, control.reset_breaker):
            result = act(self.ada_script, "tool:lok")
            assert "There is no breaker 'tool:lok'; there are: tool:look." == result.message
            assert ProblemKind.NOT_FOUND is result.problem
        assert "tool:look, llm:scripted" in control.find_breaker(self.ada_script, "#").message
        assert {"tool:look", "llm:scripted"} == set(self.rows())

    def test_before_the_first_service_was_asked(self) -> None:
        services.pool.cache_clear()
        assert "none yet" in control.find_breaker(None, "x").message


class TestUsage(UpkeepTest):
    def test_nothing_yet(self) -> None:
        usage = plain_data(budget_usage.usage(self.ada_script))
        assert ({}, [], []) == (usage["tools"], usage["executions"], usage["by_player"])
        assert {0} == {n for total in usage["totals"].values() for n in total.values()}
        assert {"attempted": 0, "completed": 0, "failed": 0} == usage["tasks"]

    def test_a_call(self) -> None:
        answer = whispers("Hello.")
        body = json.loads(answer) | {"usage": {"prompt_tokens": 70, "completion_tokens": 30}}
        self.ask("whisper Ada = hello", json.dumps(body).encode())
        result = budget_usage.usage(self.ada_script)
        usage = plain_data(result)
        for span in ("today", "month", "ever"):
            total = usage["totals"][span]
            assert (1, 0, 70, 30, 100) == tuple(
                total[name]
                for name in (
                    "calls",
                    "calls_under_way",
                    "prompt_tokens",
                    "completion_tokens",
                    "tokens",
                )
            )
        assert [1.0] == [row["share"] for row in usage["by_player"]]
        assert result.message.startswith("Ada: 1 model call, 100 tokens, $0.00 in all; ")

    def test_caps(self) -> None:
        rows = plain_data(budget_usage.usage(self.ada_script))["budget"]["standings"]
        by_name = {row["name"]: row for row in rows}
        assert 1_500_000 == by_name["tokens_per_day"]["cap"]
        assert "1970-01-02T00:00:00+00:00" == by_name["tokens_per_day"]["resets_at"]
        assert None is by_name["tokens_total"]["resets_at"]

    def test_tools(self) -> None:
        """Sums per tool, and the last 200 calls, the oldest first."""
        calls = [{"tick": number, "tool": "say"} for number in range(300)]
        metrics = {
            "tool_calls": {"say": 3, "look": 1},
            "tool_errors": {"look": 1},
            "tool_ms": {"say": 40, "look": 7},
            "tasks_attempted": 2,
            "tasks_completed": 1,
            "tasks_failed": 1,
        }
        state.write(self.ada_script, metrics=metrics, execution_log=calls)
        usage = plain_data(budget_usage.usage(self.ada_script))
        assert {"calls": 3, "errors": 0, "ms": 40} == usage["tools"]["say"]
        assert {"calls": 1, "errors": 1, "ms": 7} == usage["tools"]["look"]
        assert {"attempted": 2, "completed": 1, "failed": 1} == usage["tasks"]
        ticks = [entry["tick"] for entry in usage["executions"]]
        assert (200, 299) == (len(ticks), ticks[-1])

    def test_a_ledger_that_cannot_be_read(self) -> None:
        """The tools are told all the same."""
        state.write(self.ada_script, metrics={"tool_calls": {"say": 3}})
        self.ada_script.db.budget_config = {"no such": 1}
        result = budget_usage.usage(self.ada_script)
        assert (False, ProblemKind.UNAVAILABLE) == (result.ok, result.problem)
        assert "no such" in result.message
        assert 3 == result.data.tools["say"]["calls"]


class TestHeard(UpkeepTest):
    def heard_rows(self, **options: Any) -> dict[str, Any]:
        return plain_data(explaining.heard(self.ada_script, **options))

    def test_a_message(self) -> None:
        self.ask("whisper Ada = hello there", whispers("Hello."))
        row = self.heard_rows(look=PrivateView.of(self.tom))["records"][0]
        shown: str = self.assistant("why full")
        assert (1, "Tom", "whisper", "hello there", "trigger") == tuple(
            row[name] for name in ("number", "sender", "source", "text", "outcome")
        )
        for expected in (
            f"rule      {row['rule']} {row['rule_name']}: {row['outcome']}",
            f"trust     {row['trust']:g} ({row['trust_because']})",
            f"known by  {row['known_by']}",
            *(f"then      {step['step']}" for step in row["steps"]),
        ):
            assert expected in shown
        assert explaining.iso(row["at_seconds"]) == row["at"]

    def test_a_message_of_somebody_else(self) -> None:
        """Of whispers, either way, only the length is shown; everything else is the same."""
        self.ask("whisper Ada = hello there", whispers("Hello."))
        own, others = (
            self.heard_rows(look=look)["records"][0] for look in (PrivateView.of(self.tom), None)
        )
        assert ("hello there", "(11 characters)") == (own["text"], others["text"])
        answers = ('whisper "Hello."', "(16 characters)")
        assert answers == (own["steps"][-1]["detail"], others["steps"][-1]["detail"])
        differing = [name for name in own if own[name] != others[name]]
        assert ["text", "steps"] == differing
        assert own["steps"][:-1] == others["steps"][:-1]

    def test_no_more_of_a_private_talk_than_why_tells(self) -> None:
        """Long words are cut in both, and words that wait are shown in neither."""
        words = "I confess " + "that it was me " * 20 + "UNTOLD"
        self.type(self.tom, f"whisper Ada = {words}")
        page = self.heard_rows(look=PrivateView.of(self.tom))
        assert explaining.MOST_WORDS == len(page["records"][0]["text"])
        assert "UNTOLD" not in json.dumps(page)
        assert "confess" not in json.dumps(page["waiting"])
        why = operations.why(self.ada_script, look=PrivateView.of(self.tom))
        assert page["records"][0] == why.data.record
        assert "UNTOLD" not in why.message
        of_others = self.heard_rows(), operations.why(self.ada_script)
        assert "confess" not in json.dumps(of_others[0])
        assert of_others[0]["records"][0] == of_others[1].data.record
        assert "confess" not in of_others[1].message

    def test_what_waits(self) -> None:
        self.type(self.tom, "whisper Ada = one")
        self.type(self.mira, "whisper Ada = two")
        rows = self.heard_rows()["waiting"]
        assert [("Tom", 1), ("Mira", 2)] == [(row["sender"], row["number"]) for row in rows]
        assert {"message"} == {row["kind"] for row in rows}
        assert rows[0]["at"] == explaining.iso(rows[0]["at_seconds"])

    def test_a_task_and_an_idea_of_its_own_are_rows_too(self) -> None:
        self.type(self.tom, "whisper Ada = one")
        event = self.ada_script.work.inbox[0]
        for kind in ("task", "own", "notice"):
            self.ada_script.work.inbox.append({**event, "id": kind, "kind": kind})
        assert 4 == len(self.heard_rows()["waiting"])

    def test_pages(self) -> None:
        for number in range(7):
            self.type(self.tom, f"say {number}")
        seen, before = [], None
        for _ in range(3):
            page = self.heard_rows(before=before, limit=3)
            seen += [row["text"] for row in page["records"]]
            before = page["next"]
        assert list("6543210") == seen
        assert None is before
        assert [] == self.heard_rows(before=1)["records"]
        for limit, expected in ((0, 1), (-5, 1), (5000, 7)):
            assert expected == len(self.heard_rows(limit=limit)["records"])

    def test_names_are_one_harmless_line(self) -> None:
        self.tom.key = "Tom\n  now       broken" + "x" * 100
        self.type(self.tom, "say hello")
        name = self.heard_rows()["records"][0]["sender"]
        assert ("\n" not in name, explaining.MOST_NAME) == (True, len(name))

    def test_causes_are_for_staff(self) -> None:
        self.ask("whisper Ada = hello", ModelReplyError("key sk-1 at 10.0.0.1"), person=self.mira)
        assert "10.0.0.1" in json.dumps(self.heard_rows())
        own = operations.why(self.ada_script, person=self.person(self.mira))
        assert "10.0.0.1" not in json.dumps(as_data(own))

    def test_it_costs_no_statement(self) -> None:
        self.ask("whisper Ada = hello", NOOP)
        with self.assertNumQueries(0):
            self.heard_rows()

    def test_one_that_does_not_run(self) -> None:
        self.ada_script.work = None
        result = explaining.heard(self.ada_script)
        assert (False, ProblemKind.UNAVAILABLE) == (result.ok, result.problem)
