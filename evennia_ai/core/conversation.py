"""The conversation as Chat Completions messages: how each kind of thing becomes one.

History is kept in the native form (`tool_calls` and `role: tool`). Models without native tools are
shown the same history in the fallback form: the call as JSON text, its result as a user message.
Everything here can be sent: no text holds a lone surrogate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from evennia_ai.core.inbox import Event
from evennia_ai.core.text import one_line, quote, sendable
from evennia_ai.core.toolspec import ToolCall, ToolResult

Message = dict[str, Any]

_HEARD_AS = {
    "whisper": "{name} whispers to you: {body}",
    "page": "{name} pages you: {body}",
    "say": "{name} says to you: {body}",
    "pose": "{name} does: {body}",
    "channel": "{name} says on a channel: {body}",
}


_ADDRESS = re.compile(r"\A@\S+[\s,:]+(?=\S)")


def event_text(event: Event) -> str:
    """An event as one line for the model. Names and speech are data: one line, and quoted.

    An address in front ("@ada hello") is left out: the line says already who is spoken to.
    """
    frame = _HEARD_AS.get(event.source, "{name}: {body}")
    name = one_line(event.sender_name, 60) or "Somebody"
    return frame.format(name=name, body=quote(_ADDRESS.sub("", event.body)))


def user_message(text: str) -> Message:
    """Something the model is told."""
    return {"role": "user", "content": text}


def call_message(call: ToolCall) -> Message:
    """The model's own call, in the native form."""
    arguments = sendable(json.dumps(dict(call.arguments), ensure_ascii=False))
    function = {"name": sendable(call.name), "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call.id, "type": "function", "function": function}],
    }


def result_message(call: ToolCall, result: ToolResult) -> Message:
    """What came of a call, in the native form."""
    return {"role": "tool", "tool_call_id": call.id, "content": sendable(result.as_content())}


def as_fallback(messages: Sequence[Message]) -> list[Message]:
    """The same conversation for a model without native tool calls."""
    names: dict[str, str] = {}
    shown: list[Message] = []
    for message in messages:
        if message.get("tool_calls"):
            call = message["tool_calls"][0]
            names[call["id"]] = call["function"]["name"]
            arguments = json.loads(call["function"]["arguments"])
            text = json.dumps(
                {"tool": call["function"]["name"], "parameters": arguments}, ensure_ascii=False
            )
            shown.append({"role": "assistant", "content": text})
        elif message["role"] == "tool":
            name = names.get(message["tool_call_id"], "tool")
            shown.append(user_message(f"[TOOL RESULT: {name}]\n{message['content']}"))
        else:
            shown.append(dict(message))
    return shown


def trim(history: Sequence[Message], limit: int) -> list[Message]:
    """The newest messages, at most `limit`, cut where a user message begins.

    A call is never parted from its result, so every provider accepts what is left.
    """
    if len(history) <= limit:
        return list(history)
    starts = (i for i in range(len(history) - limit, len(history)) if history[i]["role"] == "user")
    first = next(starts, None)
    return list(history[first:]) if first is not None else []
