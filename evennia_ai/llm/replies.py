"""What goes to a chat completions API and what comes back, for both ways of asking for a tool."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evennia_ai.core.conversation import Message, alternating, as_fallback
from evennia_ai.core.speech import call_from_json
from evennia_ai.core.text import one_line
from evennia_ai.core.toolspec import ToolCall, ToolSpec
from evennia_ai.core.turn import Usage
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import ModelReplyError
from evennia_ai.llm.offers import as_choice, as_function

MOST_TOKENS = 10_000_000


def native_request(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The body for a model that knows tool calls."""
    body: dict[str, Any] = {"messages": list(messages)}
    if tools:
        body["tools"] = [as_function(tool) for tool in tools]
        body["tool_choice"] = "auto"
    return body


def json_request(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The body for a model that is held to a JSON schema: one of the tools, with its arguments."""
    body: dict[str, Any] = {
        "messages": alternating(as_fallback(messages)),
        "temperature": 0.0,
        "max_tokens": 220,
    }
    if tools:
        choices = {"anyOf": [as_choice(tool) for tool in tools]}
        schema = {"name": "action", "strict": True, "schema": choices}
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
    """A number of tokens, 0 for what cannot be one."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 < value < MOST_TOKENS else 0


def _usage(value: Any) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    return Usage(_count(value.get("prompt_tokens")), _count(value.get("completion_tokens")))


def new_call_id() -> str:
    """An id that no other call has, of the nine letters and digits that every service takes."""
    return f"c{secrets.token_hex(4)}"


def _calls(raw_calls: Any, make_id: Callable[[], str]) -> tuple[ToolCall, ...]:
    """The calls of a message, under ids of our own.

    Services refuse a conversation in which an id comes twice, and some begin anew in every reply.
    """
    return tuple(
        _call(make_id(), raw["function"])
        for raw in (raw_calls if isinstance(raw_calls, list) else ())
        if isinstance(raw, dict)
        and isinstance(raw.get("function"), dict)
        and isinstance(raw["function"].get("name"), str)
    )


def _call(call_id: str, function: Mapping[str, Any]) -> ToolCall:
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


def parse_reply(body: bytes, tool_mode: str, make_id: Callable[[], str] = new_call_id) -> Reply:
    """Read a chat completion.

    A refusal that has a place of its own becomes the content where there is none, and the finish
    reason is then "refusal".

    Args:
        make_id: gives the ids of calls.

    Raises:
        ModelReplyError: the body is no chat completion.
    """
    choice, whole = _choice(body)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ModelReplyError("the answer's first choice holds no message")
    calls = _calls(message.get("tool_calls"), make_id)
    content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    if tool_mode == "json" and not calls:
        told = call_from_json(content, make_id())
        calls = (told,) if told else ()
    return Reply(
        content=content or refusal,
        tool_calls=calls,
        usage=_usage(whole.get("usage")),
        finish_reason="refusal" if refusal else str(choice.get("finish_reason") or ""),
    )
