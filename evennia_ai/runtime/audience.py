"""The audience of an assistant's answer, as it is at the moment of asking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.hearing.perception import CHANNEL, PRIVATE, Source
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.runtime.assistant import Assistant

# Sources whose answer reaches the player wherever the character stands.
ELSEWHERE = frozenset((Source.PAGE, Source.CHANNEL))


def sole_recipient(script: Assistant, event: Event) -> str:
    """The player who alone hears the answer to an event; "" where others do, or nobody.

    A task's report goes to the one who gave it, so the turn's own audience hears it.
    """
    if event.kind == OWN:
        return ""
    if event.kind == TASK:
        return event.person if person_audience(event.person) in event.audience else ""
    return event.face if is_alone(script.obj, event) else ""


def is_alone(body: GameObject, event: Event) -> bool:
    """True where only the one who caused an event hears the answer."""
    if event.source in PRIVATE:
        return True
    if event.source == CHANNEL or body.location is None:
        return False
    return next(listeners(body, event), None) is None


def listeners(body: GameObject, event: Event) -> Iterator[Any]:
    """Others in the room who hear what is said there: players and assistants."""
    here = body.location.contents if body.location is not None else ()
    return (thing for thing in here if thing != body and _listens(thing, event))


def _listens(thing: GameObject, event: Event) -> bool:
    if thing.dbref == event.sender_id:
        return False
    # The raw column: `account` would cost a query for each object in the room.
    account = getattr(thing, "db_account_id", None)
    if account is not None:
        return bool(event.person != f"*#{account}")
    return has_ears(thing)


def has_ears(thing: GameObject) -> bool:
    """True where somebody learns what an object is sent: a player or an assistant."""
    if getattr(thing, "db_account_id", None) is not None:
        return True
    return bool(thing.sessions.count()) or has_assistant(thing)


def has_assistant(thing: GameObject) -> bool:
    """True for the body of an assistant."""
    return getattr(thing, "assistant_script", None) is not None


def ears(body: GameObject) -> Iterator[Any]:
    """Everybody in the room who hears what is said there, a player in the body included."""
    here = body.location.contents if body.location is not None else ()
    for thing in here:
        if has_ears(thing) if thing != body else thing.sessions.count():
            yield thing


# ---- who is there ------------------------------------------------------------------------------


def is_online(being: Being) -> bool:
    """True while a player is behind a character or an account."""
    # After a kill of the server, a character still lists sessions that no longer puppet it.
    sessions = being.sessions.all()
    if not hasattr(type(being), "location"):
        return bool(sessions)
    for session in sessions:
        puppet = session.get_puppet()
        if puppet is being or puppet == being:
            return True
    return False


def is_there(body: GameObject, event: Event, asker: GameObject | None) -> bool:
    """True where the one who caused an event can hear the answer: online, and in the right place.

    An object that nobody plays, such as the game's own shopkeeper, counts wherever it stands.

    Args:
        asker: the object or account; None when it was deleted.
    """
    if not event.sender_id or getattr(asker, "is_bot", False):
        return True  # relayed from outside the game, where nobody can be looked for
    if asker is None or (event.person.startswith("*") and not is_online(asker)):
        return False
    if event.source in ELSEWHERE:
        return True
    place = body.location
    where = getattr(asker, "location", None)  # an account is in no place
    if where is not None and (where is place or where == place):
        return True
    return asker in (place, body)


def is_overheard(body: GameObject, event: Event) -> bool:
    """True where players besides the asker hear the answer."""
    if event.source in PRIVATE:
        return False
    return event.source == CHANNEL or any(map(is_online, listeners(body, event)))
