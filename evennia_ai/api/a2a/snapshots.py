"""Tasks of peers as they are told: at one moment, and what happened since.

All is called in the game's thread.
"""

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
        seq: the number of the last event that it has in it.
        words: the messages so far.
        message: what was said with the last change of its state; None: nothing.
        made: what it made, its answer at the end; nothing where that was not asked for.
        is_talk: its answer is mere words, for which nothing was done.
        at: when that was, in seconds since 1970.
        number: what `assistant why` knows it by.
        usage: the tokens it took, once it is over, as far as they are known.
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
class Happening:
    """Something that happened to a task; `kind` and `data` as `peer_store` has them."""

    seq: int
    kind: str
    data: Mapping[str, Any]
    at: float


def snapshot(task: PeerTask, *, with_made: bool = True) -> TaskSnapshot:
    """A task as it stands."""
    last = status = peer_store.last_event(task.pk)
    if last is not None and last.kind != peer_store.STATUS:
        status = peer_store.last_event(task.pk, kind=peer_store.STATUS)
    # A task has its first event from the beginning.
    assert last is not None
    assert status is not None
    told = happening(status)
    return TaskSnapshot(
        task.pk,
        task.context,
        task.state,
        last.pk,
        peer_store.said(task),
        told.data.get("message"),
        told.at,
        task.number,
        peer_store.made_of(task.pk) if with_made else [],
        bool(told.data.get("is_talk")),
        told.data.get("usage", {}),
    )


def happening(event: PeerEvent) -> Happening:
    """An event, read."""
    return Happening(event.pk, event.kind, peer_store.read(event), event.at)
