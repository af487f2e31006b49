"""The actor: who acts and by which way, on every event made meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from evennia_ai.core.safety.audit_events import Fact


@dataclass(frozen=True, slots=True)
class Actor:
    """The person who acts, and their way in.

    Attributes:
        by: a person's key, or "" for nobody in particular.
        via: "game", "api" or "code"; "" is not said.
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
