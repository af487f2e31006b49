"""Copies of peers' tasks and events as plain values, which may leave the game's thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evennia_ai.models import PeerEvent, PeerTask
from evennia_ai.tasks import peer_store


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """A task at one moment.

    Attributes:
        seq: number of the last event that is included.
        words: the messages so far.
        message: the message of the last change of state; None if there was none.
        at: when the state last changed, in seconds since 1970.
        number: its number for `assistant why`.
        made: its artifacts, the answer last; empty if they were not asked for.
        is_talk: the answer is text alone; nothing was done or attached.
        usage: the tokens it took, once it is over and if they are known.
    """

    id: str
    context: str
    state: str
    seq: int
    words: list[dict[str, Any]]
    message: Mapping[str, Any] | None
    at: float
    number: int
    made: list[dict[str, Any]]
    is_talk: bool
    usage: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """An event of a task; `kind` and `data` are those of `peer_store`."""

    seq: int
    kind: str
    data: Mapping[str, Any]
    at: float


def snapshot(task: PeerTask, *, with_artifacts: bool = True) -> TaskSnapshot:
    """Copy the current state of a task."""
    last = status = peer_store.last_event(task.pk)
    # The last event may be an artifact: the message is in the last event about the state.
    if last is not None and last.kind != peer_store.STATUS:
        status = peer_store.last_event(task.pk, kind=peer_store.STATUS)
    # A task and its first event are stored in one transaction.
    assert last is not None
    assert status is not None
    status_event = read_event(status)
    return TaskSnapshot(
        id=task.pk,
        context=task.context,
        state=task.state,
        seq=last.pk,
        words=peer_store.messages_of(task),
        message=status_event.data.get("message"),
        at=status_event.at,
        number=task.number,
        made=peer_store.made_of(task.pk) if with_artifacts else [],
        is_talk=bool(status_event.data.get("is_talk")),
        usage=status_event.data.get("usage", {}),
    )


def read_event(event: PeerEvent) -> TaskEvent:
    """Copy an event."""
    return TaskEvent(event.pk, event.kind, peer_store.read(event), event.at)
