"""Placeholders in braces in prompt texts: known names are filled in, all others stay as they are.

A text is filled in once, and the values are not searched again, so that a player's name or words
cannot insert other values into the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain
from operator import attrgetter

from evennia_ai.core.text.cleaning import name_as_data, one_line, place_as_data, quote
from evennia_ai.core.text.plain_data import LONGEST_VALUE
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime.game_functions import MACROS, macro_value, macros
from evennia_ai.runtime.names import description_of, is_character, name_of

_BRACES = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")
_MACRO = re.compile(r"\{\{([A-Za-z_]{1,40})\}\}")
# Anything that another program may take for a macro: "{{random::a::b}}", "{{// a note}}".
_LIKE_MACRO = re.compile(r"\{\{[^{}\n]{1,200}\}\}")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder.

    Attributes:
        is_stable: True if its value is the same in every turn, so that it may be in the head.
    """

    text: str
    is_stable: bool = False


PLACEHOLDERS = {
    "name": Placeholder("the assistant's name", is_stable=True),
    "persona": Placeholder("who it is and what it knows: `db.persona`", is_stable=True),
    "tick_rate": Placeholder("seconds between beats", is_stable=True),
    "reflection_interval": Placeholder(
        "beats between reflections; empty if only importance counts", is_stable=True
    ),
    "tool_schemas": Placeholder("the tools on offer, as JSON", is_stable=True),
    "speaker": Placeholder("the person who is answered"),
    "location": Placeholder("the name of the room it is in"),
    "location_desc": Placeholder("that room's description"),
    "exits": Placeholder("the exits there"),
    "present": Placeholder("who else is there"),
    "time": Placeholder("date and time, in the game's time zone"),
    "date": Placeholder("the date, in the game's time zone"),
    "weather": Placeholder("the weather: `db.weather` of the room, or by a function of the game"),
    "goals": Placeholder("its goals, a line each"),
    "memories": Placeholder("what it remembers"),
    "entities": Placeholder("what it knows about the people here"),
    "card_notes": Placeholder(
        "what its character card says about playing it, quoted: `db.card_notes`", is_stable=True
    ),
    "specialists": Placeholder("assistants it may give tasks to, a line each", is_stable=True),
}
# Placeholders about place and time; a game may define them by functions of its own.
FACTS = ("location", "location_desc", "exits", "present", "time", "date", "weather")
# The spelling in character cards, mostly in double braces.
ALIASES = {"char": "name", "user": "speaker", "room": "location"}
# Placeholders allowed as macros in texts by strangers, such as cards. Not `location_desc`: it may
# be long, and inside a persona the model would take it for a part of who it is.
_MACRO_NAMES = ("name", "speaker", "time", "date", "weather", "location", "exits", "present")
# Placeholders in whose values macros (always in double braces) are filled in.
WITH_MACROS = ("persona", "card_notes")


@lru_cache(maxsize=512)
def placeholders_in(text: str) -> tuple[str, ...]:
    """The names in braces, known or not, with aliases resolved."""
    if "{" not in text:
        return ()
    names = (match[1] or match[2] for match in _BRACES.finditer(text))
    return tuple(ALIASES.get(name, name) for name in names)


def is_fact(name: str) -> bool:
    """True for placeholders that `facts_of` fills in: place, time and the game's own macros.

    No macro has the name of another placeholder; see `check_macros`.
    """
    return name in FACTS or (name not in PLACEHOLDERS and name in macros())


def _is_known(name: str) -> bool:
    return name in PLACEHOLDERS or name in macros()


def is_stable(text: str) -> bool:
    """True if the filled-in text is the same in every turn."""
    for name in placeholders_in(text):
        known = PLACEHOLDERS.get(name)
        if is_fact(name) or (known is not None and not known.is_stable):
            return False
    return True


