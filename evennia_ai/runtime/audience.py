"""The audience of what an assistant answers, as it is at the moment of asking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.hearing.perception import CHANNEL, PRIVATE, Source
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.runtime.assistant import Assistant

ELSEWHERE = frozenset((Source.PAGE, Source.CHANNEL))


def sole_recipient(script: Assistant, event: Event) -> str:
    """The player who alone hears the answer to an event, "" where others do, or nobody.

    A task's report goes to whoever gave it: who may know of that turn hears the answer.
    """
    if event.kind == OWN:
        return ""
    if event.kind == TASK:
        return event.person if person_audience(event.person) in event.audience else ""
    return event.face if is_alone(script.obj, event) else ""


def is_alone(body: GameObject, event: Event) -> bool:
    """True where nobody but whoever caused an event hears what is answered."""
    if event.source in PRIVATE:
        return True
    if event.source == CHANNEL or body.location is None:
        return False
    return next(listeners(body, event), None) is None


def listeners(body: GameObject, event: Event) -> Iterator[Any]:
    """Others in the room who hear what is said there: players, and assistants."""
    here = body.location.contents if body.location is not None else ()
    return (thing for thing in here if thing != body and _listens(thing, event))


def _listens(thing: GameObject, event: Event) -> bool:
    if thing.dbref == event.sender_id:
        return False
    # The column: `account` would ask the database for each thing in the room.
    account = getattr(thing, "db_account_id", None)
    if account is not None:
        return bool(event.person != f"*#{account}")
    return has_ears(thing)


def has_ears(thing: GameObject) -> bool:
    """True where somebody learns what a thing is sent: a player, or an assistant."""
    if getattr(thing, "db_account_id", None) is not None:
        return True
    return bool(thing.sessions.count()) or has_assistant(thing)


def has_assistant(thing: GameObject) -> bool:
    """True for the body of an assistant."""
    return getattr(thing, "assistant_script", None) is not None


def ears(body: GameObject) -> Iterator[Any]:
    """Everybody in the room who hears what is said there, a player in the body itself included."""
    here = body.location.contents if body.location is not None else ()
    for thing in here:
        if has_ears(thing) if thing != body else thing.sessions.count():
            yield thing


# ---- who is there ------------------------------------------------------------------------------


def is_online(being: Being) -> bool:
    """True while a player is behind a character or an account.

    Of a server that was killed a character keeps the numbers of sessions that play it no more.
    """
    sessions = being.sessions.all()
    if not hasattr(type(being), "location"):
        return bool(sessions)
    for session in sessions:
        puppet = session.get_puppet()
        if puppet is being or puppet == being:
            return True
    return False


def is_there(body: GameObject, event: Event, asker: GameObject | None) -> bool:
    """True where whoever caused an event can hear the answer: in the game, and where it is given.

    What nobody plays, such as a shopkeeper of the game's own, is there wherever it stands.

    Args:
        asker: who that is; None when gone for good.
    """
    if not event.sender_id or getattr(asker, "is_bot", False):
        return True  # relayed from elsewhere
    if asker is None or (event.person.startswith("*") and not is_online(asker)):
        return False
    place = body.location
    if event.source in ELSEWHERE or place is None:
        return True
    where = getattr(asker, "location", None)  # an account is in no place
    if where is not None and (where is place or where == place):
        return True
    return asker in (place, body)


def is_overheard(body: GameObject, event: Event) -> bool:
    """True where players beside whoever asked hear what is answered."""
    if event.source in PRIVATE:
        return False
    return event.source == CHANNEL or any(map(is_online, listeners(body, event)))
