"""Tools that tell of a place: what it is, who and what is there, and the ways out.

Names and descriptions may be a player's: they are told as data, plain names as they are and all
else quoted.
"""

from __future__ import annotations

from typing import Literal

from evennia.objects.objects import DefaultCharacter
from evennia.utils.ansi import strip_ansi

from evennia_ai.core.text.cleaning import cut_at_sentence, name_as_data, quote
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ToolError
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.names import name_of
from evennia_ai.tools.groups import PLACES
from evennia_ai.tools.registry import tool
from evennia_ai.tools.senses import (
    MOST_NAMED,
    MOST_SEEN,
    names_of,
    room_of,
    seen_around,
    seen_in,
    told,
)

MOST_FOUND = 10
LONGEST_GLANCE = 120
BRIEF = 200


def ways_out(character: Character) -> list[GameObject]:
    """The exits that the character can see."""
    return [thing for thing in seen_in(room_of(character), character) if thing.destination]


def people_near(character: Character) -> list[GameObject]:
    """Whoever else the character can see in the same room."""
    seen = seen_in(room_of(character), character)
    return [being for being in seen if isinstance(being, DefaultCharacter)]


def _described(thing: GameObject, character: Character, limit: int) -> str:
    """Its description, quoted; "" where nobody described it."""
    desc = thing.get_display_desc(character) if thing.db.desc else ""
    text = " ".join(strip_ansi(str(desc)).split())
    return quote(cut_at_sentence(text, limit)) if text else ""


def _way(way: GameObject, character: Character) -> str:
    end = way.destination
    to = told(end, character) if end.access(character, "view", default=True) else "somewhere"
    shut = "" if way.access(character, "traverse") else " (closed to you)"
    return f"{told(way, character)} to {to}{shut}"


def _person(being: GameObject, character: Character) -> str:
    script = getattr(being, "assistant_script", None)
    if script is not None:
        note = " (an AI that does not answer now)" if script.silence else " (an AI)"
    else:
        is_away = being.account is not None and not being.sessions.count()
        note = " (asleep: its player is away)" if is_away else ""
    return f"{name_as_data(name_of(being, character))}{note}"


def _told(head: str, items: list[str], none: str) -> str:
    more = f"; and {len(items) - MOST_NAMED} more" if len(items) > MOST_NAMED else ""
    return f"{head}: {'; '.join(items[:MOST_NAMED]) or none}{more}."


def _told_exits(character: Character) -> str:
    return _told("Ways out", [_way(way, character) for way in ways_out(character)], "none")


def _told_people(character: Character) -> str:
    return _told(
        "With you", [_person(being, character) for being in people_near(character)], "nobody"
    )


def _thing(thing: GameObject, character: Character, *, is_full: bool) -> str:
    glance = _described(thing, character, LONGEST_GLANCE) if is_full else ""
    return f"{told(thing, character)}{glance and ', ' + glance}"


@tool(category="safe_chain", cache_seconds=60, group=PLACES)
def inspect_location(character: Character, detail_level: Literal["brief", "full"] = "brief") -> str:
    """Find out where you are: the place, the ways out, who is with you, and what is there.

    Args:
        detail_level: brief, or full with descriptions.
    """
    room, is_full = room_of(character), detail_level == "full"
    looks = _described(room, character, MOST_SEEN if is_full else BRIEF)
    things = [
        _thing(thing, character, is_full=is_full)
        for thing in seen_in(room, character)
        if not thing.destination and not isinstance(thing, DefaultCharacter)
    ]
    carried = [told(thing, character) for thing in seen_in(character, character)]
    lines = [
        f"You are in {told(room, character)}.",
        f"It looks like this: {looks}" if looks else "",
        _told_exits(character),
        _told_people(character),
        _told("Things", things, "none"),
        _told("You carry", carried, "nothing"),
    ]
    return "\n".join(line for line in lines if line)


@tool(category="safe_chain", group=PLACES, only_reads=True)
def exits(character: Character) -> str:
    """Find out which ways lead out of here, and where to."""
    return _told_exits(character)


@tool(category="safe_chain", group=PLACES, only_reads=True)
def who_is_here(character: Character) -> str:
    """Find out who is with you, which of them are AIs, and who is asleep."""
    return _told_people(character)


def _is_called(thing: GameObject, words: list[str], character: Character) -> bool:
    """True where each word is part of its name, or a tag of it that has no category."""
    names = " ".join(names_of(thing, character))
    tags = [tag for tag, kind in thing.tags.all(return_key_and_category=True) if not kind]
    return all(word in names or word in tags for word in words)


@tool(category="safe_chain", group=PLACES, only_reads=True)
def search_objects(character: Character, query: str) -> str:
    """Look for things or people here, or among what you carry, by words of their names.

    Args:
        query: one or more words, such as: brass lamp.
    """
    words = query.casefold().split()
    if not words:
        raise ToolError("name what you look for")
    room = room_of(character)
    near = [thing for thing in seen_around(character) if thing not in (character, room)]
    found = [thing for thing in near if _is_called(thing, words, character)]
    lines = []
    for thing in found[:MOST_FOUND]:
        where = "you carry it" if thing.location == character else "here"
        glance = _described(thing, character, LONGEST_GLANCE)
        lines.append(f"{told(thing, character)} ({where}){glance and ': ' + glance}")
    if len(found) > MOST_FOUND:
        lines.append(f"and {len(found) - MOST_FOUND} more; name it more closely")
    return "\n".join(lines) or f"nothing here is called {quote(query[:60])}"
