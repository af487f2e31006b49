"""Text that a model wrote instead of a tool call, turned into the call it most likely meant."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.text.cleaning import clean_speech, cut_at_sentence, one_line, without_thoughts
from evennia_ai.core.text.reading import (
    JsonText,
    UnreadableError,
    first_object,
    plain_arguments,
)
from evennia_ai.core.turn.toolspec import ToolCall

_NAME_KEYS = ("tool", "name", "function")
_ARGUMENT_KEYS = ("parameters", "args", "arguments")
# Characters; more than is ever said.
LONGEST_SPEECH = 2000
# Longer than any tool's name; models make names up.
LONGEST_NAME = 100
# `functions.whisper({...})` and `whisper(target="Tom", message="Hm.")`, as the whole of a text.
_CALLED = re.compile(r"[\s`]*+(?:print\()?(?:\w++\.)*+(\w++)\(\s*+(?=[{\w])")
# `whisper{...}`, `functions.whisper:0 {...}` and the like, as the whole of a text without the marks
# that Mistral, DeepSeek and Kimi put around them, and which their servers should have read.
_NAMED = re.compile(r"(?:function\s++)?(?:\w++\.)*+(\w++)(?::\d{1,3})?[\s:]*+(?=\{)")
_MARKS = re.compile(
    r"<[|\uff5c][^<>]{1,60}[|\uff5c]>|\[(?:TOOL_CALLS?|ARGS)\]|```(?:json)?", re.IGNORECASE
)
_AFTER_CALL = " \t\r\n\f\v`);"
_KEYWORD = re.compile(r"\b(\w++)\s*+=\s*+(\"(?:[^\"\\]|\\.)*+\")(?:,\s*+|$)")
# The tool that answers an event by the way it came; `say` for anything else.
ANSWERED_BY = {"whisper": "whisper", "page": "page", "channel": "channel", TASK: "report"}
ANSWERS = frozenset(("say", *ANSWERED_BY.values()))


def _inner_call(value: Mapping[str, object] | None) -> Mapping[str, Any] | None:
    """The call within `{"tool_calls": [...]}` or `{"type": "function", "function": {...}}`."""
    if value is None:
        return None
    calls = value.get("tool_calls")
    if isinstance(calls, list) and calls and isinstance(calls[0], dict):
        value = calls[0]
    function = value.get("function")
    return function if isinstance(function, dict) else value


def _call_in_code(text: str) -> Mapping[str, Any] | None:
    """A call written as code, if it is all of the text."""
    match = _CALLED.match(text) if len(text) <= LONGEST_SPEECH else None
    end = text.find(")", len(text.rstrip(_AFTER_CALL)))
    if match is None or end <= match.end():
        return None
    name, argument_text = match[1], text[match.end() : end].rstrip()
    if argument_text.startswith("{"):
        arguments = first_object(argument_text)
        return None if arguments is None else {"name": name, "arguments": arguments}
    # Anything but keyword arguments with quoted values is left: it was prose, or cannot be read.
    if _KEYWORD.sub("", argument_text).strip():
        return None
    try:
        arguments = {key: json.loads(value) for key, value in _KEYWORD.findall(argument_text)}
    except ValueError:
        return None
    return {"name": name, "arguments": arguments}


def _named_object(text: str) -> Mapping[str, Any] | None:
    """A call written as a name and an object behind it, if it is all of the text."""
    if len(text) > LONGEST_SPEECH:
        return None
    plain = _MARKS.sub(" ", text).strip()
    match = _NAMED.match(plain)
    value, end = JsonText(plain).object_at(match.end()) if match is not None else (None, 0)
    if match is None or value is None or plain[end:].strip():
        return None
    return {"name": match[1], "arguments": value}


def call_from_json(text: str, call_id: str) -> ToolCall | None:
    """The call that a JSON text describes, or None.

    Understood are {"tool", "parameters"}, {"tool", "args"} and {"name", "arguments"}, and a name
    with its arguments behind it. A call within the model's thoughts does not count.
    """
    text = text if text.lstrip().startswith("{") else without_thoughts(text)
    value = _call_in_code(text) or _inner_call(first_object(text))
    if value is None:
        return None
    if not (name := _name_in(value)):
        value = _named_object(text) or {}
        name = _name_in(value)
    if not name:
        return None
    raw = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
    arguments = {} if raw in (None, "") else raw
    return call_of(
        call_id, name, first_object(arguments) if isinstance(arguments, str) else arguments
    )


def _name_in(value: Mapping[str, Any]) -> str:
    return next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), "")


def call_of(call_id: str, name: str, given: object) -> ToolCall:
    """A call with the arguments that a model gave, as JSON text or as an object.

    If they cannot be read, the call's `problem` says why, in words for the model.
    """
    name = name[:LONGEST_NAME]
    try:
        return ToolCall(call_id, name, plain_arguments(given))
    except UnreadableError as error:
        return ToolCall(call_id, name, problem=f"the arguments of {name} {error}")


def answered_by(event: Event) -> str:
    """The tool that answers an event the way it came."""
    return ANSWERED_BY.get(event.kind) or ANSWERED_BY.get(event.source, "say")


def answer_call(message: str, event: Event, call_id: str) -> ToolCall:
    """The call that sends `message` back the way the event came."""
    name = answered_by(event)
    arguments = {"message": message}
    if name == "channel":
        arguments = {"channel": event.place, **arguments}
    elif name not in ("say", "report"):
        arguments = {"target": event.sender_name, **arguments}
    return ToolCall(call_id, name, arguments, is_spoken=True)


def spoken_call(content: str, event: Event, iteration: int) -> tuple[ToolCall, ...]:
    """The call that a reply without tool calls stands for: a call written as JSON, or speech.

    Returns:
        One call, or none if nothing in the text should be said.
    """
    call_id = f"call_{event.id}_{iteration}"
    written = call_from_json(content, call_id)
    if written is not None:
        return (written,)
    speech = cut_at_sentence(clean_speech(content), LONGEST_SPEECH)
    if event.kind == OWN and speech:
        # Nobody asked, so text without a call is a thought and not spoken.
        return (ToolCall(call_id, "noop", {"reason": one_line(speech)}),)
    return (answer_call(speech, event, call_id),) if speech else ()
