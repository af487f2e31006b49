"""The last word of a turn that a limit ended."""

import pytest

from evennia_ai.core.hearing.inbox import OWN
from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.engine.ports import Reply
from evennia_ai.engine.tick import with_cause
from evennia_ai.errors import (
    CircuitOpenError,
    LimitReachedError,
    ModelTimeoutError,
    StaleEpochError,
    ToolError,
)
from tests.engine.doubles import Stage, asked, bounded, look, looks, reply

RULES = "You act only by calling tools, and you keep to one or two sentences of plain text."


def test_f1_one_call_without_tools_and_the_cause_in_the_system_prompt() -> None:
    stage = Stage(*looks(2), reply(content="Two shelves are searched, the third is not."))
    offered: list[int] = []
    stage.model.on_ask = lambda tools: offered.append(len(tools))
    stop = stage.play(max_iterations=2)
    assert stop.is_told
    assert [5, 5, 0] == offered
    last = stage.model.asked[-1]
    assert "model calls of the loop in one tick (2 steps)" in last[0]["content"]
    assert ["system"] + ["user"] * 2 == [message["role"] for message in last[:3]]
    assert [] == [message for message in last if "tool_calls" in message]
    assert not stop.is_failure
    assert {"limit_stopped": True, "limit_kind": "max_iterations"} == stage.turn.marks
    assert "Two shelves" in str(stage.turn.said[-2])


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(reply(), id="it is empty"),
        pytest.param(reply(content="<think>hm</think>"), id="it holds thoughts alone"),
        pytest.param(ModelTimeoutError("no last word within 20 s"), id="it hangs"),
        pytest.param(CircuitOpenError("llm", 9), id="the service is not asked"),
        pytest.param(
            LimitReachedError("cost.tokens_per_day", used=1, cap=1, amount=1, scope="game d"),
            id="it cannot be paid",
        ),
    ],
)
def test_f2_without_a_last_word_staff_read_what_to_change(answer: Reply | Exception) -> None:
    stage = Stage(*looks(2), answer)
    stop = stage.play(max_iterations=2)
    assert (False, True) == (stop.is_told, stop.is_failure)
    for part in (
        "limit max_iterations reached: 2 steps a tick",
        "execution_config.max_iterations_per_tick",
        "safety_config.on_limit.mode",
        "partial results are kept",
    ):
        assert part in stop.detail
    assert stage.turn.marks["limit_stopped"]


def test_f2_a_word_that_cannot_be_said_is_none() -> None:
    """Where the last word cannot be delivered, nobody was told."""
    stage = Stage(*looks(2), reply(content="I have two."))
    stage.tools.outcomes = {"whisper": [ToolError("Tom is not here")]}
    stop = stage.play(max_iterations=2)
    assert not stop.is_told
    assert stop.detail.endswith("the last call failed: Tom is not here")


def test_f3_the_last_word_is_counted_and_asks_nobody() -> None:
    last = reply(content="So far two.", tokens=7)
    stage = bounded(Stage(*looks(2), last), max_model_calls_per_tick=2)
    stage.play(max_iterations=2)
    assert TokenUsage(27, 3) == stage.turn.usage
    assert (3, ["max_iterations"]) == (stage.turn.model_calls, asked(stage))


def test_f3_a_model_that_still_calls_a_tool_means_its_message() -> None:
    """The call is not run; the message in it is sent the way the question came."""
    stage = Stage(*looks(2), reply(ToolCall("x", "say", {"message": "So far two."})))
    assert stage.play(max_iterations=2).is_told
    assert ["note whisper", "run whisper"] == stage.diary[-2:]


