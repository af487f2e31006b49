"""The conversation as Chat Completions messages: how each kind of thing becomes one.

History is kept in the native form (`tool_calls` and `role: tool`). Models without native tools are
shown the same history in the fallback form: the call as JSON text, its result as a user message.
Everything here can be sent: no text holds a lone surrogate.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evennia_ai.core.inbox import Event
from evennia_ai.core.overheard import Overheard
from evennia_ai.core.text import name_as_data, place_as_data, quote, sendable
from evennia_ai.core.toolspec import ToolCall, ToolResult

Message = dict[str, Any]
PRIVATE_TO = "private_to"

_HEARD_AS = {
    "whisper": "{name} whispers to you{trust}: {body}",
    "page": "{name} pages you{trust}: {body}",
    "say": "{name} says to you{trust}: {body}",
    "pose": "{name} does{trust}: {body}",
    "channel": "{name} says on the channel {place}{trust}: {body}",
    "emit": "{name} causes{trust}: {body}",
}
_OVERHEARD_AS = {
    "whisper": "{name} whispered to you: {body}",
    "page": "{name} paged you: {body}",
    "say": "{name} said: {body}",
    "pose": "{name} did: {body}",
    "channel": "{name} said on the channel {place}: {body}",
    "emit": "{name} caused: {body}",
    "move": "you saw: {body}",
    "system": "the game told you: {body}",
}


def event_text(event: Event, *, shows_trust: bool = False) -> str:
    """An event as one line for the model. Names and speech are data: one line, and quoted.

    Args:
        shows_trust: say how far the sender is believed, as a number from 0 to 1.
    """
    frame = _HEARD_AS.get(event.source, _HEARD_AS["emit"])
    return frame.format(
        name=_capital(name_as_data(event.sender_name)),
        place=place_as_data(event.place),
        trust=_trust_note(event.trust, is_shown=shows_trust),
        body=quote(event.body),
    )


def _trust_note(trust: float, *, is_shown: bool) -> str:
    return f" (trust {trust:.2g})" if is_shown else ""


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:] if name.startswith("somebody") else name


def overheard_text(item: Overheard) -> str:
    """Something overheard as one line for the model, fenced as an event is."""
    frame = _OVERHEARD_AS.get(item.source, _OVERHEARD_AS["emit"])
    return frame.format(
        name=name_as_data(item.name), place=place_as_data(item.place), body=quote(item.body)
    )


def turn_text(
    events: Sequence[Event], overheard: Sequence[Overheard] = (), *, shows_trust: bool = False
) -> str:
    """What a turn begins with: what was overheard before, then each message, a line each."""
    before = [
        f"- {overheard_text(item)}{_trust_note(item.trust, is_shown=shows_trust)}"
        for item in overheard
    ]
    head = ["Meanwhile you noticed:", *before, ""] if before else []
    return "\n".join([*head, *(event_text(event, shows_trust=shows_trust) for event in events)])


def marked_private(messages: Sequence[Message], person: str) -> list[Message]:
    """The messages of a turn that only turns for this person may know of."""
    return [{**message, PRIVATE_TO: person} for message in messages]


def known_to(history: Sequence[Message], person: str) -> list[Message]:
    """A history as a turn for this person may know it: without private words of anybody else.

    A turn is private as a whole, so no call is parted from its result.
    """
    return [
        {key: value for key, value in message.items() if key != PRIVATE_TO}
        for message in history
        if PRIVATE_TO not in message or (person and message[PRIVATE_TO] == person)
    ]


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


def last_act(messages: Sequence[Message]) -> str:
    """The last call of a turn in words for people: `whisper "good evening"`."""
    calls = [
        message["tool_calls"][0]["function"] for message in messages if "tool_calls" in message
    ]
    if not calls:
        return ""
    given = json.loads(calls[-1]["arguments"])
    words = next((given[key] for key in ("message", "action") if key in given), "")
    return f"{calls[-1]['name']} {quote(str(words))}" if words else str(calls[-1]["name"])


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
