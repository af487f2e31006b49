"""The person who acts now, and the receivers of audit events: the game's log and listeners."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from evennia.utils import logger

from evennia_ai.core.safety.audit_events import AuditEvent, kind_of

MARK = "[AI_AUDIT]"
# Called for each event with (event, name of the subject, details): after the commit for an event
# of a stored change, at once for any other.
LISTENERS: list[Callable[[str, str, dict[str, Any]], None]] = []


@dataclass(frozen=True, slots=True)
class Actor:
    """The person who acts, and the interface they use.

    Attributes:
        by: the person's key, or "" for nobody in particular.
        via: "game", "web", "api", "mcp" or "a2a", or a game's own word; "" if unknown.
        is_logged: True: each event is a line of the game's log.
    """

    by: str = ""
    via: str = ""
    is_logged: bool = True


NOBODY = Actor()
# A context variable, so that the actor follows an operation through all its awaits.
_ACTOR: ContextVar[Actor] = ContextVar("evennia_ai_actor", default=NOBODY)


@contextmanager
def acting(by: str, via: str = "game", *, is_logged: bool = True) -> Iterator[None]:
    """Sign every event that is recorded inside the block with the actor.

    Args:
        is_logged: False: these events are not logged, because the caller logs a line of its own.
    """
    token = _ACTOR.set(Actor(by, via, is_logged))
    try:
        yield
    finally:
        _ACTOR.reset(token)


def actor() -> Actor:
    """The current actor."""
    return _ACTOR.get()


def signed(event: AuditEvent) -> AuditEvent:
    """The event with the current actor; an actor that it names already stays."""
    now = actor()
    if not (now.by or now.via):
        return event
    marks = {name: value for name, value in (("by", now.by), ("via", now.via)) if value}
    own = {name: value for name, value in event.details.items() if value or name not in marks}
    return replace(event, details={**marks, **own})


def tell(
    name: str, event: AuditEvent, details: Mapping[str, object], *, is_logged: bool = True
) -> None:
    """Log an event and call the listeners.

    Args:
        details: as stored, with secrets masked: the log must not have them either.
        is_logged: False: write no line, whatever the kind of event.
    """
    if is_logged and kind_of(event.event).is_logged:
        text = json.dumps(details, ensure_ascii=False, default=str)
        logger.log_info(f"{MARK} {event.event} {name} {text}")
    # A copy, because a listener may remove itself from the list.
    for listener in list(LISTENERS):
        try:
            listener(event.event, name, dict(event.details))
        except Exception:  # what happened has happened, and the other listeners are told of it
            logger.log_trace(f"[assistant] {listener!r} failed at the event {event.event}")