def test_what_it_would_whisper_is_not_said_aloud() -> None:
    """Where the question was asked aloud, the last word goes to whom it is whispered."""
    whisper = ToolCall("x", "whisper", {"target": "Tom", "message": "So far two."})
    stage = Stage(*looks(2), reply(whisper), source="say")
    assert stage.play(max_iterations=2).is_told
    assert ["note whisper", "run whisper"] == stage.diary[-2:]
    assert '"target": "Tom"' in str(stage.turn.said[-2]), stage.turn.said[-2]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(ToolCall("x", "say", {"message": None}), id="null"),
        pytest.param(ToolCall("x", "say", {"message": ["hm"]}), id="a list"),
        pytest.param(look(2), id="another tool"),
        pytest.param(ToolCall("x", "say", problem="not JSON"), id="unreadable"),
    ],
)
def test_a_call_without_a_message_leaves_the_words_beside_it(call: ToolCall) -> None:
    stage = Stage(*looks(2), reply(call, content="So far two."))
    assert stage.play(max_iterations=2).is_told
    assert "So far two." in str(stage.turn.said[-2])


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(reply(ToolCall("x", "say", {"message": None})), id="a call"),
        pytest.param(reply(content='look(target="the lamp")'), id="one in words"),
        pytest.param(reply(content='{"tool": "look", "parameters": {}}'), id="one in JSON"),
    ],
)
def test_a_call_without_a_message_says_nothing_alone(answer: Reply) -> None:
    stage = Stage(*looks(2), answer)
    assert not stage.play(max_iterations=2).is_told
    assert "run whisper" not in stage.diary


def test_instructions_are_no_last_word() -> None:
    """A model that recites its instructions says nothing of them here either."""
    stage = Stage(*looks(2), reply(content=f"Sure! {RULES}"))
    stage.instructions = RULES
    assert not stage.play(max_iterations=2).is_told
    assert "run whisper" not in stage.diary


def test_nobody_waits_for_a_last_word() -> None:
    """A turn that the assistant began by itself ends without a last word, which saves the call."""
    stage = Stage(*looks(9), kind=OWN)
    stop = stage.play(max_iterations=2)
    assert (False, 2) == (stop.is_told, stage.diary.count("ask"))


# Out of time in a call of the model, the turn ends as by an error of the model.
@pytest.mark.parametrize(
    "kind", [kind for kind in LimitKind if kind is not LimitKind.MODEL_CALL_SECONDS], ids=str
)
def test_f4_no_call_is_without_a_result_whatever_limit_ends_it(kind: LimitKind) -> None:
    hit = LimitReachedError(kind, used=1, cap=1, amount=1, scope="task e1")
    stage = Stage(reply(look(1), look(2)), hit)
    stop = stage.play()
    assert kind == stop.limit.kind
    assert 2 == len(stage.results())


def test_f4_a_stop_while_a_last_word_is_awaited() -> None:
    stage = Stage(*looks(2), reply(content="So far two."))
    stage.model.on_ask = lambda tools: None if tools else stage.checkpoint_store.cancel()
    with pytest.raises(StaleEpochError):
        stage.play(max_iterations=2)
    assert "run whisper" not in stage.diary
    assert 2 == len(stage.results())


def test_the_cause_stands_in_front_where_there_is_no_system_message() -> None:
    """The cause becomes the system message, or goes before the text of one that exists."""
    hit = LimitReachedError(LimitKind.ITERATIONS, used=5, cap=5, amount=5, scope="task e1")
    (cause, rest) = with_cause([{"role": "user", "content": "hello"}], hit)
    assert ("system", {"role": "user", "content": "hello"}) == (cause["role"], rest)
    head, _ = with_cause([{"role": "system", "content": "You are Ada."}, rest], hit)
    assert head["content"].endswith("\n\nYou are Ada.")


def test_the_marks_of_what_is_said() -> None:
    """The marks say what a chain was granted and which limit ended the turn."""
    stage = Stage(hops_granted=2)
    assert {"assistant_hops_granted": 2} == stage.turn.marks
    stage.turn.stopped_by = "tool_calls"
    expected = {"assistant_hops_granted": 2, "limit_stopped": True, "limit_kind": "tool_calls"}
    assert expected == stage.turn.marks
    assert {} == Stage().turn.marks
