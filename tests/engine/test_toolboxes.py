"""Wrappers of a toolbox that decide which tools are offered and allowed."""

from dataclasses import replace
from typing import Any

import pytest

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.offers import Chooser, Findable, Fitted, Offered
from evennia_ai.engine.toolboxes import Confirmed, Wrapper
from tests.core.samples import make_event, make_spec
from tests.engine.doubles import DIG, HELLO, LOOK, SPECS, ListedTools, finish, gate, make_pattern

TURN = Turn(7, (make_event(),))
NAMES = frozenset(spec.name for spec in SPECS) | {"channel"}


class TestGated:
    @pytest.mark.parametrize(
        ("text", "fault", "call"),
        [
            pytest.param("bad JSON", Fault.BAD_ARGUMENTS, ToolCall("c", "say", problem="bad JSON"),
                         id="a problem"),
            pytest.param("there is no tool 'Whisper'; there are say, whisper, look, dig, noop",
                         Fault.UNKNOWN_TOOL, ToolCall("c", "Whisper"), id="unknown"),
            pytest.param("there is no tool 'Whisper'; there are say, whisper, look, dig, noop",
                         Fault.UNKNOWN_TOOL, ToolCall("c", "Whisper", problem="bad JSON"),
                         id="unknown, and a problem"),
            pytest.param("say needs message", Fault.BAD_ARGUMENTS, ToolCall("c", "say"),
                         id="wrong arguments"),
        ],
    )  # fmt: skip
    def test_it_refuses_in_words(self, text: str, fault: Fault, call: ToolCall) -> None:
        diary: list[str] = []
        spoken = [replace(SPECS[0], parameters=SPECS[0].parameters | {"required": ["message"]})]
        tools = ListedTools(diary, offered=[*spoken, *SPECS[1:]])
        assert ToolResult(False, text, fault) == finish(gate(tools).run(call, TURN))
        assert [] == diary

    def test_it_lets_through_what_fits(self) -> None:
        diary: list[str] = []
        result = finish(gate(ListedTools(diary)).run(HELLO, TURN))
        assert (ToolResult(True, "whisper done"), ["run whisper"]) == (result, diary)

    def test_it_does_not_name_a_crowd(self) -> None:
        """The refusal of an unknown tool lists only some of two hundred others."""
        crowd = [make_spec(f"tool_{number}") for number in range(200)]
        result = finish(gate(ListedTools([], offered=crowd)).run(ToolCall("c", "fly"), TURN))
        assert 40 == result.text.count("tool_")


class TestOffered:
    @pytest.mark.parametrize(
        ("names", "changes"),
        [
            pytest.param("say whisper look dig noop", {}, id="everything"),
            pytest.param("look", {"tool_filter": frozenset(("look", "journal"))}, id="by name"),
            pytest.param(
                "look noop",
                {"allowed_categories": frozenset((ToolCategory.SAFE_CHAIN,))},
                id="by category",
            ),
        ],
    )
    def test_only_that_is_offered(self, names: str, changes: dict[str, Any]) -> None:
        offered = Offered(ListedTools([]), make_pattern(**changes))
        assert names.split() == list(offered.specs())
        assert ("dig" in names) is finish(gate(offered).run(DIG, TURN)).success

    def test_what_is_forbidden_is_not_shown(self) -> None:
        offered = Offered(ListedTools([]), make_pattern(), frozenset(("dig",)))
        assert ["say", "whisper", "look", "noop"] == list(offered.specs())


class TestFindable:
    CROWD = (*SPECS, make_spec("find_tools"), *(make_spec(f"tool_{n}") for n in range(200)))

    def test_the_first_are_shown_and_the_rest_can_be_found(self) -> None:
        """The first tools, the one that finds others, and what was found."""
        names: list[str] = []
        tools = Findable(ListedTools([], offered=self.CROWD), names, 3)
        assert ["say", "whisper", "look", "find_tools"] == list(tools.specs())
        names += ["tool_77", "gone"]
        assert ["say", "whisper", "look", "find_tools", "tool_77"] == list(tools.specs())
        assert finish(gate(tools).run(ToolCall("c", "tool_77"), TURN)).success

    def test_a_handful_is_shown_whole(self) -> None:
        tools = Findable(ListedTools([], offered=self.CROWD[:6]), [], 6)
        assert [spec.name for spec in SPECS] == list(tools.specs())


