"""Results of tool calls and ticks: audit events, a short log, and totals.

The log (`execution_log`) and the totals (`metrics`) are made from the same events as the audit log,
and written in the same transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evennia_ai.core.hearing.audience import ALONE, WAYS, masked, may_leave, words
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn

TOOL, TICK, USAGE = "ToolExecuted", "TickCompleted", "UsageCounted"
LONGEST_WORD, LONGEST_ERROR, MOST_ACTS, MOST_ARGUMENTS = 80, 200, 10, 20
# Names with totals of their own. Models make names up, and the stored totals must not grow for
# ever.
MOST_TOOLS = 200
OTHERS = "(others)"
FORGOTTEN = "is_forgotten"
NUMBER = "(a number)"
# Values that without_words() has already replaced, so that it can be applied twice.
_MASKED = re.compile(r"\(\d+ characters\)|\(a number\)")
ANSWERED, SILENT, FAILED = "answered", "silent", "failed"
PAUSED, CUT_OFF = "paused", "cut off"
# Outcomes of a tick, and the total that each is counted in.
TASKS = {ANSWERED: "tasks_completed", SILENT: "tasks_completed", FAILED: "tasks_failed"}


def tool_executed(
    turn: Turn, call: ToolCall, result: ToolResult, *, seconds: float, spec: ToolSpec | None = None
) -> AuditEvent:
    """The audit event of one call. Of a private conversation it holds no words, only lengths.

    What was said to one person alone is private to them even in an open conversation.

    Args:
        spec: the tool's spec; None if there is no such tool.
    """
    audiences = (
        turn.kept_audiences | {person_audience(turn.asides.get(call.id, ""))}
        if call.name in ALONE
        else turn.kept_audiences
    )
    is_private = not may_leave(WAYS["audit"], audiences).is_allowed
    problem = "" if result.success else _error_text(is_private, result)
    arguments = _with_known_names(call.arguments, spec) if is_private else call.arguments
    return audit_event(
        TOOL,
        tick=turn.tick,
        call_id=call.id,
        tool_name=name_of(turn, call.name, spec),
        parameters=shown(arguments, is_private=is_private),
        reasoning="" if is_private else one_line(turn.reasoning, LONGEST_ERROR),
        success=result.success,
        error=problem,
        duration_ms=_milliseconds(seconds),
        provider=turn.model.partition("/")[0],
        model=turn.model.partition("/")[2],
    )


def name_of(turn: Turn, name: str, spec: ToolSpec | None) -> str:
    """A tool's name for the log. One made up by the model in a private turn counts as its words."""
    return name if spec is not None else words(WAYS["audit"], name, turn.kept_audiences)


def _with_known_names(arguments: Mapping[str, object], spec: ToolSpec | None) -> dict[str, Any]:
    """Arguments under the tool's own parameter names; names the model made up may be private."""
    known = spec.parameters.get("properties", {}) if spec is not None else {}
    return {
        str(name) if name in known else f"argument {number}": value
        for number, (name, value) in enumerate(arguments.items(), 1)
    }


def _error_text(is_private: bool, result: ToolResult) -> str:
    if is_private:
        return (result.fault or Fault.FAILED).value
    return one_line(result.text, LONGEST_ERROR)


def shown(arguments: Mapping[str, object], *, is_private: bool) -> dict[str, Any]:
    """Arguments as they are logged: shortened, and masked if the conversation is private."""
    some = list(arguments.items())[:MOST_ARGUMENTS]
    return {str(name): _logged_value(value, is_private) for name, value in some}


def _logged_value(value: object, is_private: bool) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return NUMBER if is_private else value
    text = str(value)
    return masked(text) if is_private else one_line(text, LONGEST_WORD)


