"""Events, log and sums of tool calls and ticks."""

from dataclasses import replace
from typing import Any

import pytest

from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.core.turn import executions
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import MoneySpent, TokenUsage, Turn
from tests.core.samples import make_event

SAY = ToolCall("c1", "say", {"message": "The lamp went out again.", "loud": True, "times": None})
DONE = ToolResult(True, "said")
SPEC = ToolSpec("say", "says", {"properties": {"message": {}, "loud": {}, "times": {}}})


def make_turn(*, is_private: bool = False) -> Turn:
    """An open or private turn, at tick 3."""
    held = frozenset(("person:account-3",)) if is_private else frozenset()
    turn = Turn(1, (make_event(number=7, person="*#3"),), held=held, tick=3)
    turn.model, turn.reasoning = "openrouter/maker/small", "he wants light"
    return turn


def told(success: bool = True, name: str = "say", milliseconds: int = 5) -> AuditEvent:
    result = DONE if success else ToolResult(False, "no", Fault.FAILED)
    seconds = milliseconds / 1000
    return executions.tool_executed(make_turn(), ToolCall("c", name), result, seconds=seconds)


class TestFactOfACall:
    def test_all_of_an_open_one(self) -> None:
        event = executions.tool_executed(make_turn(), SAY, DONE, seconds=0.0125)
        expected = {
            "tick": 3,
            "call_id": "c1",
            "tool_name": "say",
            "parameters": {"message": "The lamp went out again.", "loud": True, "times": None},
            "reasoning": "he wants light",
            "success": True,
            "error": "",
            "duration_ms": 12,
            "provider": "openrouter",
            "model": "maker/small",
        }
        assert audit_event("ToolExecuted", **expected) == event

    def test_of_a_private_one_no_word(self) -> None:
        """The words, the model's reasoning, and an error that quotes them all stay out."""
        wrong = ToolResult(False, "there is nobody called Mira's secret", Fault.FAILED)
        turn = make_turn(is_private=True)
        details = executions.tool_executed(turn, SAY, wrong, seconds=0, spec=SPEC).details
        assert {"message": "(24 characters)", "loud": True, "times": None} == details["parameters"]
        assert ("", "failed") == (details["reasoning"], details["error"])

    def test_long_things_are_short(self) -> None:
        call = ToolCall("c", "say", {f"a{number}": "x" * 500 for number in range(50)})
        arguments = executions.shown(call.arguments, is_private=False)
        assert (20, 80) == (len(arguments), max(map(len, arguments.values())))

    def test_an_error_is_told(self) -> None:
        wrong = ToolResult(False, "there is no door", Fault.FAILED)
        event = executions.tool_executed(make_turn(), SAY, wrong, seconds=0)
        assert (False, "there is no door") == (event.details["success"], event.details["error"])

    def test_a_private_failure_without_a_fault_is_told_in_one_word(self) -> None:
        """A game's own tool may have put anything into its error."""
        lost = ToolResult(False, "Mira is not here")
        event = executions.tool_executed(make_turn(is_private=True), SAY, lost, seconds=0)
        assert "failed" == event.details["error"]

    def test_hole_a6_names_are_words_too(self) -> None:
        """A model may hide private words in names of tools and arguments, and in numbers.

        A whisper in an open talk is private as well.
        """
        turn, secret = make_turn(is_private=True), "the crown"
        call = ToolCall("c1", secret, {secret: secret, "code": 4711})
        gone = ToolResult(False, f"there is no tool {secret}", Fault.UNKNOWN_TOOL)
        details = executions.tool_executed(turn, call, gone, seconds=0).details
        spec = ToolSpec("look", "looks", {"properties": {"target": {}}})
        named = executions.tool_executed(
            turn, replace(call, name="look"), gone, seconds=0, spec=spec
        )
        assert ("(9 characters)", "look") == (details["tool_name"], named.details["tool_name"])
        assert {"argument 1", "argument 2"} == set(named.details["parameters"])
        for each in (details, named.details):
            assert secret not in str(each["parameters"])
            assert "4711" not in str(each)
        open_turn = make_turn()
        open_turn.asides["c1"] = "*#9"
        aside = ToolCall("c1", "whisper", {"target": "Mira", "message": secret})
        assert secret not in str(executions.tool_executed(open_turn, aside, DONE, seconds=0))


