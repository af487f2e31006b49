"""Requests to and replies from a chat completions API, for both tool modes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import Any

from evennia_ai.core.keys import new_key
from evennia_ai.core.safety.prices import reported
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.reading import BeyondBoundsError, UnreadableError, read_json
from evennia_ai.core.turn.conversation import (
    BESIDE,
    Message,
    alternating,
    as_fallback,
    without_beside,
)
from evennia_ai.core.turn.speech import call_from_json, call_of
from evennia_ai.core.turn.tokens import estimate
from evennia_ai.core.turn.toolspec import ToolCall, ToolSpec
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import ModelReplyError
from evennia_ai.llm.echoes import THOUGHTS, beside_calls
from evennia_ai.llm.offers import as_choice

# Message members in which services return a model's reasoning.
REASONING = (THOUGHTS, "reasoning")
# Types of the parts of a content that hold thoughts; their text is not said.
THOUGHT_PARTS = ("thinking", "reasoning")
# Tool calls read from one reply. Far more than are ever run; it only bounds the work here.
MOST_CALLS = 5_000
LONGEST_FINISH_REASON = 60
# Mistral accepts no other ids of tool calls, and all other services accept these too.
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")
_AROUND_NAMES = re.compile(r"\A(?:functions\.|default_api[.:])|:\d{1,3}\Z")
_WITHOUT_IDS = ("user", "system")


def native_request(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The body for a model with native tool calls."""
    # Half of a conversation has no ids.
    sent = [each if each["role"] in _WITHOUT_IDS else _with_short_ids(each) for each in messages]
    body: dict[str, Any] = {"messages": sent}
    if tools:
        body["tools"] = [tool.as_function for tool in tools]
        body["tool_choice"] = "auto"
    return body


def json_request(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The body for a model whose output a JSON schema constrains to one of the tool calls."""
    # Chat templates of small models often accept only alternating user and assistant messages.
    body: dict[str, Any] = {"messages": alternating(as_fallback(messages))}
    if tools:
        choices = {"anyOf": [as_choice(tool) for tool in tools]}
        schema = {"name": "action", "strict": True, "schema": choices}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


REQUESTS = {"native": native_request, "json": json_request}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    # Some services return content as a list of typed parts, thoughts among them.
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        texts = (part.get("text") for part in parts if part.get("type") not in THOUGHT_PARTS)
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _estimate_output(message: Mapping[str, object], content: str) -> int:
    """Estimated output tokens: text, tool calls and reasoning, all of which services charge for."""
    thoughts = (message.get(name) for name in REASONING)
    texts = [content, *(text for text in thoughts if isinstance(text, str))]
    if calls := message.get("tool_calls"):
        texts.append(json.dumps(calls, ensure_ascii=False))
    return sum(map(estimate, texts))


def _finish_reason(value: object) -> str:
    is_readable = isinstance(value, (str, int)) and value is not True
    return one_line(str(value), LONGEST_FINISH_REASON) if value and is_readable else ""


def new_call_id() -> str:
    """A new unique id for a tool call."""
    return f"c{new_key(8)}"


@lru_cache(maxsize=4096)
def short_id(call_id: str) -> str:
    """The id of a call as it is sent, always the same for one id.

    Calls that stand for spoken words have ids of their own, and stored ones may be of any form.
    """
    if _SHORT_ID.fullmatch(call_id):
        return call_id
    digest = blake2b(call_id.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"c{digest}"


def _with_short_ids(message: Message) -> Message:
    if BESIDE in message:
        message = without_beside(message)
    if calls := message.get("tool_calls"):
        return {**message, "tool_calls": [{**call, "id": short_id(call["id"])} for call in calls]}
    if "tool_call_id" in message:
        return {**message, "tool_call_id": short_id(message["tool_call_id"])}
    return message


def _plain_name(name: str) -> str:
    """The name of a tool, without what servers of gpt-oss, Gemini and Kimi leave around it."""
    return _AROUND_NAMES.sub("", name.partition("<|")[0].strip())


def _calls(raw_calls: object, make_id: Callable[[], str]) -> tuple[ToolCall, ...]:
    """The tool calls of a message, with new ids.

    Services refuse a conversation with a duplicate id, and some number their calls from zero in
    every reply.
    """
    return tuple(
        call_of(
            make_id(),
            _plain_name(raw["function"]["name"]),
            raw["function"].get("arguments") or "{}",
        )
        for raw in (raw_calls[:MOST_CALLS] if isinstance(raw_calls, list) else ())
        if isinstance(raw, dict)
        and isinstance(raw.get("function"), dict)
        and isinstance(raw["function"].get("name"), str)
    )


def _choice(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first choice of a completion, and the whole completion.

    Raises:
        ModelReplyError: the body is not a completion.
    """
    try:
        whole = read_json(body)
    except BeyondBoundsError as error:
        raise ModelReplyError(
            f"the answer cannot be read: its {len(body):,} bytes {error}"
        ) from None
    except UnreadableError:
        head = one_line(body[:200].decode("utf-8", "replace"), 60)
        seen = f"not JSON but begins with {head!r}" if head else "empty"
        raise ModelReplyError(f"the answer is {seen}") from None
    choices = whole.get("choices") if isinstance(whole, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ModelReplyError(_without_choice(whole, choices), usage=_usage_of(whole))
    return choices[0], whole


def _without_choice(whole: object, choices: object) -> str:
    """The error text for a completion without a readable choice."""
    if choices == []:
        return "the answer's list of choices is empty"
    if choices is not None:
        return "the answer's choices are no list of objects"
    names = islice(whole, 8) if isinstance(whole, dict) else (type(whole).__name__,)
    content = one_line(", ".join(sorted(names)), 200) or "nothing"
    return f"the answer holds no choices (it holds: {content})"


def _usage_of(whole: object) -> TokenUsage | None:
    """The usage in an unusable answer, which is charged for all the same; None if it has none."""
    usage = whole.get("usage") if isinstance(whole, dict) else None
    return reported(usage, lambda: 0) if isinstance(usage, dict) else None


def parse_reply(
    body: bytes,
    tool_mode: str,
    make_id: Callable[[], str] = new_call_id,
    *,
    model: str = "",
    wanted: Collection[str] = (),
) -> Reply:
    """Read a chat completion.

    The text of a `refusal` member becomes the content if there is no other, and the finish reason
    is then "refusal".

    Args:
        make_id: makes the ids of tool calls.
        wanted: members that the service of `model` wants back; see `Echoes`.

    Raises:
        ModelReplyError: the body is not a chat completion.
    """
    choice, whole = _choice(body)
    message = choice.get("message")
    if not isinstance(message, dict):
        text = "the answer's first choice holds no message"
        raise ModelReplyError(text, usage=_usage_of(whole))
    # `function_call` is the older form, which some servers and gateways still answer in.
    raw_calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
    calls = _calls(raw_calls, make_id)
    content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    if tool_mode == "json" and not calls:
        call = call_from_json(content, make_id())
        calls = (call,) if call else ()
    beside = beside_calls(message, wanted) if wanted and calls else {}
    return Reply(
        content=content or refusal,
        tool_calls=calls,
        usage=reported(whole.get("usage"), lambda: _estimate_output(message, content or refusal)),
        finish_reason="refusal" if refusal else _finish_reason(choice.get("finish_reason")),
        beside={model: beside} if beside else {},
    )
