"""One tick."""

from __future__ import annotations

from evennia_ai.core.hearing.perception import Overheard
from tests.core.samples import make_event
from tests.engine.doubles import HELLO, Stage, reply


def test_the_event_is_told_first() -> None:
    """The event opens what the turn adds to the conversation, quoted and on one line."""
    stage = Stage(reply(HELLO), body='the "lamp"\nwent out')
    assert "terminal_tool" == stage.play().reason
    line = 'Tom whispers to you (trust 0.9): "the \\"lamp\\"\\nwent out"'
    told = {"role": "user", "content": line}
    assert told == stage.turn.said[0]
    assert told == stage.model.asked[0][-1]


def test_a_burst_is_told_at_once() -> None:
    """All events of a turn and what was overheard are told at once, and the model is asked once."""
    stage = Stage(reply(HELLO))
    stage.turn.events = (make_event(body="the lamp"), make_event(body="it went out"))
    stage.turn.event = stage.turn.events[-1]
    stage.turn.overheard = (Overheard("say", "*#4", "Mia", "", "good evening", 0.4),)
    stage.play()
    expected = [
        "Meanwhile you noticed:",
        '- Mia said: "good evening" (trust 0.4)',
        "",
        'Tom whispers to you (trust 0.9): "the lamp"',
        'Tom whispers to you (trust 0.9): "it went out"',
    ]
    assert expected == stage.turn.said[0]["content"].splitlines()
    assert ["ask", "note whisper", "run whisper"] == stage.diary


def test_the_turn_holds_what_happened() -> None:
    """After the tick the turn holds event, call and result, and the old history is as it was."""
    stage = Stage(reply(HELLO))
    stage.play()
    assert ["user", "assistant", "tool"] == [message["role"] for message in stage.turn.said]
    assert [{"role": "user", "content": "earlier"}] == stage.turn.history
