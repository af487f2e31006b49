"""Where an assistant is, as the values of placeholders: names are data, and told as such."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from evennia_ai.core.text.cleaning import name_as_data, place_as_data, quote
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.runtime.names import name_of

MOST_NAMED = 20
_SOMEBODY = "evennia.objects.objects.DefaultCharacter"


def facts_of(body: GameObject, now: datetime) -> Mapping[str, str]:
    """What is so right now, for an assistant in that body.

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
