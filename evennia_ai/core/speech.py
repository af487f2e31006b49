"""Text that a model gave instead of a tool call, made into the call it most likely meant."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from evennia_ai.core.inbox import OWN, TASK, Event
from evennia_ai.core.text import (
    clean_speech,
    cut_at_sentence,
    json_object_at,
    one_line,
    without_thoughts,
)
from evennia_ai.core.toolspec import ToolCall

_NAME_KEYS = ("tool", "name", "function")
_ARGUMENT_KEYS = ("parameters", "args", "arguments")
# More than is ever said; no tool takes arguments of any length.
LONGEST_SPEECH = 2000
# `functions.whisper({...})` and `whisper(target="Tom", message="Hm.")`, as the whole of a text.
_WRITTEN_CALL = re.compile(
    r"[\s`]*(?:print\()?(?:\w+\.)*(\w+)\(\s*([{\w].*?)\s*\)[\s`);]*", re.DOTALL
)
_KEYWORD = re.compile(r"(\w+)\s*=\s*(\"(?:[^\"\\]|\\.)*\")(?:,\s*|$)")
ANSWERED_BY = {"whisper": "whisper", "page": "page", "channel": "channel", TASK: "report"}


def _json_object(text: str) -> Mapping[str, Any] | None:
    """The JSON object at the first brace of a text, fenced or bare."""
    start = text.find("{")
    return json_object_at(text, start)[0] if start >= 0 else None


def _unwrapped(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The call within `{"tool_calls": [...]}` and `{"type": "function", "function": {...}}`."""
    if value is None:
        return None
    calls = value.get("tool_calls")
    if isinstance(calls, list) and calls and isinstance(calls[0], dict):
        value = calls[0]
    function = value.get("function")
    return function if isinstance(function, dict) else value


def _written_call(text: str) -> Mapping[str, Any] | None:
    """A call written as code, when it is all of the text."""
    match = _WRITTEN_CALL.fullmatch(text[: LONGEST_SPEECH + 1])
    if match is None:
        return None
    name, given = match.groups()
    if given.startswith("{"):
        arguments = _json_object(given)
        return None if arguments is None else {"name": name, "arguments": arguments}
    if _KEYWORD.sub("", given).strip():
        return None
    try:
        arguments = {key: json.loads(value) for key, value in _KEYWORD.findall(given)}
    except ValueError:
        return None
    return {"name": name, "arguments": arguments}


def call_from_json(text: str, call_id: str) -> ToolCall | None:
    """The call that a JSON text describes, or None when it describes none.

    Understood are {"tool", "parameters"}, {"tool", "args"} and {"name", "arguments"}. A call that
    the model only thought of is none.
    """
    text = text if text.lstrip().startswith("{") else without_thoughts(text)
    value = _written_call(text) or _unwrapped(_json_object(text))
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


def answered_by(event: Event) -> str:
    """The tool that answers an event the way it came."""
    return ANSWERED_BY.get(event.kind) or ANSWERED_BY.get(event.source, "say")


def answer_call(message: str, event: Event, call_id: str) -> ToolCall:
    """The call that says `message` back the way the event came."""
    name = answered_by(event)
    if name in ("say", "report"):
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
    speech = cut_at_sentence(clean_speech(content), LONGEST_SPEECH)
    if event.kind == OWN and speech:
        # Nobody asked, so what it only writes down is a thought.
        return (ToolCall(call_id, "noop", {"reason": one_line(speech)}),)
    return (answer_call(speech, event, call_id),) if speech else ()
