"""Placeholders, in braces in a prompt's text: names that are known are filled in, all others stay.

A text is filled once: what is put in is never looked through again, so nothing a player is called
or says can bring another value into the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from evennia_ai.core.text.cleaning import name_as_data, place_as_data, quote
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime.names import name_of

_BRACES = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A name that is filled in.

    Attributes:
        text: what it stands for, for people.
        is_stable: whether it is the same in every turn, so that it may stand in the head.
    """

    text: str
    is_stable: bool = False


PLACEHOLDERS = {
    "name": Placeholder("the assistant's name", is_stable=True),
    "persona": Placeholder("who it is and what it knows: `db.persona`", is_stable=True),
    "tick_rate": Placeholder("seconds between beats", is_stable=True),
    "reflection_interval": Placeholder(
        "beats between reflections; empty where only importance counts", is_stable=True
    ),
    "tool_schemas": Placeholder("the tools on offer, as JSON", is_stable=True),
    "speaker": Placeholder("who is answered"),
    "location": Placeholder("the name of the room it is in"),
    "location_desc": Placeholder("that room's description"),
    "exits": Placeholder("the exits there"),
    "present": Placeholder("who else is there"),
    "time": Placeholder("date and time, in the game's time zone"),
    "goals": Placeholder("what it wants, a line each"),
    "memories": Placeholder("what it recalls of earlier"),
    "entities": Placeholder("what it knows of who is here"),
}
# Those that say where it is.
FACTS = ("location", "location_desc", "exits", "present", "time")
# As character cards spell them, mostly in doubled braces.
ALIASES = {"char": "name", "user": "speaker"}


def placeholders_in(text: str) -> list[str]:
    """The names in braces, known or not, by what they are called here."""
    found = (match[1] or match[2] for match in _BRACES.finditer(text))
    return [ALIASES.get(name, name) for name in found]


def is_stable(text: str) -> bool:
    """True where the text comes out the same in every turn."""
    known = (PLACEHOLDERS.get(name) for name in placeholders_in(text))
    return all(item is None or item.is_stable for item in known)


def fill(text: str, value: Callable[[str], str]) -> str:
    """The text with every known name filled in; all other braces stay as they are."""

    def put(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        name = ALIASES.get(name, name)
        return value(name) if name in PLACEHOLDERS else match[0]

    return _BRACES.sub(put, text)


def check_text(text: str, path: str) -> None:
    """Refuse a text with a name in braces that nobody would fill in.

    Raises:
        ConfigurationError: there is one; the error lists those that are known.
    """
    unknown = [name for name in placeholders_in(text) if name not in PLACEHOLDERS]
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise ConfigurationError(f"{path} has {{{unknown[0]}}}, which is not known; known: {known}")


MOST_NAMED = 20
_SOMEBODY = "evennia.objects.objects.DefaultCharacter"


def facts_of(body: GameObject, now: datetime) -> Mapping[str, str]:
    """The facts of this moment, for an assistant in that body.

    Args:
        now: in the game's time zone.
    """
    time = f"{now:%Y-%m-%d %H:%M}"
    room = getattr(body, "location", None)
    if room is None:
        return {"time": time}
    beings = [
        thing for thing in room.contents if thing != body and thing.is_typeclass(_SOMEBODY, False)
    ]
    return {
        "time": time,
        "location": place_as_data(name_of(room, body)),
        "location_desc": quote(str(room.db.desc or "")),
        "exits": ", ".join(place_as_data(name_of(way, body)) for way in room.exits[:MOST_NAMED]),
        "present": ", ".join(name_as_data(name_of(being, body)) for being in beings[:MOST_NAMED]),
    }
