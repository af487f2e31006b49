"""Consent to be remembered, of people and of rooms; and who may know of what is kept."""

from __future__ import annotations

from collections.abc import Iterable

from evennia_ai.core.hearing.inbox import OWN, Event
from evennia_ai.core.hearing.perception import PRIVATE
from evennia_ai.core.memory.recollection import (
    NOBODY,
    NOWHERE,
    is_mask,
    person_audience,
    place_audience,
)
from evennia_ai.core.turn.turn import Turn
from evennia_ai.messages import incoming
from evennia_ai.runtime import names, state
from evennia_ai.runtime.assistant import Assistant

NO_MEMORY_TAG = "ai_no_memory"


def may_remember(
    script: Assistant, *, person: str = "", sender_id: str = "", place: str = ""
) -> bool:
    """True where an assistant may keep something of a person, or of what happens at a place.

    Costs no statement for those who are in the game's memory and whose tags were asked before.

    Args:
        person: the player ("*#3"), "" for nobody.
        sender_id: the character that spoke ("#12"), "" for nobody.
        place: as of an event: a room ("#2") or a channel's name; "" for none.
    """
    config = state.memory_config(script)
    if not config.enabled or is_mask(person):
        return False
    return not is_unwanted(script, {person, sender_id} - {""}, place)


def wants_no_words(script: Assistant, event: Event) -> bool:
    """True where none of somebody's words may be kept: they, or the room, said so."""
    return is_unwanted(script, {event.person, event.sender_id} - {""}, event.place)


def holds_unwanted(script: Assistant, turn: Turn) -> bool:
    """True where something heard in a turn is of somebody, or of a place, that wants no words kept.

    What it answers, and what it overheard.
    """
    if any(wants_no_words(script, event) for event in turn.events):
        return True
    heard = turn.overheard
    return any(is_unwanted(script, {each.person} - {""}, each.place) for each in heard)


def tells_unwanted(script: Assistant, turn: Turn) -> bool:
    """True where a prompt of a turn may tell such words: it holds some, or the talk before does."""
    if turn.has_unkept or holds_unwanted(script, turn):
        return True
    return is_unwanted(script, set(turn.talk_of))


def is_unwanted(script: Assistant, whom: set[str], place: str = "") -> bool:
    """True where one of some beings, or a place, is among those of whom nothing is to be kept.

    Args:
        whom: players ("*#3") and characters ("#12").
        place: as of `may_remember`.
    """
    config = state.memory_config(script)
    if whom.intersection(state.read(script, "unremembered")):
        return True
    for being in whom:
        if _is_named(being, config.never_characters):
            return True
    # Else it is a channel's name, which is no being with tags.
    return place.startswith("#") and _is_named(place, config.never_rooms)


def names_of(script: Assistant) -> tuple[str, ...]:
    """An assistant's names, for `core.safety.persona.about_itself`."""
    body = script.obj
    return tuple(dict.fromkeys((*names.called(body, body), *names.called(body, None))))


def _is_named(being_id: str, words: Iterable[str]) -> bool:
    """True where an id is among some words, or the being has one of them, or ours, for a tag."""
    being = incoming.find_being(being_id)
    names = (being_id, *being.tags.all()) if being is not None else (being_id,)
    # Evennia keeps tags in small letters, and owners write them as they like.
    return not {NO_MEMORY_TAG, *map(str.casefold, words)}.isdisjoint(map(str.casefold, names))


def is_private(turn: Turn) -> bool:
    """True where only turns for the same person may know of it: something in it is private."""
    told = (turn.event.source, *(item.source for item in turn.overheard))
    return turn.is_private or not PRIVATE.isdisjoint(told)


def place_of(script: Assistant, turn: Turn) -> str:
    """The place of an event; a turn of its own is where its body is."""
    event, room = turn.event, script.obj.location
    if event.kind == OWN:
        return str(room.dbref) if room is not None else ""
    return event.place


def audience_of(script: Assistant, turn: Turn) -> str:
    """The audience of a turn: one person, or whoever is at the place; "" where that is nobody."""
    event = turn.event
    if is_private(turn):
        found = person_audience(event.face)
    else:
        found = place_audience(event.source, place_of(script, turn))
    return "" if found in (NOBODY, NOWHERE) else found
