"""One tool run by hand: it passes the same gate as the model's calls and is recorded."""

from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.operations.result import ProblemKind, Result
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.tools.running import (
    Executed,
    execute_tool,
    list_tools,
    parse_arguments,
    read_arguments,
)
from evennia_ai.tools import TOOL_REGISTRY, tool
from tests.game.tasks.errand_case import ErrandTest, confirm


class ExecutingTest(ErrandTest):
    """Tom runs Ada's tools by hand."""

    def run_tool(self, name: str, arguments: Any = None, **more: Any) -> Result:
        given = more if arguments is None else arguments
        running = execute_tool(self.ada_script, name, given, person=self.tom)
        (result,) = self.outcome(running)
        return result

    def add_tool(self, function: Any, **options: Any) -> None:
        tool(**options)(function)
        self.addCleanup(TOOL_REGISTRY.pop, function.__name__)


class TestRunning(ExecutingTest):
    def test_what_speaks_is_heard(self) -> None:
        result = self.run_tool("say", message="Good evening.")
        assert ['Ada says, "Good evening."'] == self.mira.heard_from(self.ada)
        data = Executed("say", True, "said", 0)
        assert (True, "Ada: said", data) == (result.ok, result.message, result.data)

    def test_it_is_recorded_with_who_did_it(self) -> None:
        """The record has no words; `why` shows them only to the person who ran the tool."""
        self.run_tool("say", message="The word is kestrel.")
        (fact,) = self.facts("tool_by_hand")
        assert ("Tom", "say", True) == (fact["by"], fact["tool_name"], fact["success"])
        (executed,) = self.facts("ToolExecuted")
        assert ("Tom", "say") == (executed["by"], executed["tool_name"])
        assert "kestrel" not in str(self.happened)
        whys = [
            operations.why(
                self.ada_script, number=fact["number"], look=PrivateView.of(person)
            ).message
            for person in (self.tom, self.mira)
        ]
        assert all("message 1 of Tom" in why for why in whys)
        assert all("by hand: done" in why for why in whys)
        assert [True, False] == [
            'say {\\"message\\": \\"The word is kestrel.' in why for why in whys
        ]
        assert [True, False] == ["by hand: done: said" in why for why in whys]
        assert [True, False] == ["kestrel" in why for why in whys]

    def test_a_dangerous_one_needs_no_further_yes(self) -> None:
        """Running it by hand counts as the confirmation."""
        confirm(self.ada_script)
        lamp = self.make_thing("lamp")
        assert self.run_tool("get", item="lamp").ok
        assert self.ada == lamp.location

    def test_it_runs_beside_a_turn(self) -> None:
        self.type(self.tom, "whisper Ada = a riddle")
        assert self.run_tool("say", message="One moment.").ok
        assert (1, 1) == (len(self.model.waiting), len(self.waiting()))

    def test_one_that_waits(self) -> None:
        held: list[Deferred[str]] = []

        def dredge(character: Any) -> Deferred[str]:
            """Dredge the harbour."""
            held.append(Deferred())
            return held[-1]

        self.add_tool(dredge, category="async_required")
        running = execute_tool(self.ada_script, "dredge", {}, person=self.tom)
        self.clock.advance(2)
        held[0].callback("an anchor")
        (result,) = self.outcome(running)
        assert ("an anchor", 2000) == (result.data.result, result.data.duration_ms)
        running = execute_tool(self.ada_script, "dredge", {}, person=self.tom)
        operations.stop(self.ada_script, "a test")
        held[1].errback(ValueError("the chain broke"))
        (result,) = self.outcome(running)
        assert (False, ProblemKind.CONFLICT) == (result.ok, result.problem)
        assert "it is unknown whether it was done" in result.message

    def test_a_tool_that_fails(self) -> None:
        def sink(character: Any) -> str:
            """Sink a ship."""
            raise ValueError("a hole")

        self.add_tool(sink)
        with self.logged():
            broken = self.run_tool("sink")
        assert ProblemKind.UNAVAILABLE is broken.problem
        assert (False, "sink failed inside the game; do something else") == (
            broken.data.success,
            broken.data.result,
        )
        nobody = self.run_tool("whisper", target="Nobody", message="x")
        assert (False, ProblemKind.CONFLICT) == (nobody.ok, nobody.problem)


class TestRefusing(ExecutingTest):
    """Tools that are not started, with nothing recorded."""

    def test_each_refusal_says_why(self) -> None:
        cases: list[tuple[str, Any, tuple[Any, ...], ProblemKind, str]] = [
            ("unknown", None, ("sayy", {}), ProblemKind.NOT_FOUND, "'sayy'. Did you mean say"),
            ("nothing like it", None, ("qqqqq", {}), ProblemKind.NOT_FOUND, "no tool 'qqqqq'."),
            ("missing", None, ("say", {}), ProblemKind.INVALID, "say needs message."),
            ("wrong", None, ("say", {"message": 3}), ProblemKind.INVALID, "message must be text"),
            ("no object", None, ("say", ["hello"]), ProblemKind.INVALID, "must be an object"),
            (
                "report",
                None,
                ("report", {"message": "x"}),
                ProblemKind.CONFLICT,
                "nobody has given",
            ),
            ("delegate", None, ("delegate_task", {"task": "x"}), ProblemKind.CONFLICT, "by hand"),
            ("find", None, ("find_tools", {"query": "say"}), ProblemKind.CONFLICT, "by hand"),
            (
                "lock",
                lambda: self.ada.locks.add("tool_say:false()"),
                ("say", {"message": "x"}),
                ProblemKind.FORBIDDEN,
                "'tool_say'",
            ),
            (
                "disabled",
                lambda: operations.set_enabled(self.ada_script, False),
                ("look", {}),
                ProblemKind.CONFLICT,
                "it is silenced",
            ),
            (
                "stopped",
                lambda: operations.stop(self.ada_script, "a test"),
                ("look", {}),
                ProblemKind.CONFLICT,
                "an emergency stop is active",
            ),
        ]
        for name, change, given, problem, words in cases:
            with self.subTest(name):
                if change is not None:
                    change()
                result = self.run_tool(*given)
                assert (False, problem) == (result.ok, result.problem)
                assert words in result.message
        assert ([], []) == (self.mira.heard_from(self.ada), self.facts("tool_by_hand"))
        assert 0 == self.ada_script.work.decisions.count


