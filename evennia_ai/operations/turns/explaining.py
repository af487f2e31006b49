"""Explanations why an assistant answered a message or not, from its decision traces.

All that is shown of a decision trace, in sentences or as data, goes through `row_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from typing_extensions import TypedDict

from evennia_ai.agent.admission import ADDRESSED
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import Stored
from evennia_ai.core.hearing.perception import PRIVATE, TRIGGER
from evennia_ai.core.text.cleaning import one_line, quote
from evennia_ai.core.text.words import counted
from evennia_ai.core.text.words import number as amount
from evennia_ai.core.turn.trace import EVIDENCE, QUOTING_STEPS, marks_of
from evennia_ai.core.typed_objects import Being
from evennia_ai.memory.modes import mood
from evennia_ai.messages.incoming import person_of
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import as_shown, in_the_game, iso
from evennia_ai.operations.turns import traces
from evennia_ai.operations.turns.sentences import NOBODY, cost_of, listed, sentence
from evennia_ai.operations.turns.traces import HeardRow, Step
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import name_before

MOST_LISTED, MOST_AT_ONCE = 5, 100
MOST_WORDS, MOST_DETAIL, MOST_NAME = 80, 300, 40
Row = Mapping[str, Any]


class WaitingEvent(TypedDict):
    """A message or task in the queue, without its text."""

    number: int
    kind: str
    at: str
    at_seconds: Annotated[float, note("The same as Unix time, in seconds.")]
    sender: str
    source: str
    rule: int
    trust: float


@dataclass(frozen=True, slots=True)
class HeardPage:
    """Messages that an assistant heard, the newest first, and their outcome."""

    records: list[HeardRow]
    next: Annotated[int | None, note("Value of `before` for the next page; null on the last page.")]
    waiting: Annotated[
        list[WaitingEvent], note("Messages and tasks that wait for an answer, the oldest first.")
    ]


@dataclass(frozen=True, slots=True)
class Why:
    """The reason why an assistant answered one message, or did not."""

    record: Annotated[dict[str, object], note("The message as in the list, with its stored trace.")]


def last_addressed(person: Being) -> AssistantScript | None:
    """The assistant that a person addressed last, as far as remembered, or None."""
    mine = person_of(person)
    spoken = [
        (record.at, script)
        for script in list_assistants()
        if script.work is not None
        for record in script.work.decisions.newest(person=mine)
        if record.verdict.name in ADDRESSED
    ]
    return max(spoken, key=lambda each: each[0])[1] if spoken else None


def why(
    script: Assistant,
    *,
    number: int | None = None,
    person: str | None = None,
    look: PrivateView | None = None,
    asker: Being | None = None,
    is_full: bool = True,
) -> Result[Why]:
    """Explain the outcome of the newest message, or of the one with a number.

    A message that is no longer in memory is explained from its stored trace.

    Args:
        number: number of a message, as listed by an earlier call.
        person: only messages of this person, without causes for staff; None: everybody's, with all.
        look: the reader; None: only private words of `person` are shown.
        asker: the reader, who may know the assistant by another name; None for code.
        is_full: add rule, trust, model and all else to the one-line summary.
    """
    is_staff, look = person is None, look or PrivateView(person or "")
    name = name_before(script, asker)
    if script.work is None:
        return Result.unavailable(f"{name} is not running.")
    records = script.work.decisions.newest(person=person)
    row = _row(script, records, number, person, look)
    if row is None:
        return Result.not_found(_unknown(script, name, records, number, is_staff))
    now = script.clock.seconds()
    first = sentence(name, row, now, whom="" if is_staff else "you")
    lines = [first, f"  {quote(row['text'])}"] if row["text"] else [first]
    if is_full:
        lines = [first, *_explain(name, row, now), *_traced(script, row, is_staff)]
    lines.append(f"  now       {_state(script, is_staff)}" if is_full else _now(script, is_staff))
    if number is None and len(records) > 1:
        others = records[1 : 1 + MOST_LISTED]
        before = [row_of(each, is_staff=is_staff, look=look) for each in others]
        line_of = _summary if is_full else listed
        lines += ["Before that:", *(f"  {line_of(each, now)}" for each in before)]
    if not is_full:
        lines.append(f"More: assistant why {name} {row['number'] or ''} full".replace("  ", " "))
    lines += _inner_calls(script) if is_full and is_staff else []
    look.note(script, "what was heard")
    return Result(True, "\n".join([*lines, *look.hint()]), Why(dict(row)))


def _inner_calls(script: Assistant) -> list[str]:
    # Its newest inner calls, such as reflection, for which no player waited.
    calls, now = list(script.work.inner_calls)[-MOST_LISTED:], script.clock.seconds()
    lines = ["Outside its turns:"] if calls else []
    for call in reversed(calls):
        looked = f"; called {', '.join(call.tools)}" if call.tools else ""
        line = f"{call.context} ({call.purpose}), {amount(call.tokens)} tokens{looked}"
        lines.append(f"  {timedelta(seconds=max(0, round(now - call.at)))} ago  {line}")
    return lines


def _row(
    script: Assistant,
    records: list[DecisionTrace],
    number: int | None,
    person: str | None,
    look: PrivateView,
) -> Row | None:
    # From memory, with what the stored trace adds; else from the trace alone.
    is_staff, now = person is None, script.clock.seconds()
    fresh = (record for record in records if number in (None, record.number))
    record = next(fresh, None)
    if record is None:
        entry = traces.find(script, number, person=person)
        return None if entry is None else traces.row_of(entry, now, is_staff=is_staff, look=look)
    row = row_of(record, is_staff=is_staff, look=look)
    if record.verdict.outcome is TRIGGER:
        entry = traces.find(script, record.number, at=record.at)
        return {**row, **traces.costs_of(entry, is_staff=is_staff)} if entry is not None else row
    return row


def _unknown(
    script: Assistant, name: str, records: list[DecisionTrace], number: int | None, is_staff: bool
) -> str:
    if not records or number is None:
        return f"{name} has no messages on record.\n{_now(script, is_staff)}"
    numbers = ", ".join(str(record.number) for record in records[:10])
    return f"{name} has no message {number} on record. The newest: {numbers}."


def heard(
    script: AssistantScript,
    *,
    before: int | None = None,
    limit: int = 25,
    look: PrivateView | None = None,
) -> Result[HeardPage]:
    """List the messages that an assistant heard, the newest first; for staff.

    Args:
        before: only messages with a lower number: the `next` of an earlier page.
        limit: number of messages, 1 to 100.
    """
    if script.work is None:
        return Result.unavailable(f"{script.key} is not running.")
    newest, look = script.work.decisions.newest(), look or PrivateView()
    records = [record for record in newest if before is None or record.number < before]
    shown = records[: max(1, min(limit, MOST_AT_ONCE))]
    is_more = len(records) > len(shown)
    data = HeardPage(
        [row_of(record, is_staff=True, look=look) for record in shown],
        shown[-1].number if is_more else None,
        [_waiting(event) for event in script.work.inbox],
    )
    look.note(script, "what was heard")
    count = counted(len(newest), "messages")
    message = f"{script.key} has {count} on record, and {len(data.waiting)} are waiting."
    return Result(True, message, data)


def row_of(record: DecisionTrace, *, is_staff: bool, look: PrivateView) -> HeardRow:
    """A decision trace as a row: the beginning of the message, its sender, and its outcome.

    Args:
        is_staff: include causes that are for staff.
        look: the reader, for whom private words of others are masked.
    """
    heard, verdict = record.heard, record.verdict
    # Whose private words they are, or None; an open message may have a private answer.
    told_alone = heard.person if heard.source in PRIVATE else None
    answered_alone = heard.person if record.is_private else told_alone
    return {
        "number": record.number,
        "at": iso(record.at),
        "at_seconds": record.at,
        "sender": one_line(heard.sender_name, MOST_NAME),
        "source": heard.source.value,
        "place": one_line(heard.place, MOST_NAME),
        "text": look.words(one_line(heard.body, MOST_WORDS), told_alone),
        "marks": marks_of(heard),
        "known_by": EVIDENCE[heard.evidence.value],
        "rule": verdict.rule,
        "rule_name": verdict.name,
        "outcome": verdict.outcome.value,
        "trust": verdict.trust,
        "trust_because": verdict.basis.explain(),
        "steps": [
            _step(step, _detail(look, step, detail, answered_alone), is_staff)
            for step, detail in record.steps
        ],
    }


def _waiting(event: Stored) -> WaitingEvent:
    # Its text, as far as the reader may see it, is in the row of its number.
    return {
        "number": event.get("number", 0),
        "kind": event["kind"],
        "at": iso(event["at"]),
        "at_seconds": event["at"],
        "sender": one_line(event["sender_name"], MOST_NAME),
        "source": event["source"],
        "rule": event["rule"],
        "trust": event["trust"],
    }


def _step(step: str, detail: str, is_staff: bool) -> Step:
    # Errors of models name services and settings: they are for staff only.
    if step.startswith("failed") and not is_staff:
        return {"step": "failed", "detail": "the model kept changing its mind"}
    return {"step": step, "detail": one_line(detail, MOST_DETAIL)}


def _detail(look: PrivateView, step: str, detail: str, owner: str | None) -> str:
    # The detail of some steps is text that was said.
    return look.words(detail, owner) if step.startswith(QUOTING_STEPS) else detail


def _ago(row: Row, now: float) -> str:
    return str(timedelta(seconds=max(0, round(now - row["at_seconds"]))))


def _heard(row: Row) -> str:
    where = f" on {row['place']}" if row["place"] else ""
    return f"{row['source']}{where} {quote(row['text'])}"


def _summary(row: Row, now: float) -> str:
    last = row["steps"][-1]["step"] if row["steps"] else row["outcome"]
    line = f"{row['sender'] or NOBODY}: {_heard(row)}  {row['rule_name']}, {last}"
    return f"{row['number']:>4}  {_ago(row, now)} ago  {line}"


def _explain(name: str, row: Row, now: float) -> list[str]:
    who, marks = row["sender"] or NOBODY, "".join(f", {mark}" for mark in row["marks"])
    # A task of another assistant or of a program has no number, and no rule was asked about it.
    what = f"message {row['number']} of" if row["number"] else "from"
    lines = [f"{name}, {what} {who}, {_ago(row, now)} ago:", f"  heard     {_heard(row)}{marks}"]
    if row["rule_name"]:
        lines.append(f"  known by  {row['known_by']}")
        lines.append(f"  rule      {row['rule']} {row['rule_name']}: {row['outcome']}")
    because = f" ({row['trust_because']})" if row["trust_because"] else ""
    lines.append(f"  trust     {row['trust']:g}{because}")
    steps = (": ".join(filter(None, (step["step"], step["detail"]))) for step in row["steps"])
    return [*lines, *(f"  then      {step}" for step in steps)]


def _traced(script: Assistant, row: Row, is_staff: bool) -> list[str]:
    # Added by the stored trace: time, model, cost, tools; the latter three for staff.
    now, at = script.clock.seconds(), row["at_seconds"]
    game = in_the_game(at, now)
    lines = [f"  when      {as_shown(at)}{f' (in the game {game})' if game else ''}"]
    if not is_staff or "result" not in row:
        return lines
    tokens = f"{amount(row['prompt_tokens'])} + {amount(row['completion_tokens'])} tokens"
    lines.append(
        f"  model     {row['model'] or 'none'}: {counted(row['calls'], 'calls')}, {tokens}"
    )
    lines.append(f"  cost      {cost_of(row)}, {row['seconds']:g} s from hearing to answer")
    for tool in row["tools"]:
        outcome = "worked" if tool["success"] else f"failed, {tool['error']}"
        lines.append(f"  tool      {tool['name']}: {outcome}")
    lines += [f"  limit     {kind}" for kind in row["limits"]]
    parts = ", ".join(f"{key} {digits}" for key, digits in row["prompt"].items())
    changed = _changed_since(script, row)
    lines.append(f"  prompt    {parts or 'none'}{f'; other now: {changed}' if changed else ''}")
    lines.append(f"  as it was aiaudit {script.key} at {iso(at)}")
    return lines


def _changed_since(script: Assistant, row: Row) -> str:
    # Parts of the prompt whose fingerprints differ from those of its newest answer.
    newest = traces.find(script)
    then, now = row["prompt"], newest.facts["prompt"] if newest is not None else row["prompt"]
    return ", ".join(key for key in {**then, **now} if then.get(key) != now.get(key))


def _mood(script: Assistant, is_staff: bool) -> str:
    return (script.silence_for_staff if is_staff else script.silence) or mood(script)


def _now(script: Assistant, is_staff: bool) -> str:
    waiting = len(script.work.inbox)
    behind = f", and {waiting} waiting" if waiting else ""
    return f"Now: {_mood(script, is_staff)}{behind}."


def _state(script: Assistant, is_staff: bool) -> str:
    work = script.work
    if not is_staff:
        return f"{_mood(script, is_staff)}; {len(work.inbox)} waiting."
    every = (*services.pool().breakers.degraded(), *work.breakers.degraded())
    closed = [breaker["name"] for breaker in every]
    facts = [
        _mood(script, is_staff),
        f"{len(work.inbox)} waiting",
        f"{state.read(script, 'consecutive_errors')} errors in a row",
        f"breaker open: {', '.join(closed)}" if closed else "breakers closed",
        f"settings ignored: {work.ear_problem}" if work.ear_problem else "",
    ]
    return "; ".join(filter(None, facts)) + "."
