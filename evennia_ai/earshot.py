"""Who hears what an assistant answers: what was told it in private is no matter before others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evennia_ai.core.inbox import OWN, Event
from evennia_ai.core.perception import CHANNEL, PRIVATE


def confidant(script: Any, event: Event) -> str:
    """The player who alone hears the answer to an event, "" where others do, or nobody."""
    is_told_alone = event.kind != OWN and is_alone(script.obj, event)
    return event.person if is_told_alone else ""


def is_alone(body: Any, event: Event) -> bool:
    """Whether nobody but whoever caused an event hears what is answered."""
    if event.source in PRIVATE:
        return True
    if event.source == CHANNEL or body.location is None:
        return False
    return next(listeners(body, event), None) is None


def listeners(body: Any, event: Event) -> Iterator[Any]:
    """Who else in the room hears what is said there: other players, and assistants."""
    here = body.location.contents if body.location is not None else ()
    return (thing for thing in here if thing != body and _listens(thing, event))


def _listens(thing: Any, event: Event) -> bool:
    if thing.dbref == event.sender_id:
        return False
    account = getattr(thing, "db_account_id", None)
    if account is not None:
        return bool(event.person != f"*#{account}")
    return bool(thing.sessions.count()) or getattr(thing, "assistant_script", None) is not None
