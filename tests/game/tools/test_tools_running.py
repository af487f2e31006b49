"""The running of tools: rights, time, arguments and results."""

import json
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.core.turn.toolspec import Fault, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError, ToolTimeoutError
from evennia_ai.tools import TOOL_REGISTRY, Tool, register
from evennia_ai.tools.base import FunctionTool
from evennia_ai.tools.running import MOST_CHARACTERS, as_result
from tests.game.tools.schemas import circle
from tests.game.tools.tool_case import ToolTest, make_turn


class Lamp:
    def __str__(self) -> str:
        return "a lamp"


@pytest.mark.parametrize(
    ("is_done", "text", "value"),
    [
        pytest.param(True, "done", None, id="nothing"),
        pytest.param(True, "", "", id="no text"),
        pytest.param(True, "at noon", "at noon", id="text"),
        pytest.param(True, "3", 3, id="a number"),
        pytest.param(True, "false", False, id="no"),
        pytest.param(True, '["é", 1]', ["é", 1], id="a list"),
        pytest.param(True, "[1, 2]", (1, 2), id="a tuple"),
        pytest.param(True, '{"tide": "noon"}', {"tide": "noon"}, id="data"),
        pytest.param(True, '["a lamp"]', [Lamp()], id="data that holds an object"),
        pytest.param(True, "a lamp", Lamp(), id="an object"),
        pytest.param(True, "[3]", {3}, id="a set"),
        pytest.param(True, '["a"]', deque("a"), id="a queue"),
        pytest.param(True, "b'a'", b"a", id="bytes"),
        pytest.param(True, "{(1, 2): 3}", {(1, 2): 3}, id="keys that JSON does not know"),
        pytest.param(True, "[[...]]", circle(), id="a circle"),
        pytest.param(True, "done", {"success": True}, id="worked"),
        pytest.param(
            True, "at noon", {"success": True, "result": "at noon"}, id="worked, with text"
        ),
        pytest.param(True, '["noon"]', {"success": True, "result": ["noon"]}, id="with data"),
        pytest.param(True, "done", {"success": True, "result": None}, id="worked, with nothing"),
        pytest.param(
            True, '{"a": 1, "result": 2}', {"success": True, "a": 1, "result": 2}, id="with more"
        ),
        pytest.param(False, "it did not work", {"success": False}, id="failed"),
        pytest.param(False, "no tide", {"success": False, "error": "no tide"}, id="with a reason"),
        pytest.param(
            False, "no tide", {"success": False, "error": "", "message": "no tide"}, id="a message"
        ),
        pytest.param(False, '{"code": 3}', {"success": False, "code": 3}, id="with data alone"),
        pytest.param(False, '["a"]', {"success": 0, "error": ["a"]}, id="several reasons"),
    ],
)
def test_results(is_done: bool, text: str, value: Any) -> None:
    """Text is told as it is, data as JSON, and a result that says it failed has failed."""
    expected = ToolResult(is_done, text, None if is_done else Fault.FAILED)
    assert expected == as_result(value)


def test_a_result_may_be_one_already() -> None:
    result = ToolResult(False, "no", Fault.UNAVAILABLE)
    assert result is as_result(result)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x" * 10_000, id="text"),
        pytest.param(["x" * 10_000], id="data"),
        pytest.param({"success": False, "error": "x" * 10_000}, id="a reason"),
    ],
)
def test_a_book_is_cut(value: Any) -> None:
    text = as_result(value).text
    assert MOST_CHARACTERS + 50 >= len(text)
    assert text.endswith("x… (the first 4,000 of 10,000 characters)") or "of 10,004" in text


