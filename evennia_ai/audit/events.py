"""Events as they are stored: plain JSON under topics that last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Mapper, StoredEvent, Transcoder
from eventsourcing.utils import TopicError, get_topic, register_topic, resolve_topic

from evennia_ai.audit.aggregates import (
    NOBODY,
    NOTED,
    AssistantAggregate,
    GameAggregate,
    RecordSnapshot,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FAMILIES = (AssistantAggregate.TOPIC, GameAggregate.TOPIC)
# Of what is stored these are no details of the event.
_FRAME = ("originator_id", "originator_version", "originator_topic", "timestamp", "event", "more")
_TIMES = ("_created_on", "_modified_on")

register_topic(RecordSnapshot.TOPIC, RecordSnapshot)


def as_micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def as_moment(micros: int) -> datetime:
    """The way back, in UTC."""
    return EPOCH + timedelta(microseconds=micros)


@dataclass(frozen=True)
class NamedEvent(StoredEvent):
    """A stored event that can be looked for by its name and its time.

    Attributes:
        event: what people know it by.
        at: microseconds since 1970.
    """

    event: str
    at: int


class PlainTranscoder(Transcoder):
    """JSON, and nothing that looks like plain data but is something else."""

    def encode(self, obj: object) -> bytes:
        """Plain data as JSON; a time as ISO 8601, anything else as its text."""
        return _TO_JSON.encode(obj).encode("utf-8", "replace")

    def decode(self, data: bytes) -> Any:
        """The way back; texts stay texts."""
        return json.loads(data)


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


_TO_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_as_text)


class RecordMapper(Mapper[UUID]):
    """Between events and what is stored of them."""

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """An event as it is stored; nobody in particular is not told of."""
        topic, state = get_topic(type(domain_event)), dict(vars(domain_event))
        id_, version = state.pop("originator_id"), state.pop("originator_version")
        event = state.get("event") or topic.rpartition(":")[2]
        kept = {k: v for k, v in state.items() if k not in NOBODY or NOBODY[k] != v}
        at = as_micros(state["timestamp"])
        return NamedEvent(id_, version, topic, self.transcoder.encode(kept), str(event), at)

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        """The event again; one of a kind that this version does not know is a note."""
        family, _, name = stored_event.topic.partition(":")
        try:
            resolve_topic(stored_event.topic)
        except TopicError:
            if family not in _FAMILIES:
                raise
            stored_event = StoredEvent(
                stored_event.originator_id,
                stored_event.originator_version,
                f"{family}:{NOTED}",
                self._as_note(name, stored_event.state),
            )
        event = super().to_domain_event(stored_event)
        told = vars(event)
        if family in _FAMILIES:
            told.update({**NOBODY, **told})
        told["timestamp"] = datetime.fromisoformat(told["timestamp"])
        if isinstance(event, RecordSnapshot):
            state = told["state"]
            told["state"] = state | {key: datetime.fromisoformat(state[key]) for key in _TIMES}
        return event

    def _as_note(self, name: str, state: bytes) -> bytes:
        told = {"event": name, **self.transcoder.decode(state)}
        details = {key: value for key, value in told.items() if key not in _FRAME}
        frame = {"timestamp": told["timestamp"], "event": told["event"]}
        return self.transcoder.encode({**frame, "more": {**details, **(told.get("more") or {})}})


def details_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """The details of a stored event, as they were handed in."""
    own = {key: value for key, value in state.items() if key not in _FRAME}
    return {**own, **(state.get("more") or {})}
