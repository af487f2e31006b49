"""Turns shown to a small model before the conversation, so that it sees what an answer looks like."""

from __future__ import annotations

from evennia_ai.core.conversation import Message, call_message, user_message
from evennia_ai.core.toolspec import ToolCall

_TURNS = (
    (
        'Wren whispers to you: "who are you?"',
        "whisper",
        {"target": "Wren", "message": "I keep this place, and I am glad of company."},
    ),
    (
        'Pim says to you: "is it raining?"',
        "say",
        {"message": "I have not been outside to see."},
    ),
)


def _example(number: int, heard: str, tool: str, arguments: dict[str, str]) -> list[Message]:
    return [user_message(heard), call_message(ToolCall(f"example_{number}", tool, arguments))]


EXAMPLES: list[Message] = [
    message for number, turn in enumerate(_TURNS) for message in _example(number, *turn)
]
