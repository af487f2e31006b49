"""Why an assistant spoke or stayed silent, from the records it keeps while it hears.

`row_of` is all that anybody is shown of a record, in sentences or as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from evennia_ai import services, state
from evennia_ai.admission import ADDRESSED
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.inbox import Stored
from evennia_ai.core.perception import PRIVATE
from evennia_ai.core.records import Record
from evennia_ai.core.text import one_line, quote
from evennia_ai.inbound import person_of
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.result import Problem, Result
from evennia_ai.operations.revealing import Look
from evennia_ai.rights import name_before

MOST_LISTED, MOST_AT_ONCE = 5, 100
MOST_WORDS, MOST_DETAIL, MOST_NAME = 80, 300, 40
NOBODY = "the game itself"
# Steps whose details hold what was said.
WORDY = ("answered", "silent by choice", "goes on", "by hand")
EVIDENCE = {
    "kwargs": "marks the server passed along",
    "oob": "marks the server passed along",
    "record": "the stored page",
    "call": "what the code of the game told it",
    "none": "nothing: no mark said what it is",
}
Row = dict[str, Any]


def last_addressed(person: Any) -> AssistantScript | None:
    """The assistant to which somebody spoke last, by what each of them keeps; None: to none."""
    mine = person_of(person)
    spoken = [
        (record.at, script)
        for script in list_assistants()
        if script.work is not None
        for record in script.work.records.newest(person=mine)
        if record.verdict.name in ADDRESSED
    ]
    return max(spoken, key=lambda each: each[0])[1] if spoken else None


def why(
    script: AssistantScript,
    *,
    number: int | None = None,
    person: str | None = None,
    look: Look | None = None,
    asker: Any = None,
) -> Result:
    """Explain the newest message, or the one of that number.

    Args:
        number: as the list of an earlier answer shows it.
        person: only messages of this person ("*#3") are told of, and no causes that are for staff;
            None: of anybody, and all.
        look: who looks; None: nobody, who sees no private words but of that person.
        asker: to whom it is explained, by the name that they know; None: to code.

    Returns:
        data: "record", a row of `heard`.
    """
    is_staff, look = person is None, look or Look(person or "")
    name = name_before(script, asker)
    records = script.work.records.newest(person=person)
    if not records:
        told = f"{name} has heard nothing that was kept. {_state(script, is_staff)}"
        return Result(False, told, problem=Problem.MISSING)
    chosen = records[0]
    if number is not None:
        found = [record for record in records if record.number == number]
        if not found:
            kept = ", ".join(str(record.number) for record in records[:10])
            told = f"{name} keeps no message {number}. The newest: {kept}."
            return Result(False, told, problem=Problem.MISSING)
        chosen = found[0]
    now, row = script.clock.seconds(), row_of(chosen, is_staff=is_staff, look=look)
    lines = [*_explain(name, row, now), f"  now       {_state(script, is_staff)}"]
    if number is None and len(records) > 1:
        others = records[1 : 1 + MOST_LISTED]
        before = [row_of(each, is_staff=is_staff, look=look) for each in others]
        lines += ["Before that:", *(f"  {_summary(each, now)}" for each in before)]
    look.note(script, "what was heard")
    return Result(True, "\n".join([*lines, *look.hint()]), {"record": row})


def heard(
    script: AssistantScript,
    *,
    before: int | None = None,
    limit: int = 25,
    look: Look | None = None,
) -> Result:
    """What an assistant heard and what became of it, the newest first; for staff.

    Args:
        before: only messages with a lower number: the `next` of an earlier answer.
        limit: how many at most, 1 to 100.
        look: who looks; None: nobody, who sees no private words.

    Returns:
        data: "records", rows; "next", a number to go on before, or None; "waiting", what nobody
        answered yet, the oldest first, without its words.
    """
    if script.work is None:
        return Result(False, f"{script.key} is not running.", problem=Problem.UNAVAILABLE)
    newest, look = script.work.records.newest(), look or Look()
    left = [record for record in newest if before is None or record.number < before]
    shown = left[: max(1, min(limit, MOST_AT_ONCE))]
    is_more = len(left) > len(shown)
    data = {
        "records": [row_of(record, is_staff=True, look=look) for record in shown],
        "next": shown[-1].number if is_more else None,
        "waiting": [_waiting(event) for event in script.work.inbox],
    }
    look.note(script, "what was heard")
    told = f"{script.key} keeps {len(newest)} messages, and {len(data['waiting'])} are waiting."
    return Result(True, told, data)


def row_of(record: Record, *, is_staff: bool, look: Look) -> Row:
    """What may be told of one message: its first words, who it was, and what became of it.

    Args:
        is_staff: whether causes are told that are for staff.
        look: who looks, to whom private words of others are masked.
    """
    heard, verdict = record.heard, record.verdict
    told_alone = heard.person if heard.source in PRIVATE else None
    answered_alone = heard.person if record.is_private else told_alone
    marks = (
        (f"of an assistant, hop {heard.hops}", heard.from_assistant),
        ("relayed by a bot", heard.is_relayed),
        ("aimed at somebody else", heard.is_for_another),
    )
    return {
        "number": record.number,
        "at": iso(record.at),
        "at_seconds": record.at,
        "sender": one_line(heard.sender_name, MOST_NAME),
        "source": heard.source.value,
        "place": one_line(heard.place, MOST_NAME),
        "text": look.words(one_line(heard.body, MOST_WORDS), told_alone),
        "marks": [text for text, holds in marks if holds],
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


def iso(seconds: float) -> str:
    """A moment as people and programs read it: "2026-11-21T17:00:00+00:00"."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _waiting(event: Stored) -> Row:
    """One thing that waits; its words, as far as they are told, are in the record of its number."""
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


