"""Turns shown to a small model before the talk, so that it sees what an answer looks like.

The first few are for every assistant; what an assistant knows is shown best by examples of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


_ASKERS = (("Nell", "whispers to you"), ("Otto", "says to you"))


def examples(own: Iterable[Sequence[str]] = ()) -> list[Message]:
    """The common turns, then an assistant's own pairs of what is asked and how it answers."""
    asked = [
        (*_ASKERS[number % len(_ASKERS)], heard, answer)
        for number, (heard, answer) in enumerate(own)
    ]
    turns = enumerate([*_TURNS, *asked])
    return [message for number, turn in turns for message in _example(number, *turn)]