class Tide(Tool):
    name = "seed_tide"
    description = "When the tide turns."
    parameters = {
        "type": "object",
        "properties": {"harbour": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["harbour"],
    }

    def execute(self, character: Any, **kwargs: Any) -> dict[str, Any]:
        if kwargs["harbour"] != "Greyport":
            return {"success": False, "error": "no such harbour"}
        return {"success": True, "who": character.key, "days": kwargs.get("days")}


class Running(ToolTest):
    """A test case that puts the registry back."""

    def setUp(self) -> None:
        super().setUp()
        before = dict(TOOL_REGISTRY)
        self.addCleanup(TOOL_REGISTRY.update, before)
        self.addCleanup(TOOL_REGISTRY.clear)

    def add(self, function: Callable[..., Any], **options: Any) -> None:
        """Register a function as the tool `probe`."""
        function.__name__, function.__doc__ = "probe", "Probe."
        register(FunctionTool(function, **options))


class TestClasses(Running):
    def test_a_mapping_with_success_is_understood(self) -> None:
        """The seed's form of a result is data, or a failure with its reason."""
        register(Tide)
        expected = {"who": "Ada", "days": 2}
        text = self.told("seed_tide", harbour="Greyport", days=2.0)
        assert expected == json.loads(text)
        assert "2.0" not in text
        assert "no such harbour" == self.refusal("seed_tide", harbour="Oslo")

    def test_it_may_wait_and_may_take_the_turn(self) -> None:
        class Wait(Tide):
            def execute(self, character: Any, *, turn: Turn, **kwargs: Any) -> Any:  # type: ignore[override]
                return succeed({"success": True, "result": turn.event.body})

        register(Wait)
        assert "hello" == self.told("seed_tide", harbour="Greyport")


class TestStored(Running):
    def test_they_are_told_as_plain_data(self) -> None:
        """Evennia's containers hold others of their kind, and objects of the game."""
        self.ada.db.bag = {"coins": [1, {"of": "gold"}], "owner": self.tom}
        for name, text in (
            ("bag", '{"coins": [1, {"of": "gold"}], "owner": "Tom"}'),
            ("coins", '[1, {"of": "gold"}]'),
        ):
            with self.subTest(name):
                value = self.ada.db.bag if name == "bag" else self.ada.db.bag["coins"]
                assert text == as_result(value).text


class TestTime(Running):
    def wait_for(self, outcome: Deferred[Any], deadline_seconds: float | None = None) -> list[Any]:
        """The outcomes of a tool with a limit of four seconds."""
        return self.begin(outcome, deadline_seconds)[1]

    def begin(
        self, outcome: Deferred[Any], deadline_seconds: float | None = None
    ) -> tuple[Deferred[Any], list[Any]]:
        """The call of such a tool, and its outcomes."""
        self.add(lambda: outcome, timeout_seconds=4)
        outcomes: list[Any] = []
        started = self.start("probe", {}, deadline_seconds=deadline_seconds)
        return started.addBoth(outcomes.append), outcomes

    def test_a_tool_that_hangs_is_cancelled(self) -> None:
        cancelled: list[Any] = []
        outcomes = self.wait_for(Deferred(cancelled.append))
        self.clock.advance(3.9)
        assert ([], []) == (outcomes, cancelled)
        self.clock.advance(0.1)
        assert 1 == len(cancelled)
        assert ToolTimeoutError is outcomes[0].type
        assert "probe took longer than 4 s" == outcomes[0].getErrorMessage()

    def test_the_call_may_have_less_time(self) -> None:
        for deadline, limit in ((1.5, "1.5"), (60.0, "4")):
            with self.subTest(deadline):
                outcomes = self.wait_for(Deferred(), deadline)
                self.clock.advance(float(limit))
                expected = f"probe took longer than {limit} s"
                assert expected == outcomes[0].getErrorMessage()

    def test_without_time_it_is_not_begun(self) -> None:
        """Otherwise something could happen that nobody waits for."""
        begun: list[int] = []
        self.add(lambda: begun.append(1))
        outcomes: list[Any] = []
        self.start("probe", {}, deadline_seconds=0).addErrback(outcomes.append)
        assert [] == begun
        assert ToolTimeoutError is outcomes[0].type
        expected = "probe was not begun: there is no time left for it"
        assert expected == outcomes[0].getErrorMessage()

    def test_a_tool_that_will_not_stop_is_left_behind(self) -> None:
        """It goes on waiting when it is cancelled, but holds up nobody, and its result is lost."""
        second: Deferred[str] = Deferred()

        async def stubborn() -> str:
            try:
                return str(await Deferred())
            except CancelledError:
                return await second

        outcomes = self.wait_for(Deferred.fromCoroutine(stubborn()))
        self.clock.advance(4)
        assert ToolTimeoutError is outcomes[0].type
        second.callback("too late")
        assert 1 == len(outcomes)

    def test_a_failure_after_its_time_reaches_nobody(self) -> None:
        outcome: Deferred[str] = Deferred(lambda waited: waited.errback(OSError("gone")))
        outcomes = self.wait_for(outcome)
        self.clock.advance(4)
        assert [ToolTimeoutError] == [failure.type for failure in outcomes]

    def test_a_tool_in_time_leaves_no_timer(self) -> None:
        for outcome in (Deferred(), succeed("at noon")):
            with self.subTest(outcome):
                outcomes = self.wait_for(outcome)
                if not outcome.called:
                    outcome.callback("at noon")
                assert [ToolResult(True, "at noon")] == outcomes
                assert [] == self.clock.getDelayedCalls()
        broken: Deferred[str] = Deferred()
        outcomes = self.wait_for(broken)
        broken.errback(OSError("gone"))
        assert OSError is outcomes[0].type
        assert [] == self.clock.getDelayedCalls()

    def test_a_time_limit_of_its_own_is_its_own_affair(self) -> None:
        """A timeout inside a tool is a defect of it, not the end of its own time."""
        outcome: Deferred[str] = Deferred()
        outcomes = self.wait_for(outcome)
        outcome.errback(DeadlineError("2 s"))
        assert DeadlineError is outcomes[0].type

    def test_cancelling_the_call_cancels_the_tool(self) -> None:
        """An emergency stop does this."""
        for name, canceller in (("no", None), ("own", lambda it: it.callback("so be it"))):
            with self.subTest(canceller=name):
                outcome: Deferred[str] = Deferred(canceller)
                started, ends = self.begin(outcome)
                started.cancel()
                assert outcome.called
                assert CancelledError is ends[0].type
                assert [] == self.clock.getDelayedCalls()


class TestRights(Running):
    def test_a_lock_on_the_body_forbids_any_tool(self) -> None:
        self.add(lambda: "done")
        assert "done" == self.told("probe")
        self.ada.locks.add("tool_probe:false()")
        assert "you are not allowed to probe" == self.refusal("probe")

    def test_what_cannot_be_done_is_raised(self) -> None:
        def fail() -> None:
            raise ToolError("no")

        self.add(fail)
        outcomes: list[Any] = []
        self.start("probe", {}, make_turn()).addErrback(outcomes.append)
        assert [ToolError] == [failure.type for failure in outcomes]
