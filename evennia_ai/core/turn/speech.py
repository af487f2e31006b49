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
    read_json,
)
from evennia_ai.core.turn.toolspec import ToolCall

_NAME_KEYS = ("tool", "name", "function", "tool_name")
_ARGUMENT_KEYS = ("parameters", "args", "arguments")
# Characters; more than is ever said.
LONGEST_SPEECH = 2000
# Longer than any tool's name; models make names up.
LONGEST_NAME = 100
# Marks with which a call begins, and which the model's server should have read. Within quotation
# marks they are somebody else's words.
_CALL_BEGINS = re.compile(
    r"(?<![\"'`\u201c])(?:<(?:\w{1,20}:)?(?:tool_call|function|invoke)|\[TOOL_CALL"
    r"|<[|\uff5c](?:tool|python)[^<>]{1,60}[|\uff5c]>)",
    re.IGNORECASE,
)
# `<function=whisper>` of Llama and Qwen, `<invoke name="whisper">` of Claude and MiniMax, and
# `<tool_call>whisper` of GLM. An object or parameters follow.
_TAGGED = re.compile(
    r"<(?:\w{1,20}:)?(?:(?:function|invoke|tool_call)(?:[=/(]|\s{1,9}name=)[\"']?|tool_call>\s*+)"
    r"(?:\w++\.)*+(\w++)[\"')]?\s*+(?:>|\(?(?=\{)|(?=</?(?:arg_key|tool_call)>))",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"<(?:\w{1,20}:)?(?:parameter(?:=|\s{1,9}name=)[\"']?(\w{1,60})[\"']?[^<>]{0,60}>"
    r"|arg_key>\s*+(\w{1,60})\s*+</arg_key>\s*+<arg_value>)"
    r"(.*?)(?=</?(?:\w{1,20}:)?(?:parameter|function|invoke|tool_call|arg_)|\Z)"
    r"(?:</(?:\w{1,20}:)?(?:parameter|arg_value)>)?",
    re.IGNORECASE | re.DOTALL,
)
_TAGGED_ENDS = re.compile(r"</(?:\w{1,20}:)?(?:function|invoke|tool_call)", re.IGNORECASE)
# `functions.whisper({...})`, `whisper(target="Tom", message="Hm.")` and a list of these, as the
# whole of a text.
_CALLED = re.compile(r"[\s`]*+(\[)?\s*+(?:print\()?(?:\w++\.)*+(\w++)\(\s*+(?=[{\w)])")
# `whisper{...}`, `functions.whisper:0 {...}` and the like, as the whole of a text without the marks
# that Mistral, DeepSeek and Kimi put around them.
_NAMED = re.compile(r"(?:function\s++)?(?:\w++\.)*+(\w++)(?::\d{1,3})?[\s:]*+(?=\{)")
_MARKS = re.compile(
    r"<[|\uff5c][^<>]{1,60}[|\uff5c]>|\[(?:TOOL_CALLS?|ARGS)\]|\[CALL_ID\]\w{1,20}|```[a-z_]{0,20}"
    r"|</?function_calls>",
    re.IGNORECASE,
)
_AFTER_CALL = re.compile(r"[\s`);]*+\Z")
_AFTER_LISTED = re.compile(r"\s*+\)\s*+(?:,\s*+(?:\w++\.)*+\w++\(|\][\s`]*+\Z)")
# Strings, and words before a colon, in the objects of Gemma: `{target:<escape>Tom<escape>}`.
_GEMMA = re.compile(
    r'"(?:[^"\\]|\\.)*(?:"|\Z)|(?:<escape>|<\|"\|>)(?P<text>.*?)(?:<escape>|<\|"\|>|\Z)'
    r"|\b(?P<key>\w{1,60})(?=:)",
    re.DOTALL,
)
_KEYWORD = re.compile(
    r"(\w++)\s*+=\s*+(\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|-?[\d.]++|\w++)\s*+(?:,\s*+|(?=\)))"
)
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
# The tool that answers an event by the way it came; `say` for anything else.
ANSWERED_BY = {"whisper": "whisper", "page": "page", "channel": "channel", TASK: "report"}
ANSWERS = frozenset(("say", *ANSWERED_BY.values()))


