"""Several calls in one reply: what is run, and what the context has room for."""

import json

import pytest

from evennia_ai.core.turn.tokens import ADVICE, Advisory
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import ContextLengthError
from tests.engine.doubles import DIG, HELLO, LOOK, NOOP, Stage, dangling, ran, reply

SAY = ToolCall("c6", "say", {"message": "Hello, all."})
FLY = ToolCall("c7", "fly", {})


@pytest.mark.parametrize(
    ("reason", "names", "text", "calls"),
    [
        pytest.param("terminal_tool", "look whisper", "", (LOOK, HELLO), id="look, then speak"),
        pytest.param("terminal_tool", "whisper say", "", (HELLO, SAY), id="speak twice"),
        pytest.param(None, "whisper look", "", (HELLO, LOOK), id="looked up to be seen"),
        pytest.param("dangerous_tool", "dig", "not done: nothing follows dig in one turn",
                     (DIG, HELLO), id="nothing follows a change of the world"),
        pytest.param("dangerous_tool", "dig", "not done: nothing follows dig in one turn",
                     (DIG, LOOK), id="not even a look"),
        pytest.param("noop", "noop", "not done: nothing follows noop", (NOOP, HELLO),
                     id="nothing is nothing"),
        pytest.param("terminal_tool", "whisper", "(once: you asked for the same twice)",
                     (HELLO, HELLO), id="the same words once"),
        pytest.param(None, "", "not done: a call before it failed, which you did not know",
                     (FLY, HELLO), id="no words about what failed"),
        pytest.param(None, "look", "there is no tool 'fly'", (FLY, LOOK), id="a look goes on"),
    ],
)  # fmt: skip
def test_several_calls_in_one_reply(
    reason: str | None, names: str, text: str, calls: tuple[ToolCall, ...]
) -> None:
    """Calls run in order; one that rests on what the model could not know yet is not done."""
    stage = Stage(reply(*calls))
    stop = stage.play(max_iterations=1)
    assert (reason or "max_iterations") == stop.reason
    assert names.split() == ran(stage)
    assert text in " ".join(stage.results())
    assert len(calls) == len(stage.results())


def test_one_call_at_a_time() -> None:
    stage = Stage(reply(LOOK, HELLO), reply(HELLO))
    assert "terminal_tool" == stage.play(allows_multi_tool=False).reason
    assert "not done: one call at a time" in stage.results()[1]


def test_speaking_need_not_end_it() -> None:
    stage = Stage(reply(HELLO), reply(NOOP))
    assert "noop" == stage.play(terminal_ends_loop=False).reason
    assert 1 == stage.turn.effects


def test_a_result_is_kept_before_the_next_call() -> None:
    """Each checkpoint has the results so far, and says that the other calls are not done."""
    stage = Stage(reply(LOOK, SAY, HELLO))
    stage.play()
    first, second = stage.checkpoint_store.kept
    assert ["look done", "not done: the turn ended before it"] == [
        json.loads(first[at]["content"]).get(key) for at, key in ((2, "result"), (3, "error"))
    ]
    assert json.loads(second[3]["content"])["success"]
    assert [] == [*dangling(first), *dangling(second)]


@pytest.mark.parametrize(
    ("reason", "asked", "advice", "fill", "answers"),
    [
        pytest.param("terminal_tool", 2, None, [100], [reply(LOOK, tokens=0), reply(HELLO)],
                     id="room enough"),
        pytest.param("terminal_tool", 2, "warning", [600], [reply(LOOK, tokens=0), reply(HELLO)],
                     id="time to conclude"),
        pytest.param("terminal_tool", 2, "critical", [800], [reply(LOOK, tokens=0), reply(HELLO)],
                     id="the last word"),
        pytest.param("critical_tokens", 2, "critical", [800], [reply(LOOK, tokens=0), reply(LOOK)],
                     id="it did not take its last word"),
        pytest.param("critical_tokens", 1, None, [900, 1001], [reply(LOOK)],
                     id="nothing more fits"),
        pytest.param("critical_tokens", 0, None, [1001], [], id="it never fitted"),
        pytest.param("terminal_tool", 2, "critical", [100], [reply(LOOK, tokens=850), reply(HELLO)],
                     id="the service counts better than we"),
    ],
)  # fmt: skip
def test_a_context_that_fills_up(
    reason: str, asked: int, advice: str | None, fill: list[int], answers: list[Reply]
) -> None:
    """From 60 % on the model is advised to conclude; at 80 % it has one more call."""
    stage = Stage(*answers)
    stage.fill, stage.word = fill, 0
    assert reason == stage.play().reason
    assert asked == len(stage.model.asked)
    if asked > 1:
        shown = json.loads(stage.model.asked[1][-1]["content"]).get("advisory")
        assert (ADVICE[Advisory(advice)] if advice else None) == shown


def test_what_fills_the_context_is_told() -> None:
    stage = Stage()
    stage.fill = [1200]
    detail = stage.play().detail
    assert detail.startswith(
        "its prompt does not fit: it needs about 1,200 tokens (0 of them tools), and the model "
        "reads 1,000. Let the model read more, and say how much by max_context_tokens; or show it "
    )


def test_the_last_step_but_one_is_announced() -> None:
    stage = Stage(reply(LOOK), reply(HELLO))
    stage.play(max_iterations=2)
    result = json.loads(stage.model.asked[1][-1]["content"])
    assert "one step is left: answer now" == result["advisory"]


TOO_LONG = ContextLengthError(400, "it takes 8192 tokens")


@pytest.mark.parametrize(
    ("reason", "asked", "answers"),
    [
        pytest.param("terminal_tool", 2, [TOO_LONG, reply(HELLO)], id="fits without history"),
        pytest.param("critical_tokens", 2, [TOO_LONG, TOO_LONG], id="it does not fit at all"),
    ],
)
def test_a_prompt_that_is_too_long_for_the_model(
    reason: str, asked: int, answers: list[Reply | Exception]
) -> None:
    """When the service says that it was too much, the history is left out once."""
    stage = Stage(*answers)
    assert reason == stage.play().reason
    assert [2, 1][:asked] == [len(messages) for messages in stage.model.asked]


def test_a_refusal_is_told_with_what_was_sent() -> None:
    """Staff read the service's own words between the figures and the advice."""
    detail = Stage(TOO_LONG, TOO_LONG).play().detail
    assert detail.startswith("the prompt is longer than the model reads: it has about ")
    assert ", and 1,000 were taken to fit. it takes 8192 tokens. Let the model read more" in detail
