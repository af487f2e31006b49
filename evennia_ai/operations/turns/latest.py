"""Turns of an assistant: those going on, the last ones, and one in full with its surroundings.

What the model was sent is kept in memory, for the last turns only; the trace of how a turn came to
its answer is stored for days, see `traces`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import F
from django.db.models.functions import Abs

from evennia_ai.agent import tracing
from evennia_ai.agent.admission import place_of
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Being
from evennia_ai.memory.consent import is_unwanted
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import WHEN, Span, as_shown, span_of
from evennia_ai.operations.turns import explaining, traces
from evennia_ai.operations.turns.explaining import row_of
from evennia_ai.operations.turns.recorded import Recorded, seen
from evennia_ai.operations.turns.sentences import NOBODY
from evennia_ai.runtime.rights import name_before

MOST_LIVE = 5
# Messages shown around a turn: so many seconds before and after it, and at most so many of them.
AROUND_SECONDS, MOST_AROUND = 300.0, 40
KIND = "what its model was sent"
OUTCOMES = ("answered", "silent", "failed")
NOT_RUNNING = "{name} is not running."


@dataclass(frozen=True, slots=True)
class Recent:
    """The last turns of an assistant, and those that are going on."""

    turns: Annotated[list[Recorded], note("The newest first.")]
    is_recorded: Annotated[bool, note("False if the game is set to store no turns.")]


@dataclass(frozen=True, slots=True)
class Line:
    """A message that was heard around a turn.

    Attributes:
        answer: the assistant's answer to it, as far as stored.
        is_it: it is a message that the turn itself answered.
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
    """One turn: its reasons, the messages around it, and what its model was sent.

    Attributes:
        why: the lines of `assistant why`; empty for an autonomous turn.
        recorded: its recording, or several where it went on over several beats; empty where it is
            no longer in memory.
    """

    name: str
    why: list[str]
    around: list[Line]
    recorded: list[Recorded]


@dataclass(frozen=True, slots=True)
class Sought:
    """A search for turns, as typed by a person; "" matches all.

    Attributes:
        sender: part of the sender's name.
        words: part of the message or its answer, where public.
        outcome: one of OUTCOMES.
        day: a time, such as "yesterday".
        before: only turns older than the one with this id.
        by_cost: the most expensive first instead of the newest.
    """

    sender: str = ""
    words: str = ""
    outcome: str = ""
    day: str = ""
    before: int | None = None
    by_cost: bool = False


def recent(script: AssistantScript, look: PrivateView, most: int = MOST_LIVE) -> Result[Recent]:
    """List the last turns and those that are going on, the newest first.

    Args:
        most: number of turns; those going on are always included.
    """
    work = script.work
    if work is None:
        return Result.unavailable(NOT_RUNNING.format(name=script.key))
    newest = work.recorded.newest()
    records = [each for place, each in enumerate(newest) if place < most or each.ended is None]
    turns = [seen(script, each, look) for each in records]
    look.note(script, KIND)
    message = f"{len(turns)} of {counted(len(newest), 'turns')} in memory."
    return Result(True, message, Recent(turns, work.recorded.is_on))


def listing(
    script: AssistantScript, sought: Sought, look: PrivateView, asker: Being | None = None
) -> Result[traces.TracedPage]:
    """Search the stored turns of the last days, the newest or the most expensive first."""
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


def autonomous_ticks(script: AssistantScript) -> dict[float, int]:
    """Numbers of the autonomous turns in memory, by the time at which they began."""
    newest = script.work.recorded.newest() if script.work is not None else ()
    return {
        event.at: record.turn.tick
        for record in newest
        for event in record.turn.events
        if not event.number  # which only messages have
    }


def _wrong(name: str, message: str) -> Result[Any]:
    empty = traces.TracedPage([], None)
    return Result(False, message, empty, ProblemKind.INVALID, {name: message})


def show_turn(
    script: AssistantScript,
    number: int,
    look: PrivateView,
    *,
    tick: int | None = None,
    asker: Being | None = None,
) -> Result[TurnInFull]:
    """Show one turn in full.

    Args:
        number: number of a message that it answered; 0 for an autonomous turn.
        tick: number of the turn, by which an autonomous one is found while it is in memory.
        asker: the reader, who may know the assistant by another name; None for code.
    """
    if script.work is None:
        return Result.unavailable(NOT_RUNNING.format(name=script.key))
    name = name_before(script, asker)
    if not number:
        return _autonomous_turn(script, name, tick, look)
    why = explaining.why(script, number=number, look=look, asker=asker)
    if not why.ok:
        return why.as_refusal()
    row: Any = why.data.record
    records = script.work.recorded.find(number, row["at_seconds"])
    recorded = [seen(script, record, look) for record in records]
    around = _around(script, row["at_seconds"], {number, *row.get("together", ())}, look)
    look.note(script, KIND)
    data = TurnInFull(name, why.message.splitlines(), around, recorded)
    return Result(True, f"Message {number} of {name}.", data)


def _autonomous_turn(
    script: AssistantScript, name: str, tick: int | None, look: PrivateView
) -> Result[TurnInFull]:
    turns = [each for each in script.work.recorded.newest() if each.turn.tick == tick]
    if not turns:
        return Result.not_found(f"There is no such turn of {name} in memory.")
    recorded = [seen(script, each, look) for each in turns]
    around = _around(script, turns[0].began, set(), look)
    look.note(script, KIND)
    return Result(True, f"A turn of {name}.", TurnInFull(name, [], around, recorded))


def _around(script: AssistantScript, at: float, own: set[int], look: PrivateView) -> list[Line]:
    now, since, until = script.clock.seconds(), at - AROUND_SECONDS, at + AROUND_SECONDS
    stored = tracing.of(script.pk, now).filter(at__gte=since, at__lt=until)
    # The nearest: in a busy place the newest of these minutes would be too late to explain it.
    rows: dict[tuple[float, int], Any] = {
        (entry.at, entry.number): {**traces.row_of(entry, now, is_staff=True, look=look)}
        for entry in stored.order_by(Abs(F("at") - at))[:MOST_AROUND]
    }
    for record in script.work.decisions.newest():
        if since <= record.at < until:
            fresh: Any = row_of(record, is_staff=True, look=look)
            place = (record.at, record.number)
            if rows.get(place, {}).get("text") == traces.UNWANTED or _is_unwanted(script, record):
                fresh["text"] = traces.UNWANTED
            # Merged: memory has words that the trace does not store, the trace has the answer.
            rows[place] = {**rows.get(place, {}), **fresh}
    near = sorted(rows, key=lambda place: abs(place[0] - at))[:MOST_AROUND]
    return [_line(rows[place], own) for place in sorted(near)]


def _is_unwanted(script: AssistantScript, record: DecisionTrace) -> bool:
    # True for words of a person, or in a place, of which nothing may be remembered.
    heard = record.heard
    return is_unwanted(script, {heard.person, heard.sender_id} - {""}, place_of(script, heard))


def _line(row: Any, own: set[int]) -> Line:
    return Line(
        row["number"],
        as_shown(row["at_seconds"]),
        row["sender"] or NOBODY,
        row["source"],
        row["text"],
        row.get("answer", ""),
        bool(row["number"]) and row["number"] in own,
    )
