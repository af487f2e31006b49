"""The fixed answers of the scripted model."""

from typing import Any

import pytest

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.turn.conversation import event_text, user_message
from evennia_ai.core.turn.toolspec import ToolCall, ToolSpec
from evennia_ai.llm.replies import REQUESTS, parse_reply
from evennia_ai.llm.scripted import LOOK_WORDS, ScriptedTransport


def _event(source: str, body: str, name: str = "Tom") -> Event:
    return Event("e1", "message", source, "#5", name, body, 0.9, 3, 0, 0.0)


def _ask(messages: list[Any], mode: str = "native", tools: tuple[ToolSpec, ...] = ()) -> ToolCall:
    answers: list[bytes] = []
    ScriptedTransport().post(REQUESTS[mode](messages, tools)).addCallback(answers.append)
    (call,) = parse_reply(answers[0], mode).tool_calls
    return call


def _answer(event: Event, mode: str = "native") -> ToolCall:
    return _ask([user_message(event_text(event))], mode)


@pytest.mark.parametrize("mode", ["native", "json"])
@pytest.mark.parametrize("tool", ["whisper", "page"])
@pytest.mark.parametrize("body", ["hello?", 'he said: "go"', "two\nlines", "{} $You() |r"])
def test_a_message_is_answered_the_way_it_came(mode: str, tool: str, body: str) -> None:
    call = _answer(_event(tool, body), mode)
    assert (tool, "Tom") == (call.name, call.arguments["target"])
    assert f'I heard you: "{body}". I answer from a script.' == call.arguments["message"]


def test_speech_is_answered_aloud() -> None:
    assert "say" == _answer(_event("say", "@ada hello")).name


@pytest.mark.parametrize("words", LOOK_WORDS)
def test_it_looks_before_it_answers_what_is_there(words: str) -> None:
    asked = user_message(event_text(_event("whisper", words)))
    assert "look" == _ask([asked]).name
    assert "whisper" == _ask([asked, {"role": "tool", "content": "a room"}]).name


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    """It calls any tool that is offered, so tool calls can be checked without a model."""
    parameters = {
        "type": "object",
        "properties": {"times": {"type": "integer"}},
        "required": ["times"],
    }
    call = _ask([user_message("Ring!")], tools=(ToolSpec("ring_bell", "Ring.", parameters),))
    assert ("ring_bell", {"times": 1}) == (call.name, call.arguments)


def test_each_call_has_an_id_of_its_own() -> None:
    transport, ids = ScriptedTransport(), set()
    for _ in range(3):
        transport.post({"messages": [user_message("hi")]}).addCallback(
            lambda body: ids.add(parse_reply(body, "native").tool_calls[0].id)
        )
    assert (3, 3) == (len(ids), transport.calls)