class TestFitted:
    @pytest.mark.parametrize(
        ("names", "source"),
        [
            pytest.param("whisper look dig noop", "whisper", id="whisper"),
            pytest.param("say look dig noop", "say", id="say"),
            pytest.param("say look dig noop", "pose", id="pose"),
            pytest.param("look dig noop", "page", id="page, which is not among these tools"),
            pytest.param("look dig noop", "channel", id="channel, which is not either"),
        ],
    )
    def test_it_has_one_way_to_speak(self, names: str, source: str) -> None:
        """A small model may speak only the way the event came."""
        fitted = Fitted(ListedTools([]), make_event(source=source), NAMES)
        assert names.split() == list(fitted.specs())

    def test_it_is_offered_no_more_than_it_can_choose_among(self) -> None:
        fitted = Fitted(ListedTools([]), make_event(), frozenset(("whisper", "noop")))
        assert ["whisper", "noop"] == list(fitted.specs())

    def test_it_answers_the_one_who_spoke(self) -> None:
        """The target is fixed in a copy of the tool's description, not in the original."""
        diary: list[str] = []
        tools = ListedTools(diary)
        gated = gate(Fitted(tools, make_event(sender_name="Mia"), NAMES))
        assert ["Mia"] == gated.specs()["whisper"].parameters["properties"]["target"]["enum"]
        assert "target must be ['Mia']" in finish(gated.run(HELLO, TURN)).text
        right = replace(HELLO, arguments={"target": "Mia", "message": "Hi"})
        assert finish(gated.run(right, TURN)).success
        assert ["run whisper"] == diary
        assert "enum" not in SPECS[1].parameters["properties"]["target"]

    def test_it_answers_on_the_channel_that_it_heard(self) -> None:
        kinds = {"channel": "string", "message": "string"}
        spoken = make_spec("channel", kinds, ("channel", "message"))
        tools = ListedTools([], offered=(*SPECS, spoken))
        gated = gate(Fitted(tools, make_event(source="channel", place="Public"), NAMES))
        assert ["look", "dig", "noop", "channel"] == list(gated.specs())
        aimed = gated.specs()["channel"].parameters["properties"]
        assert (["Public"], "enum" in aimed["message"]) == (aimed["channel"]["enum"], False)
        say = ToolCall("c1", "channel", {"channel": "Staff", "message": "Hi"})
        assert not finish(gated.run(say, TURN)).success
        say = replace(say, arguments={"channel": "Public", "message": "Hi"})
        assert finish(gated.run(say, TURN)).success


class TestConfirmed:
    @pytest.mark.parametrize(
        ("is_asked", "is_always", "spec"),
        [
            pytest.param(True, True, SPECS[3], id="every dangerous call"),
            pytest.param(False, False, SPECS[3], id="not wanted"),
            pytest.param(
                True, False, replace(SPECS[3], needs_confirmation=True), id="the tool wants it"
            ),
            pytest.param(False, True, replace(SPECS[2], name="dig"), id="not dangerous"),
        ],
    )
    def test_who_needs_it(self, is_asked: bool, is_always: bool, spec: ToolSpec) -> None:
        diary: list[str] = []
        wait = ToolResult(False, "wait", Fault.NOT_RUN)
        tools = ListedTools(diary, offered=(spec,))
        result = finish(Confirmed(tools, lambda turn, call: wait, is_always).run(DIG, TURN))
        assert (is_asked, not is_asked) == (result == wait, diary == ["run dig"])


def test_a_wrapper_passes_everything_on() -> None:
    tools = ListedTools([])
    assert tools.specs() == Wrapper(Wrapper(tools)).specs()
    assert ToolResult(True, "look done") == finish(Chooser(tools).run(LOOK, TURN))