def _inner_call(value: Mapping[str, object] | None) -> Mapping[str, Any] | None:
    """The call within `{"tool_calls": [...]}` or `{"type": "function", "function": {...}}`.

    Also LangChain's `{"action": ..., "action_input": ...}`, in which an action alone is no call.
    """
    if value is None:
        return None
    calls = value.get("tool_calls")
    if isinstance(calls, list) and calls and isinstance(calls[0], dict):
        value = calls[0]
    if "action_input" in value:
        return {"name": value.get("action"), "arguments": value["action_input"]}
    function = value.get("function")
    return function if isinstance(function, dict) else value


def _read_value(text: str) -> Any:
    """A value written as JSON or as in Python; a text without quotation marks as it is."""
    as_json = _CONSTANTS.get(text, text)
    if text[:1] == text[-1:] == "'":
        as_json = '"{}"'.format(text[1:-1].replace("\\'", "'").replace('"', '\\"'))
    try:
        return read_json(as_json)
    except UnreadableError:
        return text


def _in_quotes(match: re.Match[str]) -> str:
    given = match["key"] if match["key"] is not None else match["text"]
    return match[0] if given is None else json.dumps(given)


def _tagged_call(text: str) -> Mapping[str, Any] | None:
    """A call whose name is in a tag, with an object or parameters behind it."""
    match = _TAGGED.search(text)
    if match is None:
        return None
    rest = text[match.end() :]
    if rest.lstrip().startswith("{"):
        arguments = first_object(rest)
        if arguments is None:
            arguments = first_object(_GEMMA.sub(_in_quotes, rest))
        return None if arguments is None else {"name": match[1], "arguments": arguments}
    end = _TAGGED_ENDS.search(rest)
    inner = rest[: end.start()] if end else rest
    # Anything but parameters is left: it cannot be read.
    if _PARAMETER.sub("", inner).strip():
        return None
    parameters = _PARAMETER.findall(inner)
    arguments = {first or second: value.strip() for first, second, value in parameters}
    return {"name": match[1], "arguments": arguments}


def _call_in_code(text: str) -> Mapping[str, Any] | None:
    """A call written as code, if it is all of the text; of several in a list, the first."""
    text = _MARKS.sub(" ", text)
    match = _CALLED.match(text)
    if match is None:
        return None
    end, arguments = match.end(), {}
    if text[end] == "{":
        given, end = JsonText(text).object_at(end)
        if given is None:
            return None
        arguments = given
    while keyword := _KEYWORD.match(text, end):
        value = _read_value(keyword[2])
        # Words without quotation marks, or what is no string of JSON.
        if value == keyword[2]:
            return None
        arguments[keyword[1]], end = value, keyword.end()
    is_all = (_AFTER_LISTED if match[1] else _AFTER_CALL).match(text, end)
    return {"name": match[2], "arguments": arguments} if is_all else None


def _named_object(text: str, *, is_marked: bool) -> Mapping[str, Any] | None:
    """A call written as a name and an object behind it, if it is all of the text.

    Args:
        is_marked: whether more may follow, since a mark says that it is a call.
    """
    plain = _MARKS.sub(" ", text).strip()
    match = _NAMED.match(plain)
    value, end = JsonText(plain).object_at(match.end()) if match is not None else (None, 0)
    if match is None or value is None or (plain[end:].strip() and not is_marked):
        return None
    # `json {"name": "say", "arguments": {...}}`
    if "tool" in value or (_name_in(value) and not value.keys().isdisjoint(_ARGUMENT_KEYS)):
        return None
    return {"name": match[1], "arguments": value}


def _call_without_json(text: str) -> Mapping[str, Any] | None:
    """A call whose name is outside of a JSON object."""
    mark = _CALL_BEGINS.search(text)
    text = text[mark.start() :] if mark else text
    if len(text) > LONGEST_SPEECH:
        return None
    return (
        (_tagged_call(text) if mark else None)
        or _named_object(text, is_marked=bool(mark))
        or _call_in_code(text)
    )


def call_from_json(text: str, call_id: str) -> ToolCall | None:
    """The call that a JSON text describes, or None.

    Understood are {"tool", "parameters"}, {"tool", "args"} and {"name", "arguments"}, a name with
    its arguments behind it, and the marks of models whose server does not read them. A call within
    the model's thoughts does not count.
    """
    text = text if text.lstrip().startswith("{") else without_thoughts(text)
    value = _call_without_json(text) or _inner_call(first_object(text))
    if value is None or not (name := _name_in(value)):
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
