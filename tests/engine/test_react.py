"""The ReAct loop: its steps, their order, and why it ends."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.conversation import BESIDE
from evennia_ai.core.turn.execution import ExecutionMode
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    CircuitOpenError,
    ModelConnectionError,
    ModelReplyError,
    ModelStatusError,
    ModelTimeoutError,
    StaleEpochError,
    ToolError,
)
from tests.engine.doubles import DIG, HELLO, LOOK, NOOP, Stage, dangling, finish, reply


@pytest.mark.parametrize(
    ("reason", "diary", "answers"),
    [
        pytest.param("terminal_tool", "ask, note whisper, run whisper", [reply(HELLO)],
                     id="it spoke"),
        pytest.param("dangerous_tool", "ask, note dig, run dig", [reply(DIG)], id="it dug"),
        pytest.param("noop", "ask, run noop", [reply(NOOP)], id="it chose to do nothing"),
        pytest.param("terminal_tool", "ask, run look, keep, note whisper, run whisper",
                     [reply(LOOK, HELLO)], id="it looked and spoke in one reply"),
        pytest.param("dangerous_tool", "ask, note whisper, run whisper, keep, note dig, run dig",
                     [reply(HELLO, DIG)], id="it spoke and dug in one reply"),
        pytest.param("terminal_tool", "ask, run look, keep, ask, note whisper, run whisper",
                     [reply(LOOK), reply(HELLO)], id="it looked, then spoke"),
        pytest.param("max_iterations",
                     "ask, run look, keep, ask, run look, keep, limit max_iterations, ask",
                     [reply(LOOK)] * 2, id="only looked"),
        pytest.param("parse_error", "ask", [reply()], id="it gave nothing"),
        pytest.param("llm_error", "ask", [ModelTimeoutError("no answer")], id="the model failed"),
        pytest.param("llm_error", "ask, run look, keep, ask",
                     [reply(LOOK), ModelConnectionError("gone")], id="the model failed on the way"),
        pytest.param("llm_error", "ask", [CircuitOpenError("llm", 9)], id="the breaker was open"),
    ],
)  # fmt: skip
def test_every_end(reason: str, diary: str, answers: list[Reply | Exception]) -> None:
    """Each way to end has its reason, and nothing is done beyond what led there."""
    stage = Stage(*answers)
    assert reason == stage.play(max_iterations=2).reason
    assert diary == ", ".join(stage.diary)
    stage.results()


@pytest.mark.parametrize(
    ("stop", "answer"),
    [
        pytest.param(
            Stop(
                StopReason.LLM_ERROR,
                "HTTP 500",
                is_of_service=True,
                may_lock=False,
                trouble="HTTP 500",
            ),
            ModelStatusError(500, "HTTP 500"),
            id="status",
        ),
        pytest.param(
            Stop(StopReason.LLM_ERROR, "no choices", may_lock=False),
            ModelReplyError("no choices"),
            id="reply",
        ),
        pytest.param(
            Stop(
                StopReason.LLM_ERROR,
                "breaker 'llm' is open, next try in 9 s",
                is_counted=False,
                is_of_service=True,
                may_lock=False,
                trouble="it rests",
            ),
            CircuitOpenError("llm", 9.0),
            id="an open breaker is not one more error",
        ),
        pytest.param(
            Stop(StopReason.PARSE_ERROR, "the model answered with neither text nor a tool call"),
            Reply(" \n"),
            id="silence",
        ),
        pytest.param(
            Stop(
                StopReason.PARSE_ERROR,
                "the model answered with neither text nor a tool call (finish reason length); its "
                "tokens were used up before it came to that: raise llm_max_tokens",
            ),
            Reply("", finish_reason="length"),
            id="silence with a reason",
        ),
        pytest.param(
            Stop(
                StopReason.PARSE_ERROR,
                "the model's text holds nothing that can be said (finish reason stop)",
            ),
            Reply("<think>hm</think>", finish_reason="stop"),
            id="thoughts alone",
        ),
    ],
)
def test_staff_are_told_the_cause(stop: Stop, answer: Reply | Exception) -> None:
    assert stop == Stage(answer).play()


def test_running_out_of_steps_tells_what_was_in_the_way() -> None:
    """Staff read the last failure, or else the number of steps."""
    one_a_beat = {"mode": ExecutionMode.SINGLE_ACTION, "max_iterations": 1}
    assert "1 steps without an answer" == Stage(reply(LOOK)).play(**one_a_beat).detail
    failing = Stage(reply(LOOK), reply(HELLO))
    failing.tools.outcomes = {"whisper": [ToolError("Tom is not here")]}
    assert failing.play(max_iterations=2).detail.endswith("the last call failed: Tom is not here")


def test_a_single_action_ends_after_one_step() -> None:
    stage = Stage(reply(LOOK), reply(HELLO))
    stop = stage.play(max_iterations=1, mode=ExecutionMode.SINGLE_ACTION)
    assert Stop(StopReason.MAX_ITERATIONS, "1 steps without an answer") == stop
    assert ["ask", "run look", "keep"] == stage.diary
    assert stage.checkpoint_store.kept[-1] == stage.turn.said


def test_a_turn_that_was_set_down_goes_on() -> None:
    """Nothing is said twice, and the count of steps goes on."""
    first = Stage(reply(LOOK))
    first.play(max_iterations=1)
    second = Stage(reply(LOOK), reply(HELLO))
    second.turn.said, second.turn.iterations = first.checkpoint_store.kept[-1], 1
    assert "terminal_tool" == second.play(max_iterations=2).reason
    roles = ["user", "assistant", "tool", "assistant", "tool", "assistant", "tool"]
    assert roles == [message["role"] for message in second.turn.said]
    assert 3 == second.turn.iterations


def test_a_failed_answer_may_be_corrected() -> None:
    """A failed call does not end the loop: the model sees the error and may try again."""
    stage = Stage(reply(HELLO), reply(ToolCall("c5", "say", {"message": "Hello."})))
    stage.tools.outcomes = {"whisper": [ToolError("Tom is not here")]}
    assert "terminal_tool" == stage.play().reason
    failed = json.dumps({"success": False, "error": "Tom is not here"})
    assert failed == stage.model.asked[1][-1]["content"]
    assert 2 == len(stage.results())


@pytest.mark.parametrize(
    ("error", "call"),
    [
        pytest.param("there is no tool 'fly'; there are say, whisper, look, dig, noop",
                     ToolCall("c9", "fly"), id="unknown"),
        pytest.param("the arguments of say are not valid JSON",
                     ToolCall("c9", "say", problem="the arguments of say are not valid JSON"),
                     id="bad JSON"),
        pytest.param("whisper needs target, message", ToolCall("c9", "whisper"), id="missing"),
        pytest.param("say: message must be text", ToolCall("c9", "say", {"message": 3}),
                     id="of the wrong type"),
    ],
)  # fmt: skip
def test_a_call_that_cannot_run_is_never_run(error: str, call: ToolCall) -> None:
    stage = Stage(reply(call), reply(HELLO))
    assert "terminal_tool" == stage.play().reason
    assert ["ask", "keep", "ask", "note whisper", "run whisper"] == stage.diary
    assert error == json.loads(stage.results()[0])["error"]


def test_words_beside_a_call_that_nobody_can_read_are_said() -> None:
    """The text is sent the way the question came, without another call of the model."""
    broken = ToolCall("c9", "look", problem="the arguments of look are not valid JSON")
    stage = Stage(reply(broken, broken, content="Good evening, Tom."))
    assert "terminal_tool" == stage.play().reason
    assert ["ask", "note whisper", "run whisper"] == stage.diary
    assert "Good evening, Tom." in str(stage.turn.said[1])


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param((LOOK, ToolCall("c9", "say", problem="bad JSON")), id="one can be read"),
        pytest.param((ToolCall("c9", "noop", problem="bad JSON"),), id="it is to be silent"),
    ],
)
def test_words_beside_other_calls_are_thoughts(calls: tuple[ToolCall, ...]) -> None:
    stage = Stage(reply(*calls, content="I had better look first."), reply(NOOP))
    assert "noop" == stage.play().reason
    assert "run whisper" not in stage.diary


def test_nothing_to_do_ends_it_even_if_said_wrongly() -> None:
    assert "noop" == Stage(reply(ToolCall("c9", "noop", {"reason": 3}))).play().reason


def test_another_model_answered() -> None:
    """The reason why the first choice did not answer is kept once, for staff."""
    other = replace(reply(LOOK), notice="gpt-y answered: gpt-x is down")
    stage = Stage(other, replace(other, tool_calls=(HELLO,)))
    stage.play()
    assert ["gpt-y answered: gpt-x is down"] == stage.turn.notices


@pytest.mark.parametrize(
    ("name", "arguments", "source"),
    [
        pytest.param("whisper", {"target": "Tom", "message": "Hello."}, "whisper", id="whisper"),
        pytest.param("say", {"message": "Hello."}, "say", id="say"),
        pytest.param("say", {"message": "Hello."}, "pose", id="pose"),
    ],
)
def test_plain_text_is_answered_the_way_it_came(
    name: str, arguments: dict[str, str], source: str
) -> None:
    """The text is sent by the tool that matches the event's source, and kept as that call."""
    stage = Stage(reply(content="<think>hm</think> Hello."), source=source)
    assert "terminal_tool" == stage.play().reason
    function = stage.turn.said[1]["tool_calls"][0]["function"]
    assert (name, arguments) == (function["name"], json.loads(function["arguments"]))


