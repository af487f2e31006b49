"""Tools that describe a place: the room, characters, things and exits.

Names and descriptions may be written by players, so anything but plain names is quoted as data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from evennia_ai.core.text.cleaning import cut_at_sentence, name_as_data, quote
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ToolError
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.names import description_of, folded, is_character, name_of
from evennia_ai.tools.groups import PLACES
from evennia_ai.tools.registry import tool
from evennia_ai.tools.senses import (
    MOST_NAMED,
    MOST_SEEN,
    label_of,
    names_of,
    room_of,
    seen_around,
    seen_in,
)

MOST_FOUND = 10
# Characters of descriptions: of a thing, and of the room in a brief answer.
LONGEST_GLANCE = 120
BRIEF = 200


def ways_out(character: Character) -> list[GameObject]:
    """The exits that the character can see."""
    return [thing for thing in seen_in(room_of(character), character) if thing.destination]


def people_near(character: Character) -> list[GameObject]:
    """The other characters that the character can see in the room."""
    visible = seen_in(room_of(character), character)
    return [being for being in visible if is_character(being)]


def _described(thing: GameObject, character: Character, limit: int) -> str:
    """The quoted description; "" without one."""
    text = " ".join(description_of(thing, character).split())
    return quote(cut_at_sentence(text, limit)) if text else ""


def _exit_text(way: GameObject, character: Character) -> str:
    end = way.destination
    if end == way.location:
        to = ""  # as the exits of a map without rooms, which do not say where to
    elif end.access(character, "view", default=True):
        to = f" to {label_of(end, character)}"
    else:
        to = " to somewhere"  # the view lock of the destination also hides its name
    shut = "" if way.access(character, "traverse") else " (closed to you)"
    return f"{label_of(way, character)}{to}{shut}"


def _person_text(being: GameObject, character: Character) -> str:
    script = getattr(being, "assistant_script", None)
    if script is not None:
        note = " (an AI that does not answer now)" if script.silence else " (an AI)"
    else:
        is_away = being.account is not None and not being.sessions.count()
        note = " (asleep: its player is away)" if is_away else ""
    return f"{name_as_data(name_of(being, character))}{note}"


def _counted(items: Iterable[str]) -> list[str]:
    """The items, with a number for equal ones: a pile of coins must not hide the lamp."""
    return [f"{item} ({n} of these)" if n > 1 else item for item, n in Counter(items).items()]


def _listing(head: str, items: list[str], none: str) -> str:
    kinds = _counted(items)
    more = f"; and {len(kinds) - MOST_NAMED} more" if len(kinds) > MOST_NAMED else ""
    return f"{head}: {'; '.join(kinds[:MOST_NAMED]) or none}{more}."


def _exits_text(character: Character) -> str:
    return _listing("Ways out", [_exit_text(way, character) for way in ways_out(character)], "none")


def _people_text(character: Character) -> str:
    return _listing(
        "With you", [_person_text(being, character) for being in people_near(character)], "nobody"
    )


def _thing_text(thing: GameObject, character: Character, *, is_full: bool) -> str:
    glance = _described(thing, character, LONGEST_GLANCE) if is_full else ""
    return f"{label_of(thing, character)}{glance and ', ' + glance}"


@tool(category="safe_chain", cache_seconds=60, group=PLACES)
def inspect_location(character: Character, detail_level: Literal["brief", "full"] = "brief") -> str:
    """Find out where you are: the place, the ways out, who is with you, and what is there.

    Args:
        detail_level: brief, or full with descriptions.
    """
    room, is_full = room_of(character), detail_level == "full"
    looks = _described(room, character, MOST_SEEN if is_full else BRIEF)
    things = [
        _thing_text(thing, character, is_full=is_full)
        for thing in seen_in(room, character)
        if not thing.destination and not is_character(thing)
    ]
    carried = [label_of(thing, character) for thing in seen_in(character, character)]
    lines = [
        f"You are in {label_of(room, character)}.",
        f"It looks like this: {looks}" if looks else "",
        _exits_text(character),
        _people_text(character),
        _listing("Things", things, "none"),
        _listing("You carry", carried, "nothing"),
    ]
    return "\n".join(line for line in lines if line)


@tool(category="safe_chain", group=PLACES, only_reads=True)
def exits(character: Character) -> str:
    """Find out which ways lead out of here, and where to."""
    return _exits_text(character)


@tool(category="safe_chain", group=PLACES, only_reads=True)
def who_is_here(character: Character) -> str:
    """Find out who is with you, which of them are AIs, and who is asleep."""
    return _people_text(character)


def _is_called(thing: GameObject, words: list[str], character: Character) -> bool:
    """True if each word is part of a name, or is a tag without a category."""
    names = " ".join(names_of(thing, character))
    tags = [tag for tag, kind in thing.tags.all(return_key_and_category=True) if not kind]
    return all(word in names or word in tags for word in words)


def _found_text(thing: GameObject, character: Character) -> str:
    where = "you carry it" if thing.location == character else "here"
    glance = _described(thing, character, LONGEST_GLANCE)
    return f"{label_of(thing, character)} ({where}){glance and ': ' + glance}"


@tool(category="safe_chain", group=PLACES, only_reads=True)
def search_objects(character: Character, query: str) -> str:
    """Look for things or people here, or among what you carry, by words of their names.

    Args:
        query: one or more words, such as: brass lamp.
    """
    words = folded(query).split()
    if not words:
        raise ToolError("name what you look for")
    room = room_of(character)
    near = [thing for thing in seen_around(character) if thing not in (character, room)]
    matching = [thing for thing in near if _is_called(thing, words, character)]
    lines = _counted(_found_text(thing, character) for thing in matching)
    if len(lines) > MOST_FOUND:
        lines[MOST_FOUND:] = [f"and {len(lines) - MOST_FOUND} more; name it more closely"]
    return "\n".join(lines) or f"nothing here is called {quote(query[:60])}"
