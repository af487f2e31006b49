"""A turn whose answer nobody can hear any more: it asks and does nothing further."""

import pytest

from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.errors import (
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelStatusError,
    ModelTimeoutError,
    NobodyListensError,
)
from tests.engine.doubles import HELLO, Stage, looks, reply


def leaves_after(stage: Stage, times: int) -> None:
    """The listener is there at so many checks, and gone at the next."""
    answers = [True] * times
    stage.is_heard = lambda turn: bool(answers) and answers.pop()


@pytest.mark.parametrize(
    ("times", "done"),
    [
        pytest.param(0, [], id="before it began"),
        pytest.param(1, ["ask"], id="while the model thought"),
        pytest.param(2, ["ask", "run look"], id="while a tool was used"),
        pytest.param(3, ["ask", "run look", "ask"], id="while it thought again"),
    ],
)
def test_hole_d29_nothing_is_asked_or_done_any_more(times: int, done: list[str]) -> None:
    """The listener is checked before each call and after each reply."""
    stage = Stage(*looks(1), reply(HELLO))
    leaves_after(stage, times)
    with pytest.raises(NobodyListensError, match="Tom has left"):
        stage.play()
    assert done == [what for what in stage.diary if what.split()[0] in ("ask", "run")]
    stage.results()


def test_hole_d29_a_last_word_is_not_asked_for() -> None:
    stage = Stage(*looks(1), reply(content="So far nothing."))
    leaves_after(stage, 2)
    with pytest.raises(NobodyListensError):
        stage.play(max_iterations=1)
    assert 1 == stage.diary.count("ask")


@pytest.mark.parametrize(
    ("is_of_service", "error"),
    [
        pytest.param(True, ModelConnectionError("refused"), id="nobody answers"),
        pytest.param(True, ModelStatusError(401, "no key"), id="a wrong key"),
        pytest.param(True, ModelStatusError(404, "no model"), id="a wrong name"),
        pytest.param(True, ModelStatusError(429, "too many"), id="too many calls"),
        pytest.param(True, ModelStatusError(503, "down"), id="a broken server"),
        pytest.param(False, ModelStatusError(400, "content_filter"), id="a filter"),
        pytest.param(False, ModelStatusError(403, "moderated"), id="another filter"),
        pytest.param(False, ModelStatusError(413, "too large"), id="too large"),
        pytest.param(False, ModelStatusError(422, "no sense"), id="what makes no sense"),
        pytest.param(False, ContextLengthError(400, "too long"), id="too long"),
        pytest.param(False, ModelTimeoutError("late"), id="too long a thought"),
        pytest.param(False, ModelReplyError("nonsense"), id="what cannot be read"),
    ],
)
def test_hole_d26_what_a_request_may_have_caused(is_of_service: bool, error: ModelError) -> None:
    """The service is blamed only for errors that are surely its own, whoever asks."""
    stage = Stage(error)
    stage.turn.history = []
    stop = stage.play()
    assert isinstance(stop, Stop)
    expected = StopReason.CRITICAL_TOKENS if "too long" == str(error) else StopReason.LLM_ERROR
    assert (expected, is_of_service) == (stop.reason, stop.is_of_service)


def test_hole_d26_a_refused_setting_counts_as_a_wrong_setting() -> None:
    """No request caused it, and no wait ends it, so the assistant is locked after some of them."""
    error = ModelStatusError(400, "no temperature")
    error.blame_setting("llm_temperature")
    stop = Stage(error).play()
    assert isinstance(stop, Stop)
    assert "no temperature; its setting llm_temperature asks for that: change or remove it" == (
        stop.detail
    )
    assert (True, True, True, "") == (
        stop.is_of_service,
        stop.is_counted,
        stop.may_lock,
        stop.trouble,
    )
