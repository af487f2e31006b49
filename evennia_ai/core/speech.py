"""Text that a model gave instead of a tool call, made into the call it most likely meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia_ai.core.inbox import Event
from evennia_ai.core.text import clean_speech, json_object_at, without_thoughts
from evennia_ai.core.toolspec import ToolCall

_NAME_KEYS = ("tool", "name", "function")
_ARGUMENT_KEYS = ("parameters", "args", "arguments")
ANSWERED_BY = {"whisper": "whisper", "page": "page", "channel": "channel"}


def _json_object(text: str) -> Mapping[str, Any] | None:
    """The JSON object at the first brace of a text, fenced or bare."""
    start = text.find("{")
    return json_object_at(text, start)[0] if start >= 0 else None


def call_from_json(text: str, call_id: str) -> ToolCall | None:
    """The call that a JSON text describes, or None when it describes none.

    Understood are {"tool", "parameters"}, {"tool", "args"} and {"name", "arguments"}. A call that
    the model only thought of is none.
    """
    value = _json_object(text if text.lstrip().startswith("{") else without_thoughts(text))
    if value is None:
        return None
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    if not name:
        return None
    given = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
    arguments = {} if given in (None, "") else given
    if isinstance(arguments, str):
        arguments = _json_object(arguments)
    if not isinstance(arguments, dict):
        return ToolCall(call_id, name, problem=f"the arguments of {name} are not a JSON object")
    return ToolCall(call_id, name, arguments)


def answer_call(message: str, event: Event, call_id: str) -> ToolCall:
    """The call that says `message` back the way the event came."""
    name = ANSWERED_BY.get(event.source, "say")
    if name == "say":
        return ToolCall(call_id, name, {"message": message})
    if name == "channel":
        return ToolCall(call_id, name, {"channel": event.place, "message": message})
    return ToolCall(call_id, name, {"target": event.sender_name, "message": message})


def spoken_call(content: str, event: Event, iteration: int) -> tuple[ToolCall, ...]:
    """The call that a reply without tool calls stands for: a call told as JSON, else plain speech.

    Returns:
        One call, or none when nothing in the text is fit to be said.
    """
    call_id = f"call_{event.id}_{iteration}"
    told = call_from_json(content, call_id)
    if told is not None:
        return (told,)
    speech = clean_speech(content)
    return (answer_call(speech, event, call_id),) if speech else ()
