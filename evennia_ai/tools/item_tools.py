"""Tools that act in the world: move, get, drop and give.

Each checks the same locks and calls the same hooks as Evennia's own command, so that an assistant
can do no more than any character.
"""

from __future__ import annotations

from evennia.server.signals import SIGNAL_EXIT_TRAVERSED

from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ToolError
from evennia_ai.messages import outgoing
from evennia_ai.messages.incoming import marks
from evennia_ai.runtime import names
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.commanding import captured, refusal
from evennia_ai.tools.groups import HANDS, TRAVEL
from evennia_ai.tools.orders import may
from evennia_ai.tools.places import ways_out
from evennia_ai.tools.registry import tool
from evennia_ai.tools.senses import (
    find_among,
    find_listener,
    label_of,
    name_list,
    names_of,
    room_of,
    seen_in,
)


def _find_way(character: Character, name: str) -> GameObject:
    """Find an exit by its name, or else by the name of its destination."""
    ways = ways_out(character)
    wanted = names.folded(name.strip())
    leading = [way for way in ways if names_of(way.destination, character)[0] == wanted]
    if len(leading) == 1 and not any(names_of(way, character)[0] == wanted for way in ways):
        return leading[0]
    there = name_list(ways, character) or "none"
    return find_among(ways, name, f"is not a way out; there are: {there}", character=character)


@tool(category="dangerous", group=TRAVEL)
def move(character: Character, exit: str, *, turn: Turn) -> str:  # noqa: A002
    """Go through an exit to another place.

    Args:
        exit: name of the exit, or of the place it leads to.
    """
    before, way, is_refused = room_of(character), _find_way(character, exit), False
    begun_before = character.ndb.currently_moving
    with captured(getattr(character, "assistant_script", None)) as lines:
        if may(character, way, "traverse", turn):
            # Evennia's wilderness refuses so; there, the ways of a room lead back into it.
            is_refused = way.at_traverse(character, way.destination) is False
            # Normally sent by Evennia's ExitCommand, which does not run here.
            SIGNAL_EXIT_TRAVERSED.send(sender=way, traverser=character)
        else:
            is_refused = True
            if way.db.err_traverse:  # like ExitCommand
                character.msg(way.db.err_traverse)
            else:
                way.at_failed_traverse(character)
    # The contrib `slow_exit` moves the character later, by a task that it notes.
    begun = character.ndb.currently_moving
    if begun and begun is not begun_before and character.location == before:
        where = label_of(way, character)
        return f"you are on your way through {where}, and will be there in some seconds"
    # A hook may refuse without an error, or move the character somewhere else.
    if character.location == before and (is_refused or before != way.destination):
        raise refusal(lines, f"you are still in {label_of(before, character)}")
    now = label_of(room_of(character), character)
    return f"you went {label_of(way, character)} and are now in {now}"


def _tell_room(
    character: Character, template: str, kind: str, thing: GameObject, turn: Turn
) -> None:
    """Show an action to the room, marked so that other assistants do not react to it."""
    name = thing.get_numbered_name(1, character, return_string=True)
    room_of(character).msg_contents(
        text=(template, marks(kind, turn.hops)), from_obj=character, mapping={"thing": name}
    )


@tool(category="dangerous", group=HANDS)
def get(character: Character, item: str, *, turn: Turn) -> str:
    """Pick something up.

    Args:
        item: name of a thing that is here.
    """
    # With itself among them, so that picking itself up gets a better message than "not here".
    here = [*seen_in(room_of(character), character), character]
    others = name_list(here[:-1], character) or "nothing"
    missing = f"is not here; here are: {others}"
    thing = find_among(here, item, missing, character=character, takes_any=True)
    if thing is character:
        raise ToolError("you cannot pick yourself up")
    with captured(getattr(character, "assistant_script", None)) as lines:
        if not may(character, thing, "get", turn):
            why = [str(thing.db.get_err_msg)] if thing.db.get_err_msg else []
            raise refusal(why, f"you cannot get {label_of(thing, character)}")
        if not thing.at_pre_get(character):
            raise refusal(lines, f"you cannot get {label_of(thing, character)}")
        # Quiet like Evennia's command: the room is told below, once.
        if not thing.move_to(character, quiet=True, move_type="get"):
            raise refusal(lines, f"{label_of(thing, character)} cannot be picked up")
        thing.at_get(character)
    _tell_room(character, "$You() $conj(pick) up {thing}.", "get", thing, turn)
    return f"you have {label_of(thing, character)} now"


def _find_carried(character: Character, name: str) -> GameObject:
    carried = list(character.contents)
    inventory = name_list(carried, character) or "nothing"
    missing = f"is not among what you carry: {inventory}"
    return find_among(carried, name, missing, character=character, takes_any=True)


def _carries_something(character: Character, turn: Turn) -> bool:
    return bool(character.contents)


@tool(category="dangerous", useful_when=_carries_something, group=HANDS)
def drop(character: Character, item: str, *, turn: Turn) -> str:
    """Put down something that you carry.

    Args:
        item: name of the thing.
    """
    room, thing = room_of(character), _find_carried(character, item)
    with captured(getattr(character, "assistant_script", None)) as lines:
        if not thing.at_pre_drop(character):
            raise refusal(lines, f"you cannot drop {label_of(thing, character)}")
        if not thing.move_to(room, quiet=True, move_type="drop"):
            raise refusal(lines, f"{label_of(thing, character)} cannot be dropped")
        thing.at_drop(character)
    _tell_room(character, "$You() $conj(drop) {thing}.", "drop", thing, turn)
    return f"you dropped {label_of(thing, character)}"


def _find_taker(character: Character, name: str, turn: Turn) -> GameObject:
    taker = find_listener(character, name, turn)
    if taker is character:
        raise ToolError("you have it already; name whom you give it to")
    if taker is character.location and not names.is_character(taker):
        raise ToolError("a room takes nothing; drop it instead")
    if outgoing.muters(character, [taker]):
        raise ToolError(f"{label_of(taker, character)} wants nothing from you; leave them be")
    return taker


@tool(category="dangerous", useful_when=_carries_something, group=HANDS)
def give(character: Character, item: str, target: str, *, turn: Turn) -> str:
    """Give something that you carry to somebody who is here.

    Args:
        item: name of the thing.
        target: name of whoever gets it.
    """
    thing, taker = _find_carried(character, item), _find_taker(character, target, turn)
    whom, what = label_of(taker, character), label_of(thing, character)
    name = thing.get_numbered_name(1, character, return_string=True)
    with captured(getattr(character, "assistant_script", None)) as lines:
        if not thing.at_pre_give(character, taker):
            raise refusal(lines, f"you cannot give {what} to {whom}")
        if not thing.move_to(taker, quiet=True, move_type="give"):
            raise refusal(lines, f"you could not give {what} to {whom}")
        thing.at_give(character, taker)
    line = f"{names.shown(character, taker)} gives you {name}."
    taker.msg(text=(line, marks("give", turn.hops)), from_obj=character)
    return f"you gave {what} to {whom}"
