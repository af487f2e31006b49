"""Consent of people and rooms to be remembered, and the audience of what is stored."""

from __future__ import annotations

from collections.abc import Iterable

from evennia_ai.core.hearing.inbox import OWN, Event
from evennia_ai.core.hearing.perception import PRIVATE, Overheard
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
    """True if the assistant may store something about a person or a place.

    Runs no query for objects in Evennia's cache whose tags have been loaded.

    Args:
        person: the player ("*#3"), "" for nobody.
        sender_id: the character that spoke ("#12"), "" for nobody.
        place: place of an event: a room ("#2") or a channel's name; "" for none.
    """
    config = state.memory_config(script)
    if not config.enabled or is_mask(person):
        return False
    return not is_unwanted(script, {person, sender_id} - {""}, place)


def is_unstorable(script: Assistant, heard: Event | Overheard) -> bool:
    """True if words must not be stored, because their speaker or room opted out."""
    return is_unwanted(script, {heard.person, heard.sender_id} - {""}, heard.place)


def is_any_unstorable(script: Assistant, turn: Turn) -> bool:
    """True if words that the turn answers must not be stored."""
    return any(is_unstorable(script, event) for event in turn.events)


def has_unstorable_words(script: Assistant, turn: Turn) -> bool:
    """True if the turn heard or overheard words that must not be stored."""
    heard: tuple[Event | Overheard, ...] = (*turn.events, *turn.overheard)
    return any(is_unstorable(script, item) for item in heard)


def prompt_has_unstorable_words(script: Assistant, turn: Turn) -> bool:
    """True if the turn's prompt may contain such words, from the turn or the talk before it."""
    if turn.has_unkept or has_unstorable_words(script, turn):
        return True
    return is_unwanted(script, set(turn.talk_of))


def is_unwanted(script: Assistant, whom: set[str], place: str = "") -> bool:
    """True if one of these beings or the place must not be remembered.

    Args:
        whom: players ("*#3") and characters ("#12").
        place: as for `may_remember`.
    """
    config = state.memory_config(script)
    if whom.intersection(state.read(script, "unremembered")):
        return True
    for being in whom:
        if _is_excluded(being, config.never_characters):
            return True
    # Only rooms: a channel is given by its name, for which no object is looked up.
    return place.startswith("#") and _is_excluded(place, config.never_rooms)


def names_of(script: Assistant) -> tuple[str, ...]:
    """The assistant's names, for `core.safety.persona.about_itself`."""
    body = script.obj
    if body is None:
        return (str(script.key),)
    return tuple(dict.fromkeys((*names.called(body, body), *names.called(body, None))))


def _is_excluded(being_id: str, words: Iterable[str]) -> bool:
    """True if an id, or one of the being's tags, is in a list; our own tag always counts."""
    being = incoming.find_being(being_id)
    names = (being_id, *being.tags.all()) if being is not None else (being_id,)
    # Evennia stores tags in lower case, but owners may write them in any case.
    return not {NO_MEMORY_TAG, *map(str.casefold, words)}.isdisjoint(map(str.casefold, names))


def is_private(turn: Turn) -> bool:
    """True if something in the turn is private, so that only this person may be told of it."""
    sources = (turn.event.source, *(item.source for item in turn.overheard))
    return turn.is_private or not PRIVATE.isdisjoint(sources)


def place_of(script: Assistant, turn: Turn) -> str:
    """The place of an event; for a turn of the assistant's own, the room of its body."""
    event, room = turn.event, script.obj.location
    if event.kind == OWN:
        return str(room.dbref) if room is not None else ""
    return event.place


def audience_of(script: Assistant, turn: Turn) -> str:
    """The audience of a turn: one person, or everyone at the place; "" if there is none."""
    event = turn.event
    if is_private(turn):
        audience = person_audience(event.face)
    else:
        audience = place_audience(event.source, place_of(script, turn))
    return "" if audience in (NOBODY, NOWHERE) else audience