@pytest.mark.parametrize(
    ("is_talk", "answers"),
    [
        pytest.param(True, [reply(content="Hello.")], id="plain words"),
        pytest.param(False, [reply(HELLO)], id="a call"),
        pytest.param(False, [reply(LOOK), reply(content="Hello.")], id="words after a call"),
    ],
)
def test_mere_talk(is_talk: bool, answers: list[Reply]) -> None:
    """A turn is mere talk if the model gave plain words and called nothing before them."""
    stage = Stage(*answers)
    stage.play()
    assert is_talk is stage.turn.is_talk


@pytest.mark.parametrize("name", ["WHISPER", "Whisper"])
def test_a_tool_is_known_in_any_case(name: str) -> None:
    stage = Stage(reply(replace(HELLO, name=name)))
    assert "terminal_tool" == stage.play().reason
    assert HELLO.name == stage.turn.said[1]["tool_calls"][0]["function"]["name"]


def test_plain_text_to_a_page_needs_the_tool() -> None:
    """An answer by a tool that is not on offer is refused like any unknown tool."""
    stage = Stage(reply(content="Hello."), reply(HELLO), source="page")
    assert "terminal_tool" == stage.play().reason
    assert "there is no tool 'page'" in stage.results()[0]


def test_what_will_be_noticed_is_noted_first() -> None:
    """When the note cannot be made, there is no effect."""
    stage = Stage(reply(HELLO))
    stage.checkpoint_store.fault = OSError("disk full")
    with pytest.raises(OSError, match="disk full"):
        stage.play()
    assert ["ask"] == stage.diary