def _step(step: str, detail: str, is_staff: bool) -> dict[str, str]:
    """One step; why a model failed is for staff."""
    if step.startswith("failed") and not is_staff:
        return {"step": "failed", "detail": "the thoughts would not settle"}
    return {"step": step, "detail": one_line(detail, MOST_DETAIL)}


def _detail(look: Look, step: str, detail: str, owner: str | None) -> str:
    """What a step tells; of some it is what was said."""
    return look.words(detail, owner) if step.startswith(WORDY) else detail


def _ago(row: Row, now: float) -> str:
    return str(timedelta(seconds=max(0, round(now - row["at_seconds"]))))


def _heard(row: Row) -> str:
    where = f" on {row['place']}" if row["place"] else ""
    return f"{row['source']}{where} {quote(row['text'])}"


def _summary(row: Row, now: float) -> str:
    last = row["steps"][-1]["step"] if row["steps"] else row["outcome"]
    told = f"{row['sender'] or NOBODY}: {_heard(row)}  {row['rule_name']}, {last}"
    return f"{row['number']:>4}  {_ago(row, now)} ago  {told}"


def _explain(name: str, row: Row, now: float) -> list[str]:
    who, marks = row["sender"] or NOBODY, "".join(f", {mark}" for mark in row["marks"])
    lines = [
        f"{name}, message {row['number']} of {who}, {_ago(row, now)} ago:",
        f"  heard     {_heard(row)}{marks}",
        f"  known by  {row['known_by']}",
        f"  rule      {row['rule']} {row['rule_name']}: {row['outcome']}",
        f"  trust     {row['trust']:g} ({row['trust_because']})",
    ]
    return [*lines, *(f"  then      {_told(step)}" for step in row["steps"])]


def _told(step: Mapping[str, str]) -> str:
    return f"{step['step']}: {step['detail']}" if step["detail"] else step["step"]


def _state(script: AssistantScript, is_staff: bool) -> str:
    """What holds now, of all that can keep an assistant silent."""
    work = script.work
    if not is_staff:
        return f"{script.silence or 'awake'}; {len(work.inbox)} waiting."
    every = (*services.pool().breakers.degraded(), *work.breakers.degraded())
    closed = [breaker["name"] for breaker in every]
    facts = [
        script.silence or "awake",
        f"{len(work.inbox)} waiting",
        f"{state.read(script, 'consecutive_errors')} errors in a row",
        f"breaker open: {', '.join(closed)}" if closed else "breakers closed",
        f"settings ignored: {work.ear_problem}" if work.ear_problem else "",
    ]
    return "; ".join(filter(None, facts)) + "."
