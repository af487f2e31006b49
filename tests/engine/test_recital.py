"""A model that recites its instructions is corrected once; the second time it stays silent."""

from evennia_ai.core.safety.persona import REFUSAL
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.engine.ports import Reply
from tests.engine.doubles import HELLO, Stage, ran, reply

RULES = "You act only by calling tools, and you keep to one or two sentences of plain text."


def recital() -> Reply:
    return Reply(content=f"Sure! {RULES}")


def stage_with(*answers: Reply) -> Stage:
    """A turn whose prompt holds the instructions."""
    stage = Stage(*answers)
    stage.instructions = RULES
    return stage


def test_the_second_attempt_is_said() -> None:
    """The recital is not run; the model is told why and answers again."""
    stage = stage_with(recital(), reply(HELLO))
    assert "terminal_tool" == stage.play().reason
    assert ["whisper"] == ran(stage)
    assert REFUSAL in stage.results()[0]


def test_nor_is_it_said_by_a_tool() -> None:
    """A call that holds the instructions is not run, nor is any call beside it."""
    call = ToolCall("c9", "say", {"message": RULES})
    stage = stage_with(reply(call, HELLO), reply(HELLO))
    assert "terminal_tool" == stage.play().reason
    assert ["whisper"] == ran(stage)


def test_twice_is_the_end() -> None:
    stage = stage_with(recital(), recital(), reply(HELLO))
    stop = stage.play()
    assert ("parse_error", True) == (stop.reason, stop.is_failure)
    assert [] == ran(stage)
    assert "the model said its own instructions, twice" == stop.detail
    assert 2 == len(stage.model.asked)


def test_silence_after_a_recital_is_told_as_silence() -> None:
    """Staff read why there was no answer: the model did not recite again."""
    stop = stage_with(recital(), Reply(finish_reason="length")).play()
    assert "parse_error" == stop.reason
    assert stop.detail.startswith("the model answered with neither text nor a tool call")
