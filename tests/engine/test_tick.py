"""One tick of the engine."""

from evennia_ai.core.hearing.perception import Overheard
from tests.core.samples import make_event
from tests.engine.doubles import HELLO, Stage, reply


def test_the_event_is_told_first() -> None:
    stage = Stage(reply(HELLO), body='the "lamp"\nwent out')
    assert "terminal_tool" == stage.play().reason
    line = 'Tom whispers to you (trust 0.9): "the \\"lamp\\"\\nwent out"'
    message = {"role": "user", "content": line}
    assert message == stage.turn.said[0]
    assert message == stage.model.asked[0][-1]


def test_a_burst_is_told_at_once() -> None:
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
    stage = Stage(reply(HELLO))
    stage.play()
    assert ["user", "assistant", "tool"] == [message["role"] for message in stage.turn.said]
    assert [{"role": "user", "content": "earlier"}] == stage.turn.history
