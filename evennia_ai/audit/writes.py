"""Writes in a transaction that may still be undone, and the test for that."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from eventsourcing.domain import datetime_now_with_tzinfo as now
from eventsourcing.persistence import StoredEvent

from evennia_ai.audit.acting import tell
from evennia_ai.audit.aggregates import Audited
from evennia_ai.audit.reading import application
from evennia_ai.audit.streams import Subject
from evennia_ai.core.safety.audit_events import Fact, storable

__all__ = ["EventStream", "FactItem", "Write", "is_never_committed", "now", "this_connection"]

MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True)
class FactItem:
    """A fact on its way into the record.

    Attributes:
        details: as the record keeps them.
        at: when it happened.
        is_logged: False: no line in the log, whatever its kind.
    """

    fact: Fact
    details: dict[str, Any]
    at: datetime
    is_logged: bool

    @classmethod
    def of(cls, fact: Fact, at: datetime, *, is_logged: bool) -> FactItem:
        """A fact that just happened."""
        return cls(fact, storable(fact.details), at, is_logged)

    def tell(self, name: str) -> None:
        """Let the log and whoever listens know of it."""
        tell(name, self.fact, self.details, is_logged=self.is_logged)


def is_never_committed(connection: BaseDatabaseWrapper) -> bool:
    """True within a test of Django's, which undoes everything at its end."""
    blocks = connection.atomic_blocks
    return bool(blocks) and getattr(blocks[0], "_from_testcase", False)


@dataclass(eq=False, slots=True)
class Write:
    """One `keep` and its transaction.

    Attributes:
        waited: items that were recorded before; they wait again if this is undone.
        last: the newest event of it.
        then: what is done after the commit.
        is_done: it is committed.
    """

    connection: Any
    waited: list[FactItem]
    last: StoredEvent
    then: Callable[[], None]
    is_done: bool = False
    hook: Callable[[], None] = field(init=False)

    def __post_init__(self) -> None:
        self.hook = self._finish
        self.connection.on_commit(self.hook, robust=True)

    def _finish(self) -> None:
        self.is_done = True
        self.then()


@dataclass(slots=True)
class EventStream:
    """One stream, as this process knows it.

    Attributes:
        waiting: what is written with the next write.
        lost: how many facts more could not wait.
        aggregate: what it had come to at the last write of `connection`; None: ask the database.
        writes: those whose transactions may be open.
        hooks: that connection's list of hooks then, which Django replaces when it commits or undoes
            anything; None: several connections write.
        is_broken: what is stored of it cannot be read, so that nothing is added.
    """

    whom: Subject
    waiting: deque[FactItem] = field(default_factory=deque)
    lost: int = 0
    aggregate: Audited | None = None
    connection: Any = None
    writes: list[Write] = field(default_factory=list)
    hooks: Any = None
    is_broken: bool = False

    @property
    def is_idle(self) -> bool:
        """True where nothing is lost when it is forgotten."""
        return not (self.waiting or self.writes)

    @property
    def is_settled(self) -> bool:
        """True where nothing can have been undone since the last write."""
        return not self.writes or (
            self.hooks is not None and self.hooks is self.connection.run_on_commit
        )

    @property
    def has_waiting(self) -> bool:
        """True where there is something to write, or may be."""
        if self.waiting or self.is_settled:
            return bool(self.waiting)
        return bool(self._cut_off())

    def put(self, item: FactItem) -> None:
        """Let an item wait."""
        self.waiting.append(item)
        if len(self.waiting) > MOST_WAITING:
            self.waiting.popleft()
            self.lost += 1

    def wait_again(self, items: list[FactItem]) -> None:
        """Let items wait that were to be written and are not."""
        self.waiting.extendleft(reversed(items))

    def settle(self) -> None:
        """Find out which writes are undone. What had waited for them waits again."""
        if self.is_settled:
            return
        # The oldest last, as each puts what it gives back before all that waits.
        for write in reversed(self._cut_off()):
            if not _is_there(write.last):
                self.wait_again(write.waited)
                self.aggregate = None
            write.is_done = True
        self.writes = [write for write in self.writes if not write.is_done]

    def _cut_off(self) -> list[Write]:
        """The writes whose transactions were undone, or are between their commit and its hooks.

        Those under way have hooks; one that was undone lost its own.
        """
        connections = {id(write.connection): write.connection for write in self.writes}
        hooks = {id(hook) for each in connections.values() for _, hook, _ in each.run_on_commit}
        return [write for write in self.writes if not (write.is_done or id(write.hook) in hooks)]

    def note(self, aggregate: Audited, write: Write) -> None:
        """Remember the aggregate after a write that just succeeded."""
        hooks = write.connection.run_on_commit
        if self.writes and (self.hooks is None or self.connection is not write.connection):
            hooks = None
        self.aggregate, self.connection, self.hooks = aggregate, write.connection, hooks
        if not write.is_done:
            self.writes.append(write)


def _is_there(event: StoredEvent) -> bool:
    """True where an event is in the database: between a commit and its hooks only that can tell."""
    version = event.originator_version
    found = application().recorder.select_events(
        event.originator_id, gt=version - 1, lte=version, limit=1
    )
    return bool(found) and found[0].state == event.state


def this_connection() -> Any:
    """This thread's connection to the game's database."""
    return connections["default"]