class TestListing(ExecutingTest):
    def test_the_list(self) -> None:
        self.ada.locks.add("tool_give:false()")
        result = list_tools(self.ada_script)
        tools = {item["name"]: item for item in result.data.tools}
        assert sorted(TOOL_REGISTRY) == list(tools)
        say = tools["say"]
        assert ("terminal", "evennia_ai.tools.speech") == (say["category"], say["module"])
        assert ["message"] == say["parameters"]["required"]
        assert (True, False) == (say["is_allowed"], tools["give"]["is_allowed"])
        assert f"of {len(tools)} tools" in result.message

    def test_without_a_body_none_is_allowed(self) -> None:
        self.ada_script.obj = None
        tools = list_tools(self.ada_script).data.tools
        assert {False} == {item["is_allowed"] for item in tools}


class TestArguments(ExecutingTest):
    def test_what_is_understood(self) -> None:
        def rig(
            character: Any,
            ship: str,
            masts: int = 1,
            length: float = 1.0,
            armed: bool = False,
            flags: list[str] | None = None,
            note: str | None = None,
        ) -> str:
            """Rig a ship."""
            return ship

        self.add_tool(rig)
        cases: list[tuple[str, str, dict[str, Any]]] = [
            ("rig", "Kestrel", {"ship": "Kestrel"}),
            ("rig", "ship=Kestrel masts=3", {"ship": "Kestrel", "masts": 3}),
            ("rig", "ship = 'The Kestrel', armed = yes", {"ship": "The Kestrel", "armed": True}),
            ("rig", "ship=42; length=2.5", {"ship": "42", "length": 2.5}),
            ("rig", "ship=x flags=red, white", {"ship": "x", "flags": ["red", "white"]}),
            ("rig", 'ship=x flags=["red"]', {"ship": "x", "flags": ["red"]}),
            ("rig", "ship=x armed=off note=a=b", {"ship": "x", "armed": False, "note": "a=b"}),
            ("rig", '{"ship": "x", "masts": 2}', {"ship": "x", "masts": 2}),
            ("say", "1+1=2, or so", {"message": "1+1=2, or so"}),
            ("say", '"quoted"', {"message": "quoted"}),
            ("whisper", "target=Tom message=hi, you", {"target": "Tom", "message": "hi, you"}),
            ("noop", "", {}),
            ("noop", "tired", {"reason": "tired"}),
        ]
        for name, text, arguments in cases:
            with self.subTest(text):
                assert arguments == parse_arguments(self.ada_script, name, text)

    def test_types_that_only_a_server_elsewhere_has(self) -> None:
        """Schemas of remote tool servers may be of forms that our own tools never have."""
        number, text = {"type": "integer"}, {"type": "string"}
        cases: list[tuple[Any, str, Any]] = [
            ({"type": "integer", "enum": [1, 2, 3]}, "2", 2),
            ({"type": ["integer", "null"], "enum": [1, None]}, "null", None),
            ({"type": "string", "enum": ["Red", "blue"]}, "Red", "Red"),
            ({"type": "array", "items": text}, "[a, b]", "[a, b]"),
            ({"type": "array", "items": text}, "a, b", ["a", "b"]),
            ({"type": "array", "items": text}, "", []),
            ({"type": "array", "items": number}, "1, 2", [1, 2]),
            ({"type": "array", "items": True}, "1, b", ["1", "b"]),
            ({"type": "array"}, "a, b", ["a", "b"]),
            ({"type": "array", "items": {"anyOf": [number, text]}}, "1, b", [1, "b"]),
            ({"type": "array", "items": {"type": ["boolean", "integer"]}}, "on, 7", [True, 7]),
            ({"type": "array", "items": {"type": "integer", "enum": [1, 2]}}, "[1, 2]", [1, 2]),
        ]
        for schema, value, expected in cases:
            with self.subTest(schema=schema, value=value):
                parameters = {"type": "object", "properties": {"level": schema}}
                spec = ToolSpec("lift", "Lift.", parameters)
                assert {"level": expected} == read_arguments(spec, f"level={value}")

    def test_what_is_not(self) -> None:
        cases = [
            ("sayy", "x", "Did you mean say"),
            ("say", "", "say needs message."),
            ("say", "words=x", "say: it has no argument words; it takes message."),
            ("whisper", "Tom", "whisper: say which value is which: target=... message=..."),
            ("exits", "north", "exits: it takes no arguments, so 'north' is too much."),
            ("forget_note", "number=three", "number must be a whole number"),
            ("say", '{"message": ', "say: that is not a JSON object"),
        ]
        for name, text, words in cases:
            with self.subTest(text):
                result = parse_arguments(self.ada_script, name, text)
                assert isinstance(result, Result)
                assert words in result.message
