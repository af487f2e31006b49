"""The actor of what is done now, and those who are told of it: the log and the listeners."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from evennia.utils import logger

from evennia_ai.core.safety.audit_events import Fact, kind_of

MARK = "[AI_AUDIT]"
# Told of each fact: (event, name of the subject, details). Of one that is stored with what it tells
# of, after the commit; of one that changes nothing stored, at once.
LISTENERS: list[Callable[[str, str, dict[str, Any]], None]] = []


@dataclass(frozen=True, slots=True)
class Actor:
    """The person who acts, and their way in.

    Attributes:
        by: a person's key, or "" for nobody in particular.
        via: "game", "web", "api", "mcp" or "a2a", or a game's own word; "" is not said.
        is_logged: the game's log has a line of each thing done.
    """

    by: str = ""
    via: str = ""
    is_logged: bool = True


NOBODY = Actor()
_ACTOR: ContextVar[Actor] = ContextVar("evennia_ai_actor", default=NOBODY)


@contextmanager
def acting(by: str, via: str = "game", *, is_logged: bool = True) -> Iterator[None]:
    """Let every fact that is made inside say who did it.

    Args:
        is_logged: False: the log has no line of these facts; whoever acts writes one of its own.
    """
    token = _ACTOR.set(Actor(by, via, is_logged))
    try:
        yield
    finally:
        _ACTOR.reset(token)


def actor() -> Actor:
    """The actor of this moment."""
    return _ACTOR.get()


def signed(fact: Fact) -> Fact:
    """A fact that says who did it; what it says already stays."""
    now = actor()
    marks = {name: value for name, value in (("by", now.by), ("via", now.via)) if value}
    return replace(fact, details={**marks, **fact.details}) if marks else fact


def tell(name: str, fact: Fact, details: Mapping[str, object], *, is_logged: bool = True) -> None:
    """Write a fact's line and tell who listens.

    Args:
        details: as they are kept: the log has no secrets either.
        is_logged: False: no line, whatever its kind.
    """
    if is_logged and kind_of(fact.event).is_logged:
        told = json.dumps(details, ensure_ascii=False, default=str)
        logger.log_info(f"{MARK} {fact.event} {name} {told}")
    # A copy: a listener may take itself out while it is told.
    for listener in list(LISTENERS):
        listener(fact.event, name, dict(fact.details))
