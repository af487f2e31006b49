"""Whether anything may be remembered: of whom, of which room, and what the assistant is called."""

from __future__ import annotations

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.memory.recollection import is_mask
from evennia_ai.messages import incoming
from evennia_ai.runtime import names, state
from evennia_ai.runtime.assistant import Assistant

NO_MEMORY_TAG = "ai_no_memory"


def may_remember(
    script: Assistant, *, person: str = "", sender_id: str = "", place: str = ""
) -> bool:
    """Whether an assistant may keep anything of a person, or of what happens at a place.

    Costs no statement for those who are in the game's memory and whose tags were asked before.

    Args:
        person: the player ("*#3"), "" for nobody.
        sender_id: the character that spoke ("#12"), "" for nobody.
        place: as of an event: a room ("#2") or a channel's name; "" for none.
    """
    config = state.memory_config(script)
    if not config.enabled or is_mask(person):
        return False
    return not _is_unwanted(script, {person, sender_id} - {""}, place)


def wants_no_words(script: Assistant, event: Event) -> bool:
    """Whether none of somebody's words may be kept: they, or the room, said so."""
    return _is_unwanted(script, {event.person, event.sender_id} - {""}, event.place)


def _is_unwanted(script: Assistant, whom: set[str], place: str) -> bool:
    """Whether one of some beings, or a place, is among those of whom nothing is to be kept."""
    config = state.memory_config(script)
    if whom.intersection(state.read(script, "unremembered")):
        return True
    never = {word.casefold() for word in config.never_characters}
    if any(_is_named(being, never) for being in whom):
        return True
    rooms = {word.casefold() for word in config.never_rooms}
    return place.startswith("#") and _is_named(place, rooms)


def names_of(script: Assistant) -> tuple[str, ...]:
    """What an assistant is called, for `core.safety.persona.about_itself`."""
    body = script.obj
    return tuple(dict.fromkeys((*names.called(body, body), *names.called(body, None))))


def _is_named(being_id: str, words: set[str]) -> bool:
    """Whether an id is among some words, or the being has one of them, or ours, for a tag."""
    if being_id.casefold() in words:
        return True
    being = incoming.find_being(being_id)
    if being is None:
        return False
    tags = {tag.casefold() for tag in being.tags.all()}
    return NO_MEMORY_TAG in tags or not words.isdisjoint(tags)
