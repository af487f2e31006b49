"""Finding things by the names that the assistant sees, and looking at them.

ToolError tells the model that there is no such thing, or more than one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import attrgetter

from evennia.utils.ansi import strip_ansi

from evennia_ai.core.text.cleaning import cut_at_sentence, one_line, place_as_data
from evennia_ai.core.text.words import first_few
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ToolError
from evennia_ai.messages.incoming import face_of
from evennia_ai.runtime import names
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.commanding import captured
from evennia_ai.tools.registry import tool

# Characters of a description, and names in a list.
MOST_SEEN = 1500
MOST_NAMED = 20
_ITSELF = ("me", "self", "myself", "yourself")
# Builders see "(#12)" after names; the model must not.
_NUMBER = re.compile(r"\(#\d+\)")
_BY_NUMBER = attrgetter("id")


def names_of(thing: GameObject, character: Character) -> list[str]:
    """A character's names for a thing, case-folded; the one it sees comes first."""
    return [names.folded(name) for name in names.called(thing, character)]


def label_of(thing: GameObject, character: Character) -> str:
    """The name of a thing as the character sees it, safe for a prompt."""
    return place_as_data(names.name_of(thing, character))


def room_of(character: Character) -> GameObject:
    """The character's room."""
    room: GameObject | None = character.location
    if room is None:
        raise ToolError("you are nowhere, so nobody is with you")
    return room


def holders(character: Character) -> list[GameObject]:
    """The containers of the character: a room, or a bag and then the character that carries it."""
    chain = [character.location]
    while chain[-1].location is not None and not names.is_character(chain[-1]):
        chain.append(chain[-1].location)
    return chain


def seen_in(place: GameObject, character: Character) -> list[GameObject]:
    """The visible contents of a place, ordered by id."""
    # Evennia's contents cache has the order of the query, which varies on PostgreSQL.
    return sorted(place.filter_visible(place.contents, character), key=_BY_NUMBER)


def seen_around(character: Character) -> list[GameObject]:
    """Everything the character can see: the room, its contents, its own inventory, and itself."""
    here = sorted((*seen_in(room_of(character), character), character), key=_BY_NUMBER)
    around = [
        thing for thing in holders(character) if thing.access(character, "view", default=True)
    ]
    # Keyed by id: comparing and hashing Django models takes a dozen calls each time.
    things_by_id = {thing.id: thing for thing in (*here, *seen_in(character, character), *around)}
    return list(things_by_id.values())


def name_list(things: Iterable[GameObject], character: Character) -> str:
    """Names as one line for the model."""
    return first_few([label_of(thing, character) for thing in things], MOST_NAMED)


def _wanted(name: str) -> str:
    """Normalise a written name for comparison."""
    return names.folded(name.strip().lstrip("@"))


def find_among(
    things: Sequence[GameObject],
    name: str,
    missing: str,
    *,
    character: Character,
    preferred_id: str = "",
    takes_any: bool = False,
) -> GameObject:
    """Find a thing by the name that is seen, or else by its other names.

    In games where people are known by descriptions, the game's own search is tried last.

    Args:
        character: the assistant's character, which sees names of its own.
        missing: end of the error message if nothing is found, after the name.
        preferred_id: the id ("#12") to prefer among several of that name.
        takes_any: take the first of several things that are alike, as Evennia's `get` does.
    """
    wanted = _wanted(name)
    matching = [thing for thing in things if names_of(thing, character)[0] == wanted]
    matching = matching or [thing for thing in things if wanted in names_of(thing, character)]
    matching = matching or names.found_by_game(character, wanted, things)
    preferred = [thing for thing in matching if thing.dbref == preferred_id]
    if len(preferred or matching) == 1 or (takes_any and matching and _are_alike(matching)):
        return (preferred or matching)[0]
    shown_name = one_line(name, 60)
    raise ToolError(
        f"there are several named {shown_name}" if matching else f"{shown_name} {missing}"
    )


def _are_alike(things: Sequence[GameObject]) -> bool:
    """True for things of one key and class, of which nobody can say which one is meant."""
    return len({(thing.key, thing.typeclass_path) for thing in things}) == 1


def find_here(character: Character, name: str, *, preferred_id: str = "") -> GameObject:
    """Find something that the character can see: the room, its contents, or its inventory.

    Args:
        preferred_id: the id ("#12") to prefer among several of that name.
    """
    room = room_of(character)
    if name.strip().casefold() in ("here", "room", "the room"):
        return room
    if _wanted(name) in _ITSELF:
        return character
    # The speaker is the most likely target, and is here even if invisible, as in a dark room.
    asking: list[GameObject] = [being for being in room.contents if f"#{being.id}" == preferred_id]
    if asking and names_of(asking[0], character)[0] == _wanted(name):
        return asking[0]
    near = seen_around(character)
    near += [being for being in asking if being not in near]
    try:
        return find_among(near, name, "is not here", character=character, preferred_id=preferred_id)
    except ToolError as error:
        others = (thing for thing in near if thing not in (character, room))
        here = name_list(others, character)
        raise ToolError(f"{error}; here are: {here or 'only you'}") from None


def find_listener(character: Character, name: str, turn: Turn) -> GameObject:
    """Find the person that a turn means by a name, among those who are here.

    A speaker is also found by the name at the time of speaking, as it may have changed, and
    somebody else may have taken it. A speaker whose mask was put on or taken off since is not.
    """
    wanted = _wanted(name)
    being: GameObject
    for event in reversed(turn.events):
        if event.sender_id and _wanted(event.sender_name) == wanted:
            for being in room_of(character).contents:
                if being.dbref == event.sender_id and face_of(being, character) == event.face:
                    return being
    return find_here(character, name, preferred_id=turn.event.sender_id)


@tool(category="safe_chain", only_reads=True)
def look(character: Character, target: str | None = None) -> str:
    """Look at the room, or at somebody or something in it.

    Args:
        target: what to look at; leave it out to look at the room.
    """
    try:
        thing = find_here(character, target or "here")
    except ToolError:
        if not (detail := _detail_here(character, target or "")):
            raise
        return cut_at_sentence(_as_text(detail).strip(), MOST_SEEN)
    with captured(getattr(character, "assistant_script", None)) as lines:
        description = character.at_look(thing)
    # A game may send what is seen instead of returning it.
    text = _as_text(str(description or "\n".join(lines)))
    if thing is character:
        text = names.as_others_see(text, character, is_pose=True)
    return cut_at_sentence(text.strip(), MOST_SEEN)


def _detail_here(character: Character, name: str) -> str:
    """A detail of the room that is no object, as rooms of `extended_room` and others have."""
    room = room_of(character)
    if (get_detail := getattr(room, "get_detail", None)) is not None:
        return get_detail(name, looker=character) or ""
    if (return_detail := getattr(room, "return_detail", None)) is not None:
        return return_detail(name) or ""
    return ""


def _as_text(seen: str) -> str:
    return _NUMBER.sub("", str(strip_ansi(seen)))
