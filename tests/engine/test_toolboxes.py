"""The wrappers around a toolbox."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evennia_ai.core.toolspec import ToolCall, ToolResult
from evennia_ai.core.turn import Turn
from evennia_ai.engine.toolboxes import Fitted, Gated, Protected
from evennia_ai.errors import StaleEpochError, ToolError
from tests.core.samples import make_event, make_spec
from tests.engine.doubles import HELLO, SPECS, ListedTools, finish

TURN = Turn(7, (make_event(),))


@pytest.mark.parametrize(
    ("told", "call"),
    [
        pytest.param("bad JSON", ToolCall("c", "say", problem="bad JSON"), id="a problem"),
        pytest.param(
            "there is no tool 'Whisper'; there are say, whisper, look, dig, noop",
            ToolCall("c", "Whisper"),
            id="unknown",
        ),
        pytest.param("say needs message", ToolCall("c", "say"), id="wrong arguments"),
    ],
)
def test_gate_refuses_in_words(told: str, call: ToolCall) -> None:
    """What does not fit is told to the model and reaches no tool."""
    diary: list[str] = []
    assert ToolResult(False, told) == finish(Gated(ListedTools(diary)).run(call, TURN))
    assert [] == diary


def test_gate_lets_through_what_fits() -> None:
    """A call that fits is run, and its result comes back as it is."""
    diary: list[str] = []
    result = finish(Gated(ListedTools(diary)).run(HELLO, TURN))
    assert (ToolResult(True, "whisper done"), ["run whisper"]) == (result, diary)


@pytest.mark.parametrize(
    ("result", "reports", "outcome"),
    [
        pytest.param(ToolResult(True, "ok"), 0, ToolResult(True, "ok"), id="a result"),
        pytest.param(
            ToolResult(False, "not here"), 0, ToolError("not here"), id="a tool's refusal"
        ),
        pytest.param(
            ToolResult(False, "whisper failed inside the game; do something else"),
            1,
            KeyError("bug"),
            id="a defect",
        ),
    ],
)
def test_protection_makes_results_of_errors(
    result: ToolResult, reports: int, outcome: ToolResult | BaseException
) -> None:
    """Whatever a tool raises becomes a result; only what nobody expected is reported."""
    reported: list[tuple[str, BaseException]] = []
    tools = ListedTools([], {"whisper": [outcome]})
    protected = Protected(tools, lambda call, error: reported.append((call.name, error)))
    assert result == finish(protected.run(HELLO, TURN))
    assert [("whisper", outcome)] * reports == reported


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(StaleEpochError(7, 8), id="a cancelled turn"),
        pytest.param(KeyboardInterrupt(), id="the process is to end"),
    ],
)
def test_protection_lets_an_end_through(outcome: BaseException) -> None:
    """A turn that is cancelled, or a process that is to end, is not kept going."""
    tools = ListedTools([], {"whisper": [outcome]})
    with pytest.raises(type(outcome)):
        finish(Protected(tools, lambda call, error: None).run(HELLO, TURN))


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
def test_a_small_model_has_one_way_to_speak(names: str, source: str) -> None:
    """Of the ways to speak a small model is offered the one in which the event came."""
    fitted = Fitted(ListedTools([]), make_event(source=source))
    assert names == " ".join(spec.name for spec in fitted.specs())


def test_a_small_model_answers_the_one_who_spoke() -> None:
    """A small model can speak to nobody else, and the tools themselves are not changed by it."""
    diary: list[str] = []
    tools = ListedTools(diary)
    gated = Gated(Fitted(tools, make_event(sender_name="Mia")))
    aimed = next(spec for spec in gated.specs() if spec.name == "whisper")
    assert ["Mia"] == aimed.parameters["properties"]["target"]["enum"]
    assert ToolResult(False, "whisper: target must be Mia") == finish(gated.run(HELLO, TURN))
    assert finish(
        gated.run(replace(HELLO, arguments={"target": "Mia", "message": "Hi"}), TURN)
    ).success
    assert ["run whisper"] == diary
    assert SPECS == tools.specs()
    assert "enum" not in SPECS[1].parameters["properties"]["target"]


def test_a_small_model_answers_on_the_channel_that_it_heard() -> None:
    """What came on a channel is answered on that one, and in no other way."""
    spoken = make_spec(
        "channel", {"channel": "string", "message": "string"}, ("channel", "message")
    )
    diary: list[str] = []
    tools = ListedTools(diary, offered=(*SPECS, spoken))
    gated = Gated(Fitted(tools, make_event(source="channel", place="Public")))
    assert ["look", "dig", "noop", "channel"] == [spec.name for spec in gated.specs()]
    aimed = gated.specs()[-1].parameters["properties"]
    assert (["Public"], "enum" in aimed["message"]) == (aimed["channel"]["enum"], False)
    say = ToolCall("c1", "channel", {"channel": "Staff", "message": "Hi"})
    told = "channel: channel must be Public"
    assert ToolResult(False, told) == finish(gated.run(say, TURN))
    say = replace(say, arguments={"channel": "Public", "message": "Hi"})
    assert finish(gated.run(say, TURN)).success
    assert ["run channel"] == diary
    assert "enum" not in spoken.parameters["properties"]["channel"]
    whispered = Fitted(tools, make_event())
    assert ["whisper", "look", "dig", "noop"] == [spec.name for spec in whispered.specs()]


def test_wrappers_offer_the_tools_inside() -> None:
    """What is on offer is not changed by what is around it."""
    tools = ListedTools([])
    assert SPECS == Gated(tools).specs() == Protected(tools, lambda call, error: None).specs()
