"""The order in which those who wait are answered, and how long each has to wait.

What waits is in the inbox, which a restart keeps. A person who had all turns of a minute waits for
the next; among those who need not wait, who had the fewest turns of late comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from evennia_ai.approvals import holding
from evennia_ai.core.hearing.inbox import (
    MESSAGE,
    SAVED_TURN,
    SET_ASIDE,
    TASK,
    Event,
    Stored,
    count_turns,
)
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tasks import delegations

AWAY = "for whoever asked to come back"


def awaited(script: Assistant) -> Iterator[Stored]:
    """Events of the inbox that wait for an answer which somebody is there to hear.

    Everything else waits for whoever asked, until it is too old; and what somebody said whose turn
    is set aside, until that is over.
    """
    inbox, records = script.work.inbox, script.work.decisions
    if not inbox:
        return
    held, people = script.work.set_aside, holding.people(script)
    trays = {stored["id"] for stored in inbox if SAVED_TURN in stored}
    for stored in inbox:
        event = Event.from_stored(stored)
        if event.id in held or (SAVED_TURN not in stored and stored.get(SET_ASIDE) in trays):
            continue  # it goes with the first event of its turn
        if event.kind != TASK and event.person in people:
            records.note_once(event.number, "waits", holding.ASIDE)
        elif event.kind == TASK or delegations.is_awaited(script, event):
            yield stored
        else:
            records.note_once(event.number, "waits", AWAY)


def is_called(script: Assistant) -> bool:
    """True where there is anything to answer, or to go on with, now or as soon as it may."""
    return holding.is_due(script) or next(awaited(script), None) is not None


def next_due(script: Assistant) -> tuple[Stored | None, float | None]:
    """Choose the event that is answered next.

    Returns:
        The event whose turn begins now, or None; and without one the seconds until one is due, or
        None where nothing waits, or nothing but for somebody to come back.
    """
    now, config, waits = script.clock.seconds(), state.hearing_config(script), []
    due: list[tuple[int, Stored]] = []
    for stored in awaited(script):
        person = _person_of(stored)
        known = script.work.senders.meet(person)
        wait = max(known.wait_seconds(now, config), cooling_seconds(script, person))
        if _is_counted(stored):
            wait = max(wait, known.minute_seconds(now, config))
        if wait <= 0:
            due.append((known.count(now), stored))
        waits.append(wait)
    if not due:
        return None, min(waits, default=None)
    return min(due, key=lambda item: item[0])[1], 0.0  # the oldest of those who had the fewest


def cooling_seconds(script: Assistant, person: str) -> float:
    """Seconds that a person has to wait until the assistant does anything for them again."""
    blame, now = script.work.blame, script.clock.seconds()
    if not blame.people:
        return 0.0
    return float(blame.seconds_left(person, now, state.safety_config(script).cooling))


def begin(script: Assistant, stored: Stored) -> None:
    """Count the turn that an event begins."""
    now, known = script.clock.seconds(), script.work.senders.meet(_person_of(stored))
    known.turn_began = now
    if _is_counted(stored):
        known.begin_turn(now)


def turns_of(script: Assistant, person: str) -> int:
    """Number of a person's turns that wait to begin."""
    limit = state.hearing_config(script).batch_messages
    return count_turns(_waiting(script).get(person, ()), limit)


def queued_turns(script: Assistant) -> int:
    """Number of all people's turns that wait for their next minute."""
    now, config = script.clock.seconds(), state.hearing_config(script)
    return sum(
        script.work.senders.meet(person).later(
            now, config, count_turns(theirs, config.batch_messages)
        )
        for person, theirs in _waiting(script).items()
    )


def _waiting(script: Assistant) -> dict[str, list[Stored]]:
    """Events that wait and were not begun yet, by person."""
    work, by_person = script.work, dict[str, list[Stored]]()
    busy = work.busy
    for stored in work.inbox:
        if stored["id"] not in busy and _is_counted(stored):
            by_person.setdefault(_person_of(stored), []).append(stored)
    return by_person


def _person_of(stored: Stored) -> str:
    return str(stored.get("person") or stored["sender_id"])


def _is_counted(stored: Stored) -> bool:
    """True where its turn counts among those that a person may cause in a minute.

    What was begun already counts no more; a task counted where it was asked for.
    """
    return stored["kind"] == MESSAGE and SET_ASIDE not in stored
