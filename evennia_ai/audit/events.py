"""Facts as events, and events as they are stored: plain JSON under topics that last."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from eventsourcing.domain import (
    Aggregate,
    DecoratedFuncCaller,
    DomainEventProtocol,
    decorated_funcs,
)
from eventsourcing.persistence import Mapper, StoredEvent, Transcoder
from eventsourcing.utils import TopicError, get_topic, register_topic, resolve_topic

from evennia_ai.audit.aggregates import NOBODY, AssistantAggregate, RecordSnapshot
from evennia_ai.audit.game_aggregate import GameAggregate

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# These end a question; one of them that has no number is noted like anything else.
CLOSING = frozenset(
    f"question_{end}"
    for end in ("answered", "discarded", "dropped", "handed_on", "nobody", "timeout", "used")
) | {"question_unused"}
NOTED, CLOSED = "noted", "question_closed"
_OURS = (AssistantAggregate, GameAggregate)
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


@dataclass(frozen=True, slots=True)
class Form:
    """The details of one kind of event.

    Attributes:
        defaults: of all its details that have one.
        wanted: its details that have none.
        is_named: it is told which kind of fact it is.
    """

    event_class: type[Any]
    defaults: Mapping[str, Any]
    wanted: frozenset[str]
    is_named: bool


def _form(event_class: type[Any]) -> Form:
    shape = inspect.signature(decorated_funcs[event_class]).parameters
    names = [name for name in shape if name != "self"]
    defaults = {n: shape[n].default for n in names if shape[n].default is not shape[n].empty}
    wanted = frozenset(names) - set(defaults)
    return Form(event_class, defaults, wanted - {"event"}, "event" in wanted)


@lru_cache
def forms_of(aggregate: type[Aggregate]) -> dict[str, Form]:
    """The forms of an aggregate's events, by the name that ends their topic."""
    made = [made for made in vars(aggregate).values() if isinstance(made, type)]
    events = [made for made in made if issubclass(made, DecoratedFuncCaller)]
    return {get_topic(made).rpartition(":")[2]: _form(made) for made in events}


def add(aggregate: Aggregate, event: str, details: Mapping[str, Any], at: datetime) -> None:
    """Let an aggregate know of a fact. Whatever the fact holds, this does not fail.

    Args:
        details: as `core.safety.audit_events.kept` makes them.
        at: when; never before what the aggregate knows last.
    """
    forms = forms_of(type(aggregate))
    form = forms.get(CLOSED if event in CLOSING else event)
    if form is None or not form.wanted.issubset(details):
        form = forms[NOTED]
    taken = {*form.defaults, *form.wanted, "by", "via"}
    told = {key: value for key, value in details.items() if key in taken}
    rest = {key: value for key, value in details.items() if key not in taken}
    named = {"event": event} if form.is_named else {}
    moment = max(at, aggregate.modified_on)
    given = {**form.defaults, **told, **named, "more": rest or None}
    aggregate.trigger_event(form.event_class, timestamp=moment, **given)


# ---- stored ------------------------------------------------------------------------------------


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

    def encode(self, obj: Any) -> bytes:
        """Plain data as JSON; a time as ISO 8601, anything else as its text."""
        text = json.dumps(obj, ensure_ascii=False, separators=(",", ":"), default=_as_text)
        return text.encode("utf-8", "replace")

    def decode(self, data: bytes) -> Any:
        """The way back; texts stay texts."""
        return json.loads(data)


def _as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


class RecordMapper(Mapper[UUID]):
    """Between events and what is stored of them."""

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """An event as it is stored; nobody in particular is not told of."""
        topic, state = get_topic(type(domain_event)), dict(vars(domain_event))
        id_, version = state.pop("originator_id"), state.pop("originator_version")
        event = state.get("event") or topic.rpartition(":")[2]
        kept = {key: value for key, value in state.items() if NOBODY.get(key, state) != value}
        at = as_micros(state["timestamp"])
        return NamedEvent(id_, version, topic, self.transcoder.encode(kept), str(event), at)

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        """The event again; one of a kind that this version does not know is a note."""
        family, _, name = stored_event.topic.partition(":")
        try:
            resolve_topic(stored_event.topic)
        except TopicError:
            if family not in [ours.TOPIC for ours in _OURS]:
                raise
            stored_event = StoredEvent(
                stored_event.originator_id,
                stored_event.originator_version,
                f"{family}:{NOTED}",
                self._as_note(name, stored_event.state),
            )
        event = super().to_domain_event(stored_event)
        told = vars(event)
        if family in [ours.TOPIC for ours in _OURS]:
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