def test_cancelled_while_the_model_thinks() -> None:
    stage = Stage(reply(HELLO))
    stage.model.waits = True
    running = stage.start()
    assert "waiting" == running.send(None)
    stage.checkpoint_store.cancel()
    with pytest.raises(StaleEpochError, match="turn of epoch 7 met epoch 8"):
        running.send(None)
    assert ["ask"] == stage.diary
    assert TokenUsage() == stage.turn.usage


def test_cancelled_while_a_tool_runs() -> None:
    stage = Stage(reply(LOOK), reply(HELLO))
    stage.tools.on_run = stage.checkpoint_store.cancel
    with pytest.raises(StaleEpochError):
        stage.play()
    assert ["ask", "run look"] == stage.diary
    assert "look done" in stage.results()[0]


def test_cancelled_before_it_began() -> None:
    stage = Stage(reply(HELLO))
    stage.checkpoint_store.cancel()
    with pytest.raises(StaleEpochError):
        stage.play()
    assert [] == stage.diary


def test_usage_adds_up_over_the_steps() -> None:
    stage = Stage(reply(LOOK, tokens=100), reply(HELLO, tokens=200))
    stage.play()
    assert (TokenUsage(300, 2), 2) == (stage.turn.usage, stage.turn.iterations)


def test_the_model_sees_history_then_this_turn() -> None:
    stage = Stage(reply(LOOK), reply(HELLO))
    stage.play()
    roles = [[message["role"] for message in asked] for asked in stage.model.asked]
    assert [["user", "user"], ["user", "user", "assistant", "tool"]] == roles


