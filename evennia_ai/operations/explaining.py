"""Why an assistant spoke or stayed silent, from the records it keeps while it hears."""

from __future__ import annotations

from datetime import timedelta

from evennia_ai import services, state
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.records import Record
from evennia_ai.core.text import one_line, quote
from evennia_ai.operations.result import Result

MOST_LISTED = 5
EVIDENCE = {
    "kwargs": "marks the server passed along",
    "oob": "marks the server passed along",
    "record": "the stored page",
    "none": "nothing: no mark said what it is",
}


def why(script: AssistantScript, *, number: int | None = None, person: str | None = None) -> Result:
    """Explain the newest message, or the one of that number.

    Args:
        number: as the list of an earlier answer shows it.
        person: only messages of this person ("*#3") are told of, and no causes that are for staff;
            None: of anybody, and all.
    """
    is_staff = person is None
    records = script.work.records.newest(person=person)
    if not records:
        return Result(
            False, f"{script.key} has heard nothing that she kept. {_state(script, is_staff)}"
        )
    chosen = records[0]
    if number is not None:
        found = [record for record in records if record.number == number]
        if not found:
            kept = ", ".join(str(record.number) for record in records[:10])
            return Result(False, f"{script.key} keeps no message {number}. The newest: {kept}.")
        chosen = found[0]
    now = script.clock.seconds()
    lines = [*_explain(script, chosen, now, is_staff), f"  now       {_state(script, is_staff)}"]
    if number is None and len(records) > 1:
        lines.append("Before that:")
        lines += [f"  {_summary(record, now)}" for record in records[1 : 1 + MOST_LISTED]]
    return Result(True, "\n".join(lines), {"record": chosen.as_stored()})


def _ago(record: Record, now: float) -> str:
    return str(timedelta(seconds=max(0, round(now - record.at))))


def _who(record: Record) -> str:
    return one_line(record.heard.sender_name, 40) or "the game itself"


def _heard(record: Record) -> str:
    heard = record.heard
    where = f" on {one_line(heard.place, 40)}" if heard.place else ""
    return f"{heard.source.value}{where} {quote(one_line(heard.body, 80))}"


def _summary(record: Record, now: float) -> str:
    last = record.steps[-1][0] if record.steps else record.verdict.outcome.value
    told = f"{_who(record)}: {_heard(record)}  {record.verdict.name}, {last}"
    return f"{record.number:>4}  {_ago(record, now)} ago  {told}"


def _explain(script: AssistantScript, record: Record, now: float, is_staff: bool) -> list[str]:
    heard, verdict = record.heard, record.verdict
    marks = [
        text
        for text, holds in (
            (f"of an assistant, hop {heard.hops}", heard.from_assistant),
            ("relayed by a bot", heard.is_relayed),
            ("aimed at somebody else", heard.is_for_another),
        )
        if holds
    ]
    lines = [
        f"{script.key}, message {record.number} of {_who(record)}, {_ago(record, now)} ago:",
        f"  heard     {_heard(record)}{''.join(f', {mark}' for mark in marks)}",
        f"  known by  {EVIDENCE[heard.evidence.value]}",
        f"  rule      {verdict.rule} {verdict.name}: {verdict.outcome.value}",
        f"  trust     {verdict.trust:g} ({verdict.basis.explain()})",
    ]
    return [*lines, *(f"  then      {_step(*step, is_staff)}" for step in record.steps)]


def _step(step: str, detail: str, is_staff: bool) -> str:
    """One step; why a model failed is for staff."""
    if step.startswith("failed") and not is_staff:
        return "failed: her thoughts would not settle"
    return f"{step}: {one_line(detail, 300)}" if detail else step


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
