"""Subjects of audit logs, and the stored form of events: plain JSON under permanent topics.

Assistants and the game are subjects. Each has a stream of events.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from evennia.utils.dbserialize import deserialize
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Mapper, StoredEvent, Transcoder
from eventsourcing.utils import TopicError, get_topic, register_topic, resolve_topic

from evennia_ai.audit.aggregates import (
    NOBODY,
    NOTED,
    AssistantAggregate,
    Audited,
    GameAggregate,
    RecordSnapshot,
)
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


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FAMILIES = (AssistantAggregate.TOPIC, GameAggregate.TOPIC)
# Stored members that are not details of the event.
_FRAME = ("originator_id", "originator_version", "originator_topic", "timestamp", "event", "more")
_TIMES = ("_created_on", "_modified_on")

register_topic(RecordSnapshot.TOPIC, RecordSnapshot)


def as_micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def as_moment(micros: int) -> datetime:
    """The time in UTC for microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)


@dataclass(frozen=True)
class NamedEvent(StoredEvent):
    """A stored event with columns to search by.

    Attributes:
        at: microseconds since 1970.
    """

    event: str
    at: int


class PlainTranscoder(Transcoder):
    """Plain JSON. The library's own transcoder would turn some data of a model into objects."""

    def encode(self, obj: object) -> bytes:
        """Encode as JSON; a time as ISO 8601, any other object as its text."""
        # "replace": a model's text may contain lone surrogates, which UTF-8 cannot encode.
        return _TO_JSON.encode(obj).encode("utf-8", "replace")

    def decode(self, data: bytes) -> Any:
        """Decode JSON; times stay texts."""
        return json.loads(data)


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


_TO_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_as_text)


class RecordMapper(Mapper[UUID]):
    """Maps domain events to stored events and back."""

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """The stored form of an event; default values are left out."""
        topic, state = get_topic(type(domain_event)), dict(vars(domain_event))
        id_, version = state.pop("originator_id"), state.pop("originator_version")
        event = state.get("event") or topic.rpartition(":")[2]
        fields = {k: v for k, v in state.items() if k not in NOBODY or NOBODY[k] != v}
        at = as_micros(state["timestamp"])
        return NamedEvent(id_, version, topic, self.transcoder.encode(fields), str(event), at)

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        """The event of a stored form; an unknown kind becomes an event that is only counted."""
        family, _, name = stored_event.topic.partition(":")
        try:
            resolve_topic(stored_event.topic)
        except TopicError:  # written by a newer version of this package
            if family not in _FAMILIES:
                raise
            stored_event = StoredEvent(
                stored_event.originator_id,
                stored_event.originator_version,
                f"{family}:{NOTED}",
                self._as_note(name, stored_event.state),
            )
        event = super().to_domain_event(stored_event)
        # Events are frozen dataclasses, so their attributes are restored in `__dict__`.
        values = vars(event)
        if family in _FAMILIES:
            values.update({**NOBODY, **values})
        values["timestamp"] = datetime.fromisoformat(values["timestamp"])
        if isinstance(event, RecordSnapshot):
            state = values["state"]
            values["state"] = state | {key: datetime.fromisoformat(state[key]) for key in _TIMES}
        return event

    def _as_note(self, name: str, state: bytes) -> bytes:
        values = {"event": name, **self.transcoder.decode(state)}
        details = {key: value for key, value in values.items() if key not in _FRAME}
        frame = {"timestamp": values["timestamp"], "event": values["event"]}
        return self.transcoder.encode({**frame, "more": {**details, **(values.get("more") or {})}})


def details_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """The details of a stored event, as they were recorded."""
    own = {key: value for key, value in state.items() if key not in _FRAME}
    return {**own, **(state.get("more") or {})}
