"""Results of tools and ticks: events for the audit log, a short log, and sums.

The log (`execution_log`) and the sums (`metrics`) are made from the same facts that go into the
record, and are written with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from evennia_ai.core.hearing.audience import WAYS, masked, may_leave, words
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.safety.audit_events import Fact, fact
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn

TOOL, TICK, USAGE = "ToolExecuted", "TickCompleted", "UsageCounted"
LONGEST_WORD, LONGEST_ERROR, MOST_ACTS, MOST_ARGUMENTS = 80, 200, 10, 20
MOST_TOOLS = 200
OTHERS = "(others)"
FORGOTTEN = "is_forgotten"
NUMBER = "(a number)"
_COUNTED = re.compile(r"\(\d+ characters\)|\(a number\)")
ANSWERED, SILENT, FAILED = "answered", "silent", "failed"
PAUSED, CUT_OFF = "paused", "cut off"
# What a tick came to, and what that means for the count of tasks.
TASKS = {ANSWERED: "tasks_completed", SILENT: "tasks_completed", FAILED: "tasks_failed"}


def tool_executed(
    turn: Turn, call: ToolCall, result: ToolResult, *, seconds: float, spec: ToolSpec | None = None
) -> Fact:
    """The fact of one call. Of a private talk it tells no words, only how long they were.

    What was said to one alone is private to that one, whatever the talk.

    Args:
        seconds: how long it took.
        spec: of the tool; None where there is no such tool.
    """
    kept = (
        turn.kept_audiences | {person_audience(turn.asides.get(call.id, ""))}
        if _is_aside(call)
        else turn.kept_audiences
    )
    is_private = not may_leave(WAYS["audit"], kept).is_allowed
    problem = "" if result.success else _problem(is_private, result)
    given = _named(call.arguments, spec) if is_private else call.arguments
    return fact(
        TOOL,
        tick=turn.tick,
        call_id=call.id,
        tool_name=name_of(turn, call.name, spec),
        parameters=shown(given, is_private=is_private),
        reasoning="" if is_private else one_line(turn.reasoning, LONGEST_ERROR),
        success=result.success,
        error=problem,
        duration_ms=round(seconds * 1000),
        provider=turn.model.partition("/")[0],
        model=turn.model.partition("/")[2],
    )


def name_of(turn: Turn, name: str, spec: ToolSpec | None) -> str:
    """A tool's name as it is kept; one that the model made up in a private turn is its words."""
    return name if spec is not None else words(WAYS["audit"], name, turn.kept_audiences)


def _is_aside(call: ToolCall) -> bool:
    way = WAYS.get(call.name)
    return way is not None and way.alone


def _named(arguments: Mapping[str, object], spec: ToolSpec | None) -> dict[str, Any]:
    """Arguments under the names that the tool has for them; the model's own are its words."""
    known = spec.parameters.get("properties", {}) if spec is not None else {}
    return {
        str(name) if name in known else f"argument {number}": value
        for number, (name, value) in enumerate(arguments.items(), 1)
    }


def _problem(is_private: bool, result: ToolResult) -> str:
    if is_private:
        return (result.fault or Fault.FAILED).value
    return one_line(result.text, LONGEST_ERROR)


def shown(arguments: Mapping[str, object], *, is_private: bool) -> dict[str, Any]:
    """Arguments as they are kept: short, and of a private talk without a word of it."""
    some = list(arguments.items())[:MOST_ARGUMENTS]
    return {str(name): _value(value, is_private) for name, value in some}


def _value(value: object, is_private: bool) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return NUMBER if is_private else value
    text = str(value)
    return masked(text) if is_private else one_line(text, LONGEST_WORD)


def tick_completed(turn: Turn, outcome: str, *, stop: str, seconds: float) -> Fact:
    """The fact of one tick, with what it used.

    Args:
        outcome: what it came to, a word of this module.
        stop: why the loop ended.
    """
    return fact(
        TICK,
        tick_number=turn.tick,
        duration_ms=round(seconds * 1000),
        action_taken=", ".join(turn.acts[:MOST_ACTS]) or "none",
        outcome=outcome,
        stop=stop,
        calls=turn.model_calls,
        prompt_tokens=turn.usage.prompt_tokens,
        completion_tokens=turn.usage.completion_tokens,
        events=[event.number for event in turn.events if event.number],
        person=turn.event.person,
    )


def usage_counted(
    purpose: str, calls: int, prompt_tokens: int, completion_tokens: int, *, context: str = ""
) -> Fact:
    """The fact of model calls beside a tick, such as those of a summary.

    Args:
        context: in which they were made, or "" for none.
    """
    return fact(
        USAGE,
        purpose=purpose,
        calls=calls,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        **({"context": context} if context else {}),
    )


def outcome_of(stop: Stop) -> str:
    """The outcome of a tick that ended so."""
    if stop.is_failure:
        return FAILED
    return SILENT if stop.reason is StopReason.NOOP else ANSWERED


def logged(
    log: Iterable[Mapping[str, object]],
    facts: Iterable[Fact],
    *,
    at: float,
    limit: int,
    person: str = "",
) -> list[dict[str, Any]]:
    """The log with the calls among some facts, no longer than its limit.

    Args:
        at: seconds since 1970.
        person: for whom they were made, which is noted where there is one.
    """
    when = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    marks = {"person": person} if person else {}
    new = [_entry(item.details, when) | marks for item in facts if item.event == TOOL]
    # [-0:] would be all of it.
    return [*map(dict, log), *new][-limit:] if limit > 0 else []


def _entry(details: Mapping[str, object], when: str) -> dict[str, Any]:
    names = ("parameters", "reasoning", "success", "error", "duration_ms", "provider", "model")
    first = {"tick": details["tick"], "timestamp": when, "tool": details["tool_name"]}
    return first | {name: details[name] for name in names}


def without_words(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the log as one of a private talk: of what it was given, only how long it was."""
    given = {
        name: value if _COUNTED.fullmatch(str(value)) else _value(value, True)
        for name, value in entry["parameters"].items()
    }
    return {**entry, "parameters": given, "reasoning": "", "error": "", FORGOTTEN: True}


def added(metrics: Mapping[str, Any], facts: Iterable[Fact]) -> dict[str, Any]:
    """The sums with some facts added: calls, errors and milliseconds of each tool, and tasks."""
    sums: dict[str, Any] = {
        **{name: dict(metrics.get(name, {})) for name in ("tool_calls", "tool_errors", "tool_ms")},
        **{name: int(metrics.get(name, 0)) for name in ("tasks_attempted", *set(TASKS.values()))},
    }
    for item in facts:
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
    """The name that a tool is counted under: models make names up, and there is an end to it."""
    return name if name in known or len(known) < MOST_TOOLS else OTHERS


def _add(sums: dict[str, int], name: str, more: int) -> None:
    sums[name] = sums.get(name, 0) + more
