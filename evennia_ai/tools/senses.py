"""Tools that look and change nothing."""

from __future__ import annotations

from typing import Any

from evennia.objects.objects import DefaultCharacter
from evennia.utils.ansi import strip_ansi

from evennia_ai.core.text import cut_at_sentence
from evennia_ai.errors import ToolError
from evennia_ai.tools.registry import tool

MOST_SEEN = 1500


def _names(thing: Any) -> list[str]:
    return [thing.key.casefold(), *(alias.casefold() for alias in thing.aliases.all())]


def holders(character: Any) -> list[Any]:
    """What the character is in: a room, or a bag and then whoever carries it."""
    found = [character.location]
    while found[-1].location is not None and not isinstance(found[-1], DefaultCharacter):
        found.append(found[-1].location)
    return found


def find_here(character: Any, name: str, *, preferred_id: str = "") -> Any:
    """Somebody or something the character can see: the room, what is in it, what it carries.

    Args:
        preferred_id: of several with that name, the one with this id ("#12") is meant.

    Raises:
        ToolError: there is no such thing, or several.
    """
    room = character.location
    if room is None:
        raise ToolError("you are nowhere, so nobody is with you")
    wanted = name.strip().lstrip("@").casefold()
    if wanted in ("here", "room", "the room"):
        return room
    near = [
        thing
        for thing in dict.fromkeys((*room.contents, *character.contents, *holders(character)))
        if thing.access(character, "view", default=True)
    ]
    found = [thing for thing in near if thing.key.casefold() == wanted]
    found = found or [thing for thing in near if wanted in _names(thing)]
    preferred = [thing for thing in found if thing.dbref == preferred_id]
    if len(preferred or found) == 1:
        return (preferred or found)[0]
    here = ", ".join(thing.key for thing in near if thing not in (character, room))
    if found:
        raise ToolError(f"there are several named {name}; here are: {here}")
    raise ToolError(f"{name} is not here; here are: {here or 'only you'}")


@tool(category="safe_chain")
def look(character: Any, target: str | None = None) -> str:
    """Look at the room, or at somebody or something in it.

    Args:
        target: what to look at; leave it out to look at the room.
    """
    seen = find_here(character, target) if target else find_here(character, "here")
    return cut_at_sentence(strip_ansi(str(character.at_look(seen))).strip(), MOST_SEEN)
