"""Who may know of what is kept of a turn."""

from __future__ import annotations

from evennia_ai.core.hearing.inbox import OWN
from evennia_ai.core.hearing.perception import PRIVATE
from evennia_ai.core.memory.recollection import NOBODY, NOWHERE, person_audience, place_audience
from evennia_ai.core.turn.turn import Turn
from evennia_ai.runtime.assistant import Assistant


def is_private(turn: Turn) -> bool:
    """Whether only turns for the same person may know of it: something in it is private."""
    told = (turn.event.source, *(item.source for item in turn.overheard))
    return turn.is_private or not PRIVATE.isdisjoint(told)


def place_of(script: Assistant, turn: Turn) -> str:
    """Where it is, as of an event; a turn of its own is where its body is."""
    event, room = turn.event, script.obj.location
    if event.kind == OWN:
        return str(room.dbref) if room is not None else ""
    return event.place


def audience_of(script: Assistant, turn: Turn) -> str:
    """Who may know of it: one person, or whoever is at the place; "" where that is nobody."""
    event = turn.event
    if is_private(turn):
        found = person_audience(event.face)
    else:
        found = place_audience(event.source, place_of(script, turn))
    return "" if found in (NOBODY, NOWHERE) else found
