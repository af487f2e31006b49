"""The subject of an audit log: an assistant, or the game. Each has its own stream of events."""

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
# Never changed: all that was ever recorded is found by it.
_NAMESPACE = UUID("3b6a9c1e-5d0f-4a53-9a37-6d1c2f8e7b40")


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of an audit log.

    Attributes:
        id: of the stream.
        name: for people.
        script: the assistant's, while somebody has it.
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
    """The stream of an assistant; small and capital letters are the same."""
    return uuid5(_NAMESPACE, f"assistant/{key.casefold()}")


GAME_ID = uuid5(_NAMESPACE, GAME)


def name_of(subject: Script | str) -> str:
    """The name of a subject: an assistant's key, or a word such as "game"."""
    return str(getattr(subject, "key", subject))


def subject_of(whom: Script | str) -> Subject | None:
    """The subject that is meant.

    Args:
        whom: an assistant's script or its name, or "game".

    Returns:
        None: of that no record is kept, as of a script that is not stored.
    """
    if isinstance(whom, str):
        return Subject(GAME_ID if whom == GAME else id_of(whom), whom)
    # An event must not outlive its subject: what was never stored has no stream.
    if getattr(whom, "pk", None) is None or not hasattr(whom, "attributes"):
        return None
    name = name_of(whom)
    return Subject(id_of(name), name, whom)


def begin(whom: Subject, details: Mapping[str, Any], at: datetime) -> Audited:
    """The first version of a record.

    Args:
        details: of the AssistantCreated that it is, as they are kept.
        at: when it begins.
    """
    if whom.is_game:
        return GameAggregate.create(whom.id, timestamp=at)
    told = dict(details)
    name = told.pop("assistant_key", None) or whom.name
    config = told.pop("config", None) or (storable(settings_of(whom.script)) if whom.script else {})
    begun_with = told.pop("begun_with", None)
    signs = {sign: told.pop(sign) for sign in ("by", "via") if sign in told}
    return AssistantAggregate.create(
        whom.id, name, config, at, begun_with, **signs, more=told or None
    )


def settings_of(script: Script) -> dict[str, Any]:
    """The settings that an assistant stores."""
    stored = {item.key: item.value for item in script.attributes.all()}
    names = [name for name in ATTRIBUTES if name in stored and name not in STATE]
    return {name: deserialize(stored[name]) for name in names}
