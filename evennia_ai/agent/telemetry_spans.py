"""The spans of a recorded turn, of its model calls and its tools, with their attributes.

Attributes follow OpenTelemetry's gen_ai conventions and, beside them, OpenInference. Without words
a turn tells numbers, names of models and tools, and why it ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.executions import outcome_of
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.engine.recording import RecordedCall, RecordedTurn, ToolUse

Value = str | int | float | bool | list[str]
KIND = "openinference.span.kind"
JSON = "application/json"
# Any other finish reason is free text of the service, and could hold words of the turn.
FINISH_REASONS = frozenset(("stop", "length", "tool_calls", "content_filter"))
BROKE_OFF = "broke_off"


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """A part of a turn in time.

    Attributes:
        began, ended: seconds since 1970.
        error: the kind of failure; "": it succeeded.
    """

    name: str
    began: float
    ended: float
    attributes: Mapping[str, Value]
    is_call: bool = False
    error: str = ""
    below: tuple[TurnSpan, ...] = field(default=())


def span_of(name: str, record: RecordedTurn, *, with_words: bool) -> TurnSpan:
    """The span of an ended turn, with the spans of its steps below it."""
    turn, ended_at = record.turn, record.began if record.ended is None else record.ended
    attributes: dict[str, Value] = {
        KIND: "AGENT",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "evennia_ai.turn": turn.tick,
        "evennia_ai.source": turn.event.source,
        "evennia_ai.outcome": outcome_of(record.stop) if record.stop is not None else BROKE_OFF,
        "evennia_ai.cost": turn.spent.nano / NANO,
    }
    if record.stop is not None:
        attributes["evennia_ai.stop"] = record.stop.reason.value
    if record.limit:
        attributes["evennia_ai.limit"] = record.limit
    if with_words:
        attributes["input.value"] = "\n".join(event.body for event in turn.events)
        attributes["output.value"] = "\n".join(_spoken(record))
    # A step that the turn's end cut off has no duration, and lasts until that end.
    below = tuple(_step(record, step, ended_at, with_words=with_words) for step in record.steps)
    error = record.broke_off
    if record.stop is not None and record.stop.is_failure:
        error = record.stop.reason.value
    return TurnSpan(f"invoke_agent {name}", record.began, ended_at, attributes, False, error, below)


def _spoken(record: RecordedTurn) -> Iterator[str]:
    for step in record.steps:
        if isinstance(step, ToolUse) and step.success:
            message = step.call.arguments.get("message")
            if isinstance(message, str):
                yield message


def _step(
    record: RecordedTurn, step: RecordedCall | ToolUse, ended: float, *, with_words: bool
) -> TurnSpan:
    until = ended if step.seconds is None else step.began + step.seconds
    if isinstance(step, RecordedCall):
        return _model_call_span(record, step, until, with_words=with_words)
    return _tool_span(step, until, with_words=with_words)


# ---- the model ---------------------------------------------------------------------------------


def _model_call_span(
    record: RecordedTurn, call: RecordedCall, ended: float, *, with_words: bool
) -> TurnSpan:
    reply = call.reply
    provider, _, model = record.turn.model.partition("/")
    attributes: dict[str, Value] = {
        KIND: "LLM",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider or "unknown",
        "llm.provider": provider or "unknown",
        "llm.cost.total": call.nano / NANO,
    }
    if model:
        attributes |= {"gen_ai.request.model": model, "llm.model_name": model}
    if reply is not None:
        used = reply.usage
        attributes |= {
            "gen_ai.usage.input_tokens": used.prompt_tokens,
            "gen_ai.usage.output_tokens": used.completion_tokens,
            "llm.token_count.prompt": used.prompt_tokens,
            "llm.token_count.completion": used.completion_tokens,
            "llm.token_count.total": used.total_tokens,
        }
        if reply.finish_reason in FINISH_REASONS:
            attributes["gen_ai.response.finish_reasons"] = [reply.finish_reason]
    if with_words:
        attributes |= _words_of(call)
    error = "" if reply is not None else "model_error"
    return TurnSpan(f"chat {model}".strip(), call.began, ended, attributes, True, error)


def _words_of(call: RecordedCall) -> dict[str, Value]:
    """The messages of a call, in both directions."""
    messages = [dict(message) for message in call.messages]
    attributes: dict[str, Value] = {
        "gen_ai.input.messages": _json([_message(each) for each in messages]),
        "input.value": _json(messages),
        "input.mime_type": JSON,
    }
    for number, message in enumerate(messages):
        attributes |= _flat(f"llm.input_messages.{number}.message", message)
    if call.reply is not None:
        answer: Message = {"role": "assistant", "content": call.reply.content}
        answer["tool_calls"] = [_function(each) for each in call.reply.tool_calls]
        attributes["gen_ai.output.messages"] = _json([_message(answer)])
        attributes["output.value"] = _json(answer)
        attributes["output.mime_type"] = JSON
        attributes |= _flat("llm.output_messages.0.message", answer)
    return attributes


def _function(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "function": {"name": call.name, "arguments": _json(call.arguments)}}


def _message(message: Message) -> dict[str, Any]:
    """A message in the form of the gen_ai conventions, in parts."""
    parts: list[dict[str, Any]] = []
    content = message.get("content")
    if message["role"] == "tool":
        id_ = message.get("tool_call_id", "")
        parts.append({"type": "tool_call_response", "id": id_, "response": content})
    elif content:
        parts.append({"type": "text", "content": content})
    for call in message.get("tool_calls") or ():
        part = {"type": "tool_call", "id": call.get("id", ""), **call["function"]}
        parts.append(part)
    return {"role": message["role"], "parts": parts}


def _flat(path: str, message: Message) -> dict[str, Value]:
    """A message in the form of OpenInference, one attribute for each value."""
    flat: dict[str, Value] = {f"{path}.role": str(message["role"])}
    if message.get("content"):
        flat[f"{path}.content"] = str(message["content"])
    for number, call in enumerate(message.get("tool_calls") or ()):
        below = f"{path}.tool_calls.{number}.tool_call.function"
        flat[f"{below}.name"] = str(call["function"]["name"])
        flat[f"{below}.arguments"] = str(call["function"]["arguments"])
    return flat


# ---- tools -------------------------------------------------------------------------------------


def _tool_span(use: ToolUse, ended: float, *, with_words: bool) -> TurnSpan:
    # The name of a tool that does not exist is the model's own text.
    name = use.call.name if use.is_known or with_words else "unknown"
    attributes: dict[str, Value] = {
        KIND: "TOOL",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "tool.name": name,
    }
    if with_words:
        arguments = _json(use.call.arguments)
        attributes |= {
            "gen_ai.tool.call.id": use.call.id,
            "gen_ai.tool.call.arguments": arguments,
            "gen_ai.tool.call.result": use.text,
            "tool.parameters": arguments,
            "input.value": arguments,
            "input.mime_type": JSON,
            "output.value": use.text,
        }
    error = "" if use.success else str(use.fault.value if use.fault is not None else BROKE_OFF)
    return TurnSpan(f"execute_tool {name}", use.began, ended, attributes, False, error)


def _json(value: Mapping[str, object] | Sequence[object]) -> str:
    plain = dict(value) if isinstance(value, Mapping) else value
    return json.dumps(plain, ensure_ascii=False, default=str)
