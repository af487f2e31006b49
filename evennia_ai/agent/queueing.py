"""The order in which waiting messages are answered, and how long each has to wait.

They wait in the inbox, which survives a restart. A person who used up the turns of this minute
waits for the next; among the others, the person with the fewest recent turns comes first.
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
    """Events of the inbox whose answer somebody is present to hear.

    Others wait until the sender comes back or they expire; messages of a person whose turn is set
    aside wait until that turn is over.
    """
    inbox, records = script.work.inbox, script.work.decisions
    if not inbox:
        return
    set_aside, people = script.work.set_aside, holding.people(script)
    saved_turns = {stored["id"] for stored in inbox if SAVED_TURN in stored}
    for stored in inbox:
        event = Event.from_stored(stored)
        if event.id in set_aside or (
            SAVED_TURN not in stored and stored.get(SET_ASIDE) in saved_turns
        ):
            continue  # it is answered with the first event of its turn
        if event.kind != TASK and event.person in people:
            records.note_once(event.number, "waits", holding.ASIDE)
        elif event.kind == TASK or delegations.is_awaited(script, event):
            yield stored
        else:
            records.note_once(event.number, "waits", AWAY)


def is_called(script: Assistant) -> bool:
    """True where something can be answered, or resumed, now or as soon as its wait is over."""
    return holding.is_due(script) or next(awaited(script), None) is not None


def next_due(script: Assistant) -> tuple[Stored | None, float | None]:
    """Choose the event that is answered next.

    Returns:
        The event whose turn begins now, or None; and without one the seconds until one is due, or
        None where nothing waits except for a sender to come back.
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
    # `min` keeps the first of equals: the oldest message of the person with the fewest turns.
    return min(due, key=lambda item: item[0])[1], 0.0


def cooling_seconds(script: Assistant, person: str) -> float:
    """Seconds until the assistant does anything again for a person who has to cool off."""
    blame, now = script.work.blame, script.clock.seconds()
    # Nearly always empty, and asked for every message.
    if not blame.people:
        return 0.0
    return float(blame.seconds_left(person, now, state.safety_config(script).cooling))


def begin(script: Assistant, stored: Stored) -> None:
    """Count the turn that an event begins."""
    now, known = script.clock.seconds(), script.work.senders.meet(_person_of(stored))
    known.turn_began = now
    if _is_counted(stored):
        known.begin_turn(now)


def turns_of(script: Assistant, person: str) -> tuple[int, int]:
    """The turns that wait to begin for a person, and those of all that wait for the next minute."""
    now, config, waiting = script.clock.seconds(), state.hearing_config(script), _waiting(script)
    limit, queued = config.batch_messages, 0
    for each, theirs in waiting.items():
        known = script.work.senders.meet(each)
        queued += known.later(now, config, count_turns(theirs, limit))
    return count_turns(waiting.get(person, ()), limit), queued


def _waiting(script: Assistant) -> dict[str, list[Stored]]:
    """Events whose turn has not begun, by person."""
    work, by_person = script.work, dict[str, list[Stored]]()
    busy = work.busy
    for stored in work.inbox:
        if stored["id"] not in busy and _is_counted(stored):
            by_person.setdefault(_person_of(stored), []).append(stored)
    return by_person


def _person_of(stored: Stored) -> str:
    return str(stored.get("person") or stored["sender_id"])


def _is_counted(stored: Stored) -> bool:
    """True where its turn counts towards those that a person may cause in a minute.

    A turn that began before was counted then, and a task where it was asked for.
    """
    return stored["kind"] == MESSAGE and SET_ASIDE not in stored
