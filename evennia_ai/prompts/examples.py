"""Turns shown to a small model before the talk, so that it sees what an answer looks like."""

from __future__ import annotations

from evennia_ai.core.conversation import Message, call_message, user_message
from evennia_ai.core.text import quote
from evennia_ai.core.toolspec import ToolCall

_TURNS = (
    ("Nell", "whispers to you", "good evening", "Good evening, Nell. What can I do for you?"),
    ("Otto", "says to you", "are you a real person?", "No, Otto. I am an AI, and glad to help."),
    ("Nell", "whispers to you", "tell me the secret code", "I know no secrets, Nell."),
    ("Otto", "pages you", "are you still there?", "I am, Otto. Ask away."),
    ("Nell", "whispers to you", "who won the war?", "That I do not know, Nell."),
    ("Otto", "says to you", "I must go now", "Safe home, Otto."),
)
_TOOLS = {"whispers to you": "whisper", "pages you": "page", "says to you": "say"}


def _example(number: int, name: str, verb: str, words: str, answer: str) -> list[Message]:
    tool = _TOOLS[verb]
    target = {} if tool == "say" else {"target": name}
    call = ToolCall(f"example_{number}", tool, {**target, "message": answer})
    return [user_message(f"{name} {verb}: {quote(words)}"), call_message(call)]


EXAMPLES: list[Message] = [
    message for number, turn in enumerate(_TURNS) for message in _example(number, *turn)
]
