"""One tick."""

from __future__ import annotations

from tests.engine.doubles import HELLO, Stage, reply


def test_the_event_is_told_first() -> None:
    """The event opens what the turn adds to the conversation, quoted and on one line."""
    stage = Stage(reply(HELLO), body='the "lamp"\nwent out')
    assert "terminal_tool" == stage.play().reason
    told = {"role": "user", "content": 'Tom whispers to you: "the \\"lamp\\"\\nwent out"'}
    assert told == stage.turn.said[0]
    assert told == stage.model.asked[0][-1]


def test_the_turn_holds_what_happened() -> None:
    """After the tick the turn holds event, call and result, and the old history is as it was."""
    stage = Stage(reply(HELLO))
    stage.play()
    assert ["user", "assistant", "tool"] == [message["role"] for message in stage.turn.said]
    assert [{"role": "user", "content": "earlier"}] == stage.turn.history