def test_what_came_beside_a_call_goes_back_with_it() -> None:
    """It is about the call; a text that was read as a call has nothing to do with it."""
    beside = {"m": {"reasoning_content": "I should look.", "tokens": 4}}
    written = replace(reply(content='{"tool": "look"}'), beside=beside)
    stage = Stage(replace(reply(LOOK), beside=beside), written, reply(HELLO))
    stage.play()
    sent = [message.get(BESIDE) for message in stage.model.asked[-1]]
    assert [None, None, beside, None, None, None] == sent


def test_an_error_of_ours_goes_through() -> None:
    """A defect is not taken for a failure of the model."""
    with pytest.raises(ZeroDivisionError):
        Stage(ZeroDivisionError("ours")).play()


CALLS = st.sampled_from(
    [HELLO, LOOK, NOOP, DIG, ToolCall("c8", "fly"), ToolCall("c9", "say", problem="bad JSON")]
)
ANSWERS = st.lists(
    st.lists(CALLS, max_size=3).map(lambda calls: reply(*calls))
    | st.sampled_from(["", "Hello.", '{"tool": "look"}']).map(lambda text: reply(content=text))
    | st.sampled_from([ModelTimeoutError("late"), CircuitOpenError("llm", 1.0)]),
    min_size=5,
    max_size=5,
)
OUTCOMES = st.lists(st.sampled_from([ToolResult(True, "ok"), ToolError("no"), KeyError("bug")]))


@given(ANSWERS, OUTCOMES, OUTCOMES, st.integers(1, 5))
def test_every_history_can_be_sent_again(
    answers: list[Reply | Exception],
    whispers: list[ToolResult | BaseException],
    looks: list[ToolResult | BaseException],
    most: int,
) -> None:
    stage = Stage(*answers)
    stage.tools.outcomes = {"whisper": whispers, "look": looks}
    stop = stage.play(max_iterations=most)
    stage.results()
    last_words = int(bool(stage.turn.stopped_by))
    assert len(stage.model.asked) == stage.turn.iterations + last_words
    assert stage.turn.iterations <= most
    for before, step in pairwise(["", *stage.diary]):
        if step in ("run say", "run whisper", "run dig"):
            assert step.replace("run", "note") == before
    assert [] == [wrong for messages in stage.checkpoint_store.kept for wrong in dangling(messages)]
    if stop.reason in ("terminal_tool", "dangerous_tool"):
        assert stage.turn.effects >= 1
    assert stage.diary.count("run dig") <= 1


def test_driving_needs_no_framework() -> None:
    assert StopReason.TERMINAL_TOOL is finish(Stage(reply(HELLO)).start()).reason


def test_nothing_to_add_after_speaking() -> None:
    """An empty reply after speech ends the turn; one of thoughts alone is still an error."""
    stage = Stage(reply(HELLO, LOOK), Reply(" "))
    assert "noop" == stage.play().reason
    stage = Stage(reply(HELLO, LOOK), Reply("<think>hm</think>"))
    assert "parse_error" == stage.play().reason


def test_what_no_service_can_have_counted_is_not_believed() -> None:
    """A token count beyond the model's context does not end the turn."""
    stage = Stage(reply(LOOK, tokens=10**12), reply(HELLO))
    assert "terminal_tool" == stage.play().reason
