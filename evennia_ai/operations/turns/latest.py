"""Turns of an assistant: as they happen, the last ones, and one in full with what was said around.

What a turn's model was sent is kept in memory, of the last turns; how it came to its answer is kept
for days, as `traces` tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from evennia_ai.agent.admission import place_of
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.typed_objects import Being
from evennia_ai.memory.consent import is_unwanted
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.rights.private_words import Look
from evennia_ai.operations.times import WHEN, Span, as_shown, span_of
from evennia_ai.operations.turns import explaining, traces
from evennia_ai.operations.turns.explaining import row_of
from evennia_ai.operations.turns.recorded import Recorded, seen
from evennia_ai.runtime.rights import name_before

MOST_LIVE = 5
AROUND_SECONDS, MOST_AROUND = 300.0, 40
KIND = "what its model was sent"
OUTCOMES = ("answered", "silent", "failed")
NOT_RUNNING = "{name} is not running."


@dataclass(frozen=True, slots=True)
class Recent:
    """The last turns of an assistant as they were, and those that go on."""

    turns: Annotated[list[Recorded], note("The newest first.")]
    is_recorded: Annotated[bool, note("False where the game wants no turns to be kept.")]


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was said around a turn.

    Attributes:
        answer: what the assistant said to it, as far as that is kept.
        is_it: the turn itself.
    """

    number: int
    shown_at: str
    sender: str
    source: str
    text: str
    answer: str
    is_it: bool


@dataclass(frozen=True, slots=True)
class TurnInFull:
    """One turn: the reasons for it, what was said around it, and what its model was sent.

    Attributes:
        why: sentences, as `assistant why` has them; none of a turn of its own.
        recorded: the record, or several where it went on from one beat to the next; none where it
            is no longer in memory.
    """

    name: str
    why: list[str]
    around: list[Line]
    recorded: list[Recorded]


@dataclass(frozen=True, slots=True)
class Sought:
    """The turns that are looked for, as somebody typed it; "" is any.

    Attributes:
        sender: a part of the name of whoever was answered.
        words: in what was said or answered publicly.
        outcome: one of OUTCOMES.
        day: a time, such as "yesterday".
        before: only older ones than the turn of that id.
        by_cost: the dearest first instead of the newest.
    """

    sender: str = ""
    words: str = ""
    outcome: str = ""
    day: str = ""
    before: int | None = None
    by_cost: bool = False


def recent(script: AssistantScript, look: Look, most: int = MOST_LIVE) -> Result[Recent]:
    """The last turns as they were, and those that go on, the newest first.

    Args:
        most: how many; what goes on is always among them.
    """
    work = script.work
    if work is None:
        return Result.unavailable(NOT_RUNNING.format(name=script.key))
    newest = work.recorded.newest()
    shown = [each for place, each in enumerate(newest) if place < most or each.ended is None]
    turns = [seen(script, each, look) for each in shown]
    look.note(script, KIND)
    told = f"{len(turns)} of {len(newest)} turns that are in memory."
    return Result(True, told, Recent(turns, work.recorded.is_on))


def listing(
    script: AssistantScript, sought: Sought, look: Look, asker: Being | None = None
) -> Result[traces.TracedPage]:
    """The turns of the days that are kept, the newest or the dearest first, as they are sought."""
    span: Span | None = None
    if day := sought.day.strip():
        span = span_of(day, script.clock.seconds())
        if span is None:
            return _wrong("day", f"{day[:40]!r} is not a time; a time is like {WHEN}.")
    if sought.outcome and sought.outcome not in OUTCOMES:
        return _wrong("outcome", f"There is no such outcome; there are {', '.join(OUTCOMES)}.")
    return traces.trace(
        script,
        span=span,
        words=sought.words.strip(),
        sender=sought.sender.strip(),
        result=sought.outcome,
        before=sought.before,
        by_cost=sought.by_cost,
        look=look,
        asker=asker,
    )


def own_ticks(script: AssistantScript) -> dict[float, int]:
    """The numbers of the turns in memory that nobody asked for, by when they began."""
    newest = script.work.recorded.newest() if script.work is not None else ()
    return {
        event.at: record.turn.tick
        for record in newest
        for event in record.turn.events
        if not event.number
    }


def _wrong(name: str, told: str) -> Result[Any]:
    return Result(False, told, traces.TracedPage([], None), ProblemKind.INVALID, {name: told})


def in_full(
    script: AssistantScript,
    number: int,
    look: Look,
    *,
    tick: int | None = None,
    asker: Being | None = None,
) -> Result[TurnInFull]:
    """One turn in full.

    Args:
        number: of a message that it answered; 0 of a turn of its own.
        tick: its own number, by which a turn of its own is found while it is in memory.
        asker: to whom it is told, by the name that they know of the assistant.
    """
    if script.work is None:
        return Result.unavailable(NOT_RUNNING.format(name=script.key))
    name = name_before(script, asker)
    if not number:
        return _own(script, name, tick, look)
    why = explaining.why(script, number=number, look=look, asker=asker)
    if not why.ok:
        return why.as_refusal()
    row: Any = why.data.record
    records = script.work.recorded.find(number, row["at_seconds"])
    recorded = [seen(script, record, look) for record in records]
    around = _around(script, row["at_seconds"], {number, *row.get("together", ())}, look)
    look.note(script, KIND)
    told = TurnInFull(name, why.message.splitlines(), around, recorded)
    return Result(True, f"Message {number} of {name}.", told)


def _own(script: AssistantScript, name: str, tick: int | None, look: Look) -> Result[TurnInFull]:
    """A turn that nobody asked for."""
    found = [each for each in script.work.recorded.newest() if each.turn.tick == tick]
    if not found:
        return Result.missing(f"There is no such turn of {name} in memory.")
    recorded = [seen(script, each, look) for each in found]
    around = _around(script, found[0].began, set(), look)
    look.note(script, KIND)
    return Result(True, f"A turn of {name}.", TurnInFull(name, [], around, recorded))


def _around(script: AssistantScript, at: float, own: set[int], look: Look) -> list[Line]:
    """Words heard in the minutes around a moment, the oldest first, with what was answered."""
    span = Span(at - AROUND_SECONDS, at + AROUND_SECONDS, "")
    kept = traces.trace(script, span=span, limit=MOST_AROUND, look=look).data.messages
    rows: dict[tuple[float, int], Any] = {
        (row["at_seconds"], row["number"]): {**row} for row in kept
    }
    for record in script.work.decisions.newest():
        if span.since <= record.at < span.until:
            fresh: Any = row_of(record, is_staff=True, look=look)
            place = (record.at, record.number)
            if rows.get(place, {}).get("text") == traces.UNWANTED or _is_unwanted(script, record):
                fresh["text"] = traces.UNWANTED
            # In memory are words that the trace does not keep; the answer is in the trace.
            rows[place] = {**rows.get(place, {}), **fresh}
    near = sorted(rows, key=lambda place: abs(place[0] - at))[:MOST_AROUND]
    return [_line(rows[place], own) for place in sorted(near)]


def _is_unwanted(script: AssistantScript, record: DecisionTrace) -> bool:
    """True of words of somebody who wants none kept, and of such a place where it still is."""
    heard = record.heard
    return is_unwanted(script, {heard.person, heard.sender_id} - {""}, place_of(script, heard))


def _line(row: Any, own: set[int]) -> Line:
    return Line(
        row["number"],
        as_shown(row["at_seconds"]),
        row["sender"] or traces.NOBODY,
        row["source"],
        row["text"],
        row.get("answer", ""),
        bool(row["number"]) and row["number"] in own,
    )
