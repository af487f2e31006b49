"""What goes to a chat completions API and what comes back, for both ways of asking for a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evennia_ai.core.conversation import Message, as_fallback
from evennia_ai.core.speech import call_from_json
from evennia_ai.core.text import one_line
from evennia_ai.core.toolspec import ToolCall, ToolSpec
from evennia_ai.core.turn import Usage
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import ModelReplyError

LONGEST_ARGUMENT = 300


def native_request(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The body for a model that knows tool calls."""
    body: dict[str, Any] = {"messages": list(messages)}
    if tools:
        body["tools"] = [tool.as_function() for tool in tools]
        body["tool_choice"] = "auto"
    return body


def _bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's schema with an end to every text: a small model may not find one by itself."""
    properties = {
        name: {"minLength": 1, "maxLength": LONGEST_ARGUMENT, **kind}
        if kind["type"] == "string" and "enum" not in kind
        else kind
        for name, kind in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def json_request(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The body for a model that is held to a JSON schema: one of the tools, with its arguments."""
    body: dict[str, Any] = {
        "messages": as_fallback(messages),
        "temperature": 0.0,
        "max_tokens": 220,
    }
    if tools:
        choices = [
            {
                "type": "object",
                "properties": {
                    "tool": {"const": tool.name},
                    "parameters": _bounded(tool.parameters),
                },
                "required": ["tool", "parameters"],
                "additionalProperties": False,
            }
            for tool in tools
        ]
        schema = {"name": "action", "strict": True, "schema": {"anyOf": choices}}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


REQUESTS = {"native": native_request, "json": json_request}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _usage(value: Any) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    return Usage(_count(value.get("prompt_tokens")), _count(value.get("completion_tokens")))


def _call(raw: Any, number: int) -> ToolCall | None:
    function = raw.get("function") if isinstance(raw, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    call_id = raw["id"] if isinstance(raw.get("id"), str) and raw["id"] else f"call_{number}"
    name, arguments = function["name"], function.get("arguments") or "{}"
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return ToolCall(call_id, name, problem=f"the arguments of {name} are not valid JSON")
    if not isinstance(arguments, dict):
        return ToolCall(call_id, name, problem=f"the arguments of {name} are not a JSON object")
    return ToolCall(call_id, name, arguments)


def _choice(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first choice of a completion, and the whole of it.

    Raises:
        ModelReplyError: the body is something else.
    """
    try:
        whole = json.loads(body)
    except (ValueError, RecursionError):
        head = one_line(body[:200].decode("utf-8", "replace"), 60)
        raise ModelReplyError(f"the answer is not JSON but begins with {head!r}") from None
    choices = whole.get("choices") if isinstance(whole, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        keys = ", ".join(sorted(whole)[:8]) if isinstance(whole, dict) else type(whole).__name__
        raise ModelReplyError(f"the answer holds no choices (it holds: {keys or 'nothing'})")
    return choices[0], whole


def parse_reply(body: bytes, tool_mode: str) -> Reply:
    """Read a chat completion.

    Raises:
        ModelReplyError: the body is no chat completion.
    """
    choice, whole = _choice(body)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ModelReplyError("the answer's first choice holds no message")
    raw_calls = message.get("tool_calls")
    calls = [
        _call(raw, i) for i, raw in enumerate(raw_calls if isinstance(raw_calls, list) else [])
    ]
    content = _text(message.get("content"))
    if tool_mode == "json" and not calls:
        told = call_from_json(content, f"call_{_usage(whole.get('usage')).total_tokens}")
        calls = [told] if told else []
    return Reply(
        content=content,
        tool_calls=tuple(call for call in calls if call is not None),
        usage=_usage(whole.get("usage")),
        finish_reason=str(choice.get("finish_reason") or ""),
    )
