"""Tools of an assistant: listed, and run by hand with arguments that a person types.

A tool is run under the same locks, schema and breakers as the model's calls. The right to run it
counts as the confirmation that a dangerous tool needs. It is an order: what the tool does has to
be allowed to both the person and the assistant.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.python.failure import Failure
from typing_extensions import TypedDict

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import RUN_BY_HAND, Event
from evennia_ai.core.hearing.perception import TRIGGER, Evidence, Heard, Source, Verdict
from evennia_ai.core.hearing.trust import Basis
from evennia_ai.core.keys import new_key
from evennia_ai.core.settings.schema import parse
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import StaleEpochError
from evennia_ai.messages.incoming import id_of, person_of
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.settings.changing import signed
from evennia_ai.runtime import names, services, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import lets
from evennia_ai.tool_execution import LOCK, execute_tool_call
from evennia_ai.tools import TOOL_REGISTRY
from evennia_ai.tools.registry import SPECS
from evennia_ai.tools.schema import arguments_problem

MOST_NEAR, LONGEST_NAME = 3, 60
# Tools that make sense only within a turn, and why.
NOT_BY_HAND = {
    "report": "it answers a task, and nobody has given one",
    "attach_data": "it adds to the report on a task of a peer's, and nobody has given one",
    "attach_file": "it adds to the report on a task of a peer's, and nobody has given one",
    "delegate_task": "it hands on a task of a turn; have it done by: assistant tell",
    "find_tools": "it adds to the tools of a turn; all of them are listed without it",
}
_PROBLEMS = {
    Fault.UNKNOWN_TOOL: ProblemKind.NOT_FOUND,
    Fault.BAD_ARGUMENTS: ProblemKind.INVALID,
    Fault.DENIED: ProblemKind.FORBIDDEN,
    Fault.TIMEOUT: ProblemKind.UNAVAILABLE,
    Fault.UNAVAILABLE: ProblemKind.UNAVAILABLE,
    Fault.INTERNAL: ProblemKind.UNAVAILABLE,
}


class ToolRow(TypedDict):
    """A tool, as an assistant may use it."""

    name: str
    description: str
    category: str
    parameters: Annotated[dict[str, object], note("JSON schema of the arguments.")]
    is_allowed: Annotated[bool, note("True if no lock of the assistant's body forbids it.")]
    needs_yes: Annotated[bool, note("True if a person has to approve each call.")]
    module: Annotated[
        str, note("Python module that defines it; empty for a tool of an MCP server.")
    ]


@dataclass(frozen=True, slots=True)
class Tools:
    """All tools of an assistant, by name."""

    tools: list[ToolRow]


@dataclass(frozen=True, slots=True)
class Executed:
    """The outcome of running a tool."""

    tool: str
    success: bool
    result: Annotated[str, note("Result as the model would read it; to be shown as plain text.")]
    duration_ms: int


def _specs() -> Mapping[str, ToolSpec]:
    # The game's tools come before remote ones of the same name.
    return services.remote_servers().merged_with(SPECS)


def _is_allowed(script: AssistantScript, name: str) -> bool:
    body = script.obj
    return body is not None and bool(body.access(body, f"{LOCK}{name}", default=True))


def list_tools(script: AssistantScript) -> Result[Tools]:
    """List all tools of an assistant, by name."""
    tool_rows: list[ToolRow] = []
    for name, spec in sorted(_specs().items()):
        definition = TOOL_REGISTRY.get(name)
        tool_rows.append(
            {
                "name": name,
                "description": spec.description,
                "category": spec.category.value,
                "parameters": dict(spec.parameters),
                "is_allowed": _is_allowed(script, name),
                "needs_yes": spec.needs_confirmation,
                "module": definition.module if definition is not None else "",
            }
        )
    allowed = sum(tool["is_allowed"] for tool in tool_rows)
    message = f"{script.key} may use {allowed} of {counted(len(tool_rows), 'tools')}."
    return Result(True, message, Tools(tool_rows))


def find_tool(script: AssistantScript, name: str) -> Result[ToolRow]:
    """Find a tool; the refusal of an unknown name suggests similar ones."""
    tool = next((row for row in list_tools(script).data.tools if row["name"] == name), None)
    return _unknown(script, name) if tool is None else Result(True, tool["description"], tool)


def parse_arguments(script: AssistantScript, name: str, text: str) -> dict[str, Any] | Result:
    """Parse arguments as typed by a person, and check them against the tool's schema.

    They are pairs such as `target=Tom message=good evening`, a JSON object, or, for a tool that
    needs just one, its value alone.

    Returns:
        The arguments, or a refusal.
    """
    if (spec := _specs().get(name)) is None:
        return _unknown(script, name)
    try:
        arguments = read_arguments(spec, text)
    except ValueError as error:
        return Result.invalid(f"{name}: {error}.")
    problem = arguments_problem(spec, arguments)
    return Result.invalid(f"{problem}.") if problem else arguments


def execute_tool(
    script: AssistantScript, name: str, arguments: Mapping[str, object], *, person: Being
) -> Deferred[Result[Executed]]:
    """Run one tool as the assistant, for real; the result is not ok where the tool failed.

    Args:
        person: who runs it; the right to do so is checked by the caller.
    """
    if refused := _refusal(script, name, arguments, person):
        return succeed(refused)
    record = _record(script, name, arguments, person)
    event = _event(record)
    call = ToolCall(f"hand_{event.id}", name, dict(arguments))
    began = script.clock.seconds()
    by = str(person.key)
    with signed(by):
        running = execute_tool_call(script, call, turns.by_hand(script, event))

    def done(outcome: ToolResult | Failure) -> Result[Executed]:
        result = _outcome(outcome)
        duration_ms = round((script.clock.seconds() - began) * 1000)
        word = "done" if result.success else "it did not work"
        record.note(f"by hand: {word}", result.text)
        details = {"success": result.success, "duration_ms": duration_ms, "number": record.number}
        audit.record("tool_by_hand", script, tool_name=name, by=by, **details)
        data = Executed(name, result.success, result.text, duration_ms)
        fault = _PROBLEMS.get(result.fault) if result.fault else None
        problem = ProblemKind.NONE if result.success else fault or ProblemKind.CONFLICT
        message = f"{script.key}: {result.text}"
        return Result(result.success, message, data, problem)

    return running.addBoth(done)


def _outcome(outcome: ToolResult | Failure) -> ToolResult:
    if not isinstance(outcome, Failure):
        return outcome
    outcome.trap(StaleEpochError, CancelledError)  # others are bugs, and get a traceback
    text = "it was stopped meanwhile; it is unknown whether it was done"
    return ToolResult(False, text, Fault.NOT_RUN)


def _refusal(script: AssistantScript, name: str, arguments: object, person: Being) -> Result | None:
    if (spec := _specs().get(name)) is None:
        return _unknown(script, name)
    if name in NOT_BY_HAND:
        return Result.conflict(f"{name} cannot be run by hand: {NOT_BY_HAND[name]}.")
    if script.work is None or script.silence:
        why = script.silence_for_staff or "it is not running"
        return Result.conflict(f"{script.key} cannot do anything now: {why}.")
    lock = f"{LOCK}{name}"
    if not _is_allowed(script, name):
        return Result.forbidden(
            f"{script.key} may not use {name}: the lock {lock!r} of the body forbids it."
        )
    if not lets(script.obj, person, lock, default=True):
        return Result.forbidden(
            f"You may not use {name} by {script.key}: the lock {lock!r} of the body forbids it."
        )
    if not isinstance(arguments, Mapping):
        return Result.invalid(f"{name}: the arguments must be an object, such as {{}}.")
    problem = arguments_problem(spec, arguments)
    return Result.invalid(f"{problem}.") if problem else None


def _unknown(script: AssistantScript, name: str) -> Result:
    near = difflib.get_close_matches(name, _specs(), MOST_NEAR)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return Result.not_found(f"{script.key} has no tool {one_line(name, LONGEST_NAME)!r}.{hint}")


def _record(
    script: Assistant, name: str, arguments: Mapping[str, object], person: Being
) -> DecisionTrace:
    # A decision trace as of a message, so that `why` explains the tool call.
    heard = Heard(
        f"{name} {json.dumps(dict(arguments), ensure_ascii=False, default=str)}",
        Source.WHISPER,
        sender_id=id_of(person),
        sender_name=names.name_of(person, script.obj),
        person=person_of(person),
        evidence=Evidence.KWARGS,
    )
    verdict = Verdict(TRIGGER, 0, RUN_BY_HAND, Basis("staff", 1.0))
    trace: DecisionTrace = script.work.decisions.add(script.clock.seconds(), heard, verdict)
    return trace


def _event(record: DecisionTrace) -> Event:
    # Tools that speak answer the sender of their event: here the person who runs the tool.
    heard = record.heard
    return Event(
        id=new_key(12),
        kind="message",
        source="whisper",
        sender_id=heard.sender_id,
        sender_name=heard.sender_name,
        body="",
        trust=1.0,
        rule=0,
        hops=0,
        at=record.at,
        person=heard.person,
        number=record.number,
        ordered_by=heard.sender_id,
    )


_BITS = {"1": "yes", "0": "no"}  # `parse` knows only words for booleans
_QUOTES = ('"', "'")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*=")


def read_arguments(spec: ToolSpec, text: str) -> dict[str, Any]:
    """Read arguments in one of three forms, without checking them against the schema.

    The forms are a JSON object; `name=value` pairs, each value up to the next known name; or the
    bare value of the one argument that the tool needs.

    Raises:
        ValueError: it is none of them; the text says what would be accepted.
    """
    text = text.strip()
    known = spec.parameters.get("properties", {})
    if not text:
        return {}
    if text.startswith("{"):
        return _object(text)
    pairs = _pairs(text, known)
    if not pairs:
        pairs = {_sole_argument(spec, known, text): text}
    return {name: _convert(known[name], _unquoted(value)) for name, value in pairs.items()}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"that is not a JSON object: {error}") from None
    return dict(value)


def _pairs(text: str, known: Mapping[str, object]) -> dict[str, str]:
    # Only of a text that begins with a pair: "2+2=4" may be a bare value.
    first = _NAME.match(text)
    if first is None:
        return {}
    if first[1] not in known:
        raise ValueError(f"it has no argument {first[1]}; it takes {', '.join(known) or 'none'}")
    names = "|".join(map(re.escape, known))
    marks = list(re.finditer(rf"(?:^|(?<=[\s,;]))({names})\s*=", text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {
        mark[1]: text[mark.end() : end].strip().rstrip(",;").strip()
        for mark, end in zip(marks, ends, strict=True)
    }


def _sole_argument(spec: ToolSpec, known: Mapping[str, object], text: str) -> str:
    """The argument that a bare value is for.

    Raises:
        ValueError: the tool takes no arguments, or needs several.
    """
    required = [str(name) for name in spec.parameters.get("required", ())]
    candidates = required or list(known)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise ValueError(f"it takes no arguments, so {text[:40]!r} is too much")
    form = " ".join(f"{name}=..." for name in candidates)
    raise ValueError(f"say which value is which: {form}")


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] in _QUOTES and value[-1] == value[0]
    return value[1:-1] if is_quoted else value


def _convert(schema: object, value: str) -> Any:
    # A value that fits no type stays text, which the check against the schema then refuses.
    allowed = list(arms(schema))
    if value.casefold() in ("none", "null") and any(arm["type"] == "null" for arm in allowed):
        return None
    for arm in allowed:
        converted = _typed(arm, value)
        if not isinstance(converted, str):
            return converted
    return value


def _typed(arm: Mapping[str, object], value: str) -> Any:
    kind = arm["type"]
    if kind == "array":
        if value.startswith("["):
            return parse({"type": "object"}, value)  # as it is written, or text
        parts = filter(None, map(str.strip, value.split(",")))
        return [_convert(arm.get("items"), part) for part in parts]
    return parse({"type": kind}, _BITS.get(value, value) if kind == "boolean" else value)


def arms(schema: object) -> Iterator[dict[str, Any]]:
    """Yield a schema of a single type for each type that a schema allows."""
    if not isinstance(schema, Mapping):
        return
    kinds = schema.get("type", ())
    yield from ({**schema, "type": kind} for kind in ([kinds] if isinstance(kinds, str) else kinds))
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from arms(choice)
