"""Writes to the audit log in transactions that may still be rolled back, and how to detect that.

Django has a hook for a commit but none for a rollback. A rollback is recognized by the commit hook
of a write that has gone from `connection.run_on_commit` without being called.
"""

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
from evennia_ai.audit.events import Subject
from evennia_ai.audit.reading import application
from evennia_ai.core.safety.audit_events import AuditEvent, storable

__all__ = ["EventStream", "PendingEvent", "Write", "is_never_committed", "now", "this_connection"]

MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """An event on its way into the audit log.

    Attributes:
        details: in stored form, with secrets masked.
        is_logged: False: no line in the game's log, whatever its kind.
    """

    event: AuditEvent
    details: dict[str, Any]
    at: datetime
    is_logged: bool

    @classmethod
    def of(cls, event: AuditEvent, at: datetime, *, is_logged: bool) -> PendingEvent:
        """The item for an event."""
        return cls(event, storable(event.details), at, is_logged)

    def tell(self, name: str) -> None:
        """Write it to the game's log and call the listeners."""
        tell(name, self.event, self.details, is_logged=self.is_logged)


def is_never_committed(connection: BaseDatabaseWrapper) -> bool:
    """True inside a Django TestCase, whose transaction is rolled back at the end."""
    blocks = connection.atomic_blocks
    return bool(blocks) and getattr(blocks[0], "_from_testcase", False)


@dataclass(eq=False, slots=True)
class Write:
    """One `keep` and its transaction.

    Attributes:
        waited: items that had waited for it; they wait again after a rollback.
    """

    connection: Any
    waited: list[PendingEvent]
    last: StoredEvent
    then: Callable[[], None]
    is_done: bool = False

    def __post_init__(self) -> None:
        self.connection.on_commit(self._finish, robust=True)

    def _finish(self) -> None:
        self.is_done = True
        self.then()


@dataclass(slots=True)
class EventStream:
    """One stream, as this process knows it.

    Attributes:
        lost: number of items dropped because too many waited.
        aggregate: the state after the last write of `connection`; None: read it from the database.
        writes: writes whose transactions may still be open.
        hooks: the connection's list of commit hooks at that time, which Django replaces at each
            commit or rollback; None: several connections write.
        is_broken: True if its stored events cannot be read; then none are added.
    """

    subject: Subject
    waiting: deque[PendingEvent] = field(default_factory=deque)
    lost: int = 0
    aggregate: Audited | None = None
    connection: Any = None
    writes: list[Write] = field(default_factory=list)
    hooks: Any = None
    is_broken: bool = False

    @property
    def is_idle(self) -> bool:
        """True if it can be dropped without losing anything."""
        return not (self.waiting or self.writes)

    @property
    def is_settled(self) -> bool:
        """True if nothing can have been rolled back since the last write."""
        return not self.writes or (
            self.hooks is not None and self.hooks is self.connection.run_on_commit
        )

    @property
    def has_waiting(self) -> bool:
        """True if items wait, or may wait again after a rollback."""
        if self.waiting or self.is_settled:
            return bool(self.waiting)
        return bool(self._without_hook())

    def put(self, item: PendingEvent) -> None:
        """Queue an item; beyond the bound, the oldest is dropped."""
        self.waiting.append(item)
        if len(self.waiting) > MOST_WAITING:
            self.waiting.popleft()
            self.lost += 1

    def wait_again(self, items: list[PendingEvent]) -> None:
        """Put items that were not written after all at the head of the queue."""
        self.waiting.extendleft(reversed(items))

    def settle(self) -> None:
        """Find rolled-back writes; their items wait again."""
        if self.is_settled:
            return
        # Newest first, because each puts its items at the head of the queue.
        for write in reversed(self._without_hook()):
            if not _is_there(write.last):
                self.wait_again(write.waited)
                self.aggregate = None
            write.is_done = True
        self.drop_done()

    def drop_done(self) -> None:
        """Forget the writes whose transactions are over."""
        self.writes = [write for write in self.writes if not write.is_done]

    def _without_hook(self) -> list[Write]:
        """The writes without a pending hook: rolled back, or committed with the hook yet to run."""
        connections = {id(write.connection): write.connection for write in self.writes}
        hooks = [hook for each in connections.values() for _, hook, _ in each.run_on_commit]
        pending = [getattr(hook, "__self__", None) for hook in hooks]
        return [write for write in self.writes if not (write.is_done or write in pending)]

    def note(self, aggregate: Audited, write: Write) -> None:
        """Cache the aggregate after a successful write."""
        hooks = write.connection.run_on_commit
        if self.writes and (self.hooks is None or self.connection is not write.connection):
            hooks = None
        self.aggregate, self.connection, self.hooks = aggregate, write.connection, hooks
        if not write.is_done:
            self.writes.append(write)


def _is_there(event: StoredEvent) -> bool:
    """True if an event is in the database, which alone tells a commit from a rollback here."""
    version = event.originator_version
    events = application().recorder.select_events(
        event.originator_id, gt=version - 1, lte=version, limit=1
    )
    return bool(events) and events[0].state == event.state


def this_connection() -> Any:
    """This thread's connection to the game's own database."""
    return connections["default"]
