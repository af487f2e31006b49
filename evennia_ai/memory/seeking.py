"""The seeker of a turn: the person, place and factions that decide what it may recall."""

from __future__ import annotations

from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB

from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.hearing.perception import CHANNEL, PRIVATE, Source
from evennia_ai.core.memory.recollection import NOBODY, Seeker, person_audience
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.messages import incoming
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.audience import is_alone, listeners


def seeker_of(script: Assistant, turn: Turn) -> Seeker:
    """The seeker for whom a turn's prompt is made.

    Another assistant, a program, and a turn of the assistant's own get no private memories; a task
    only gets public knowledge.
    """
    event, body, payer = turn.event, script.obj, turn.payer
    if event.kind == OWN:
        return Seeker(source=event.source, place=_room_id(body), payer=payer)
    if event.kind == TASK:
        return Seeker(source=event.source, payer=payer)
    being = incoming.find_being(event.sender_id)
    is_person = event.hops == 0 and getattr(being, "assistant_script", None) is None
    is_known = person_audience(event.face) != NOBODY
    return Seeker(
        person=event.face if is_known else "",
        source=event.source,
        place=_place(body, event, being),
        factions=_shared_factions(script, event, being),
        is_private=is_person and is_known and is_alone(body, event),
        payer=payer,
        name=event.sender_name,
        name_since=_named_since(script, being),
    )


def _named_since(script: Assistant, being: Any) -> float:
    """The moment a being was made; 0 if unknown, as where the assistant's clock is behind."""
    created_at = being.db_date_created.timestamp() if being is not None else 0.0
    return created_at if created_at <= script.clock.seconds() else 0.0


def _room_id(body: GameObject) -> str:
    return body.location.dbref if body.location is not None else ""


def _place(body: GameObject, event: Event, being: GameObject) -> str:
    """The place they share, or "" for a page from elsewhere, which gets nothing of this room."""
    if event.source != Source.PAGE:
        return event.place
    is_here = any(thing.location == body.location for thing in _bodies(being))
    return _room_id(body) if is_here else ""


def _bodies(being: GameObject) -> list[Any]:
    """The characters that a being acts through: a character itself, or an account's puppets."""
    if being is None:
        return []
    return list(being.get_all_puppets()) if isinstance(being, AccountDB) else [being]


def bodies_of(being_id: str) -> list[Any]:
    """The characters of the speaker, given an event's `sender_id`."""
    return _bodies(incoming.find_being(being_id))


def beings_of(person: str) -> list[Any]:
    """The beings of a person ("*#3"): the account and its characters, or an object alone."""
    being = incoming.find_being(person)
    if being is None or not person.startswith("*"):
        return [] if being is None else [being]
    # Characters that may be puppeted, and those being puppeted, which need not be among them.
    return [being, *being.characters.all(), *ObjectDB.objects.filter(db_account=being)]


def _shared_factions(script: Assistant, event: Event, being: GameObject) -> tuple[str, ...]:
    """The factions that the assistant, the person and all other listeners have in common."""
    category = state.memory_config(script).faction_category
    shared = _factions(script.obj, category)
    if not shared or event.source == CHANNEL:
        return ()
    shared &= {name for thing in _bodies(being) for name in _factions(thing, category)}
    is_open = event.source not in PRIVATE
    # Only if any is shared, because this loads the tags of everybody in the room.
    for thing in listeners(script.obj, event) if shared and is_open else ():
        shared &= _factions(thing, category)
    return tuple(sorted(shared))


def _factions(thing: GameObject, category: str) -> set[str]:
    return set(thing.tags.get(category=category, return_list=True))