class TestFactOfATick:
    def test_what_it_did_and_used(self) -> None:
        turn = make_turn()
        turn.acts = ["look", "say"]
        turn.spent = MoneySpent(calls=2, usage=TokenUsage(10, 3))
        event = executions.tick_completed(turn, "answered", stop="terminal_tool", seconds=1.5)
        expected = {
            "tick_number": 3,
            "duration_ms": 1500,
            "action_taken": "look, say",
            "outcome": "answered",
            "stop": "terminal_tool",
            "calls": 2,
            "prompt_tokens": 10,
            "completion_tokens": 3,
            "events": [7],
            "person": "*#3",
        }
        assert audit_event("TickCompleted", **expected) == event

    def test_one_that_did_nothing(self) -> None:
        event = executions.tick_completed(make_turn(), "silent", stop="noop", seconds=0)
        assert "none" == event.details["action_taken"]

    def test_one_in_which_the_clock_was_set_back(self) -> None:
        event = executions.tick_completed(make_turn(), "silent", stop="noop", seconds=-3600)
        assert 0 == event.details["duration_ms"]

    @pytest.mark.parametrize(
        ("expected", "stop"),
        [
            pytest.param("answered", Stop(StopReason.TERMINAL_TOOL), id="it spoke"),
            pytest.param("silent", Stop(StopReason.NOOP), id="it chose silence"),
            pytest.param("failed", Stop(StopReason.LLM_ERROR), id="the model failed"),
            pytest.param(
                "answered", Stop(StopReason.MAX_ITERATIONS, is_told=True), id="a last word"
            ),
        ],
    )
    def test_what_it_came_to(self, expected: str, stop: Stop) -> None:
        assert expected == executions.outcome_of(stop)


class TestLog:
    def test_an_entry(self) -> None:
        (entry,) = executions.logged([], [told(), audit_event("TickCompleted")], at=0.0, limit=5)
        expected = {
            "tick": 3,
            "timestamp": "1970-01-01T00:00:00+00:00",
            "tool": "say",
            "parameters": {},
            "reasoning": "he wants light",
            "success": True,
            "error": "",
            "duration_ms": 5,
            "provider": "openrouter",
            "model": "maker/small",
        }
        assert expected == entry

    @pytest.mark.parametrize(
        ("expected", "limit"),
        [
            pytest.param(["b", "c"], 2, id="the newest stay"),
            pytest.param(["a", "b", "c"], 9, id="there is room"),
            pytest.param([], 0, id="none wanted"),
        ],
    )
    def test_it_is_a_ring(self, expected: list[str], limit: int) -> None:
        old = executions.logged([], [told(name="a")], at=0.0, limit=9)
        new = executions.logged(old, [told(name="b"), told(name="c")], at=0.0, limit=limit)
        assert expected == [entry["tool"] for entry in new]


class TestSums:
    def test_they_add_up(self) -> None:
        ticks = [
            executions.tick_completed(make_turn(), outcome, stop="", seconds=0)
            for outcome in ("answered", "silent", "failed", "paused", "cut off")
        ]
        sums: dict[str, Any] = executions.added({}, [told(), told(False), told(name="look")])
        sums = executions.added(sums, [*ticks, audit_event("limit_denied"), told()])
        assert {
            "tool_calls": {"say": 3, "look": 1},
            "tool_errors": {"say": 1},
            "tool_ms": {"say": 15, "look": 5},
            "tasks_attempted": 3,
            "tasks_completed": 2,
            "tasks_failed": 1,
        } == sums

    def test_names_that_a_model_makes_up_have_an_end(self) -> None:
        sums = executions.added({}, [told(name=f"tool{number}") for number in range(250)])
        assert (201, 50) == (len(sums["tool_calls"]), sums["tool_calls"]["(others)"])

    def test_what_was_summed_is_left_alone(self) -> None:
        before = executions.added({}, [told()])
        executions.added(before, [told()])
        assert 1 == before["tool_calls"]["say"]


def test_calls_beside_a_tick() -> None:
    details = {"purpose": "summary", "calls": 2, "prompt_tokens": 9, "completion_tokens": 4}
    assert audit_event("UsageCounted", **details) == executions.usage_counted("summary", 2, 9, 4)
    inner = executions.usage_counted("summary", 2, 9, 4, context="reflection")
    assert audit_event("UsageCounted", **details, context="reflection") == inner
