"""Tasks that other assistants hand over."""

from dataclasses import replace

import pytest

from evennia_ai.core.hearing.inbox import TASK, Event, batch, joins
from evennia_ai.core.turn.conversation import event_text
from evennia_ai.core.turn.speech import answer_call, answered_by, spoken_call
from evennia_ai.core.turn.toolspec import ToolCall

TASK_OF_ADA = Event("t1", TASK, "whisper", "#5", "Ada", "count", 0.9, 0, 2, 0.0, person="*#1")


def test_a_task_has_a_turn_of_its_own() -> None:
    """Somebody waits for the report of each, so a message of the same person does not join."""
    one, other = TASK_OF_ADA.as_stored(), replace(TASK_OF_ADA, id="t2").as_stored()
    message = replace(TASK_OF_ADA, id="m1", kind="message").as_stored()
    assert joins(one, one)
    assert [False, False, False] == [joins(one, other), joins(one, message), joins(message, one)]
    assert [one] == batch([message, one, other], one, 9)


def test_a_task_is_told_as_one() -> None:
    expected = 'Ada hands you a task (trust 0.9); do it, then report what came of it: "count"'
    assert expected == event_text(TASK_OF_ADA, shows_trust=True)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param("report", {}, id="a task"),
        pytest.param("whisper", {"kind": "message"}, id="a whisper"),
        pytest.param("say", {"kind": "message", "source": "say"}, id="said"),
    ],
)
def test_what_answers_it(name: str, changes: dict[str, str]) -> None:
    assert name == answered_by(replace(TASK_OF_ADA, **changes))


def test_plain_text_is_a_report() -> None:
    report = ToolCall("c1", "report", {"message": "Seven."})
    assert report == answer_call("Seven.", TASK_OF_ADA, "c1")
    assert (replace(report, id="call_t1_1"),) == spoken_call("Seven.", TASK_OF_ADA, 1)