def fill(text: str, value: Callable[[str], str]) -> str:
    """The text with every known placeholder filled in; all other braces stay as they are."""

    def put(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        name = ALIASES.get(name, name)
        return value(name) if _is_known(name) else match[0]

    return _BRACES.sub(put, text)


def fill_macros(text: str, value: Callable[[str], str]) -> str:
    """A text of a persona, of lore or of a card with its macros filled in, whatever their case.

    Macros are those in `_MACRO_NAMES` and a game's own; all other braces stay as they are. The
    result is cut at the length of the longest setting.
    """
    own = macros() if "{{" in text else {}

    def put(match: re.Match[str]) -> str:
        name = ALIASES.get(match[1].lower(), match[1].lower())
        if name == "speaker":
            return value(name) or "somebody"
        return value(name) if name in _MACRO_NAMES or name in own else match[0]

    return _MACRO.sub(put, text)[:LONGEST_VALUE] if "{{" in text else text


def left_macros(*texts: str) -> tuple[str, ...]:
    """The parts that look like macros and that `fill_macros` leaves as they are, each once."""
    filled = (fill_macros(text, lambda _: "") for text in texts)
    return tuple(dict.fromkeys(chain.from_iterable(map(_LIKE_MACRO.findall, filled))))


def macros_of(body: GameObject, now: datetime, speaker: str) -> Callable[[str], str]:
    """A function that fills in macros with their present values.

    Args:
        now: in the game's time zone.
        speaker: name of the person who is answered, or "".
    """
    facts: dict[str, str] = {}

    def value(name: str) -> str:
        if not facts:  # looked up only if a text has a macro
            names = {
                "name": one_line(str(getattr(body, "key", "")), 60),
                "speaker": speaker_as_data(speaker),
            }
            facts.update(facts_of(body, now), **names)
        return facts.get(name, "")

    return lambda text: fill_macros(text, value)


def speaker_as_data(name: str) -> str:
    """The name of the person who is answered, marked as data for the model; or ""."""
    return name_as_data(name) if name else ""


def check_text(text: str, path: str) -> None:
    """Refuse a text with an unknown placeholder.

    Raises:
        ConfigurationError: there is one; the text lists the known ones.
    """
    unknown = [name for name in placeholders_in(text) if not _is_known(name)]
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in (*PLACEHOLDERS, *macros()))
        raise ConfigurationError(f"{path} has {{{unknown[0]}}}, which is not known; known: {known}")


MOST_NAMED = 20  # exits, and beings, that a prompt lists


def check_macros() -> None:
    """Refuse a macro of the game that has the name of a built-in placeholder.

    Raises:
        ConfigurationError: there is one.
    """
    taken = sorted({*PLACEHOLDERS, *ALIASES} - {*FACTS})
    if clashing := [name for name in macros() if name in taken]:
        raise ConfigurationError(
            f"{MACROS} has {clashing[0]!r}, which is ours; of those that are known it may have "
            f"{', '.join(FACTS)}"
        )


def facts_of(body: GameObject, now: datetime) -> Mapping[str, str]:
    """The present values of FACTS and of the game's macros; a game's own override ours.

    Args:
        now: in the game's time zone.
    """
    own = {name: macro_value(name, body) for name in macros()}
    return {"time": f"{now:%Y-%m-%d %H:%M}", "date": f"{now:%Y-%m-%d}", **_place_of(body), **own}


def _place_of(body: GameObject) -> Mapping[str, str]:
    room = getattr(body, "location", None)
    if room is None:
        return {}
    # Sorted: an order that changed with the database's would spoil the provider's prompt cache.
    here = sorted(room.filter_visible(room.contents, body), key=attrgetter("id"))
    beings = [thing for thing in here if thing != body and is_character(thing)]
    ways = [thing for thing in here if thing.destination]
    return {
        "location": place_as_data(name_of(room, body)),
        "location_desc": quote(description_of(room, body)),
        "exits": ", ".join(place_as_data(name_of(way, body)) for way in ways[:MOST_NAMED]),
        "present": ", ".join(name_as_data(name_of(being, body)) for being in beings[:MOST_NAMED]),
        "weather": place_as_data(str(weather)) if (weather := room.db.weather) else "",
    }