def tick_completed(turn: Turn, outcome: str, *, stop: str, seconds: float) -> AuditEvent:
    """The audit event of one tick, with its usage."""
    return audit_event(
        TICK,
        tick_number=turn.tick,
        duration_ms=_milliseconds(seconds),
        action_taken=", ".join(turn.acts[:MOST_ACTS]) or "none",
        outcome=outcome,
        stop=stop,
        calls=turn.spent.calls,
        prompt_tokens=turn.spent.usage.prompt_tokens,
        completion_tokens=turn.spent.usage.completion_tokens,
        events=[event.number for event in turn.events if event.number],
        person=turn.event.person,
    )


def _milliseconds(seconds: float) -> int:
    # Negative where the machine's clock was set back meanwhile.
    return max(0, round(seconds * 1000))


def usage_counted(
    purpose: str, calls: int, prompt_tokens: int, completion_tokens: int, *, context: str = ""
) -> AuditEvent:
    """The audit event of model calls outside a tick, such as those of a summary.

    Args:
        context: the context in which they were made, or "".
    """
    return audit_event(
        USAGE,
        purpose=purpose,
        calls=calls,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        **({"context": context} if context else {}),
    )


def outcome_of(stop: Stop) -> str:
    """The outcome of a tick that ended with this stop."""
    if stop.is_failure:
        return FAILED
    return SILENT if stop.reason is StopReason.NOOP else ANSWERED


def logged(
    log: Sequence[dict[str, Any]],
    audit_events: Iterable[AuditEvent],
    *,
    at: float,
    limit: int,
    person: str = "",
) -> list[dict[str, Any]]:
    """The log with the tool calls among some audit events appended, cut to its limit.

    Args:
        at: seconds since 1970.
        person: the person for whom they were made, or "".
    """
    when = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    marks = {"person": person} if person else {}
    new = [_entry(item.details, when) | marks for item in audit_events if item.event == TOOL]
    # A slice [-0:] would return the whole list.
    return [*log, *new][-limit:] if limit > 0 else []


def _entry(details: Mapping[str, object], when: str) -> dict[str, Any]:
    names = ("parameters", "reasoning", "success", "error", "duration_ms", "provider", "model")
    first = {"tick": details["tick"], "timestamp": when, "tool": details["tool_name"]}
    return first | {name: details[name] for name in names}


def without_words(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A log entry with its words removed: of each argument only the length is left."""
    parameters = {
        name: value if _MASKED.fullmatch(str(value)) else _logged_value(value, True)
        for name, value in entry["parameters"].items()
    }
    return {**entry, "parameters": parameters, "reasoning": "", "error": "", FORGOTTEN: True}


def added(metrics: Mapping[str, Any], audit_events: Iterable[AuditEvent]) -> dict[str, Any]:
    """The totals with audit events added: calls, errors and milliseconds by tool, and tasks."""
    sums: dict[str, Any] = {
        **{name: dict(metrics.get(name, {})) for name in ("tool_calls", "tool_errors", "tool_ms")},
        **{name: int(metrics.get(name, 0)) for name in ("tasks_attempted", *set(TASKS.values()))},
    }
    for item in audit_events:
        if item.event == TOOL:
            _add_call(sums, item.details)
        elif item.event == TICK and (task := TASKS.get(item.details["outcome"])):
            sums["tasks_attempted"] += 1
            sums[task] += 1
    return sums


def _add_call(sums: dict[str, Any], details: Mapping[str, Any]) -> None:
    name = tool_counted(sums["tool_calls"], details["tool_name"])
    _add(sums["tool_calls"], name, 1)
    _add(sums["tool_ms"], name, details["duration_ms"])
    if not details["success"]:
        _add(sums["tool_errors"], name, 1)


def tool_counted(known: Mapping[str, int], name: str) -> str:
    """The name under which a tool is counted: OTHERS once there are too many names."""
    return name if name in known or len(known) < MOST_TOOLS else OTHERS


def _add(sums: dict[str, int], name: str, more: int) -> None:
    sums[name] = sums.get(name, 0) + more
