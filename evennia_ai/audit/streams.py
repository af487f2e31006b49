"""Subjects of audit logs: assistants and the game. Each has a stream of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from evennia.utils.dbserialize import deserialize

from evennia_ai.audit.aggregates import AssistantAggregate, Audited, GameAggregate
from evennia_ai.core.safety.audit_events import storable
from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.core.typed_objects import Script

GAME = "game"
CREATED = "AssistantCreated"
# Must never change: the ids of all stored streams derive from it.
_NAMESPACE = UUID("3b6a9c1e-5d0f-4a53-9a37-6d1c2f8e7b40")


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of an audit log.

    Attributes:
        id: of the stream.
        name: for people.
        script: the assistant's, if the caller has it.
    """

    id: UUID
    name: str
    script: Script | None = None

    @property
    def is_game(self) -> bool:
        """True for the game, False for an assistant."""
        return self.id == GAME_ID


@lru_cache(maxsize=1024)
def id_of(key: str) -> UUID:
    """The stream id of an assistant; case does not matter."""
    return uuid5(_NAMESPACE, f"assistant/{key.casefold()}")


GAME_ID = uuid5(_NAMESPACE, GAME)


def name_of(subject: Script | str) -> str:
    """The name of a subject: an assistant's key, or "game"."""
    return str(getattr(subject, "key", subject))


def subject_of(subject: Script | str) -> Subject | None:
    """The subject for an assistant or the game.

    Args:
        subject: an assistant's script or name, or "game".

    Returns:
        None for a script that is not stored, which has no audit log.
    """
    if isinstance(subject, str):
        return Subject(GAME_ID if subject == GAME else id_of(subject), subject)
    # An event must not outlive its subject, so a script that was never stored has no stream.
    if getattr(subject, "pk", None) is None or not hasattr(subject, "attributes"):
        return None
    name = name_of(subject)
    return Subject(id_of(name), name, subject)


def begin(subject: Subject, details: Mapping[str, Any], at: datetime) -> Audited:
    """A new aggregate, with the first event of an audit log.

    Args:
        details: of its AssistantCreated event, in stored form.
        at: time of the event.
    """
    if subject.is_game:
        return GameAggregate.create(subject.id, timestamp=at)
    rest = dict(details)
    name = rest.pop("assistant_key", None) or subject.name
    config = rest.pop("config", None) or (
        storable(settings_of(subject.script)) if subject.script else {}
    )
    begun_with = rest.pop("begun_with", None)
    signs = {sign: rest.pop(sign) for sign in ("by", "via") if sign in rest}
    return AssistantAggregate.create(
        subject.id, name, config, at, begun_with, **signs, more=rest or None
    )


def settings_of(script: Script) -> dict[str, Any]:
    """The settings that an assistant stores."""
    stored = {item.key: item.value for item in script.attributes.all()}
    names = [name for name in ATTRIBUTES if name in stored and name not in STATE]
    return {name: deserialize(stored[name]) for name in names}
