"""The writer of the audit log in one server process: waiting events, and a cache of aggregates.

A cached aggregate is trusted only as far as its transaction was or can still be committed. After a
rollback it is dropped and read again, and the events that had waited wait again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from math import inf
from threading import RLock
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from evennia.utils import logger
from eventsourcing.application import AggregateNotFoundError
from eventsourcing.persistence import IntegrityError as RecordConflictError
from eventsourcing.persistence import PersistenceError, StoredEvent

from evennia_ai.audit.acting import actor, signed
from evennia_ai.audit.aggregates import Audited, RecordSnapshot
from evennia_ai.audit.archive import SNAPSHOT_EVERY
from evennia_ai.audit.events import CREATED, Subject, begin, settings_of
from evennia_ai.audit.reading import application, missing_tables
from evennia_ai.audit.upkeep import Upkeep
from evennia_ai.audit.writes import (
    EventStream,
    PendingEvent,
    Write,
    is_never_committed,
    now,
    this_connection,
)
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.models import RecordedSnapshot

__all__ = ["AuditWriter", "RecordConflictError"]

FLUSH_SECONDS = 1.0  # the longest time that an event waits, and what a crash can lose
RETRY_SECONDS = 15.0  # after a failed write
PORTION = 10  # streams written in one reactor turn, so that players do not wait
TRIES = 3  # of a transaction that another process interferes with
# Streams in memory, one for each assistant. With more, idle ones are dropped and read again.
MOST_STREAMS = 4_000
MISSING = (
    "[assistant] nothing is recorded: the tables of evennia_ai are missing in the game's database; "
    "type: evennia migrate"
)
Later = Callable[[float, Callable[[], None]], Any]


class AuditWriter:
    """The writer of the audit log in one server process.

    Args:
        later: calls a function after some seconds; None: callers must flush themselves.
    """

    def __init__(self, later: Later | None = None, clock: Callable[[], datetime] = now) -> None:
        self.upkeep = Upkeep(later)
        self._later = later
        self._clock = clock
        self._timer: Any = None
        self._streams: dict[UUID, EventStream] = {}
        self._due: deque[EventStream] = deque()
        self._has_failed = False
        self._lock = RLock()
        self._is_ready: bool | None = None

    # ---- events come in ---------------------------------------------------------------------

    def record(self, subject: Subject, event: AuditEvent) -> None:
        """Queue an event for the subject's next write, or the next flush."""
        item = self._item(event)
        with self._lock:
            self._stream(subject).put(item)
            if self._later is not None and self._timer is None and self._is_ready is not False:
                # In a test the script's clock is moved by hand, and must also time the flush.
                later = getattr(getattr(subject.script, "clock", None), "callLater", self._later)
                self._timer = later(FLUSH_SECONDS, self._on_timer)
        item.tell(subject.name)

    def save(self, subject: Subject, events: Iterable[AuditEvent] = ()) -> None:
        """Store events, and those that wait, in the transaction that is open.

        Raises:
            RecordConflictError: another process or thread has written to this log meanwhile.
        """
        items = [self._item(each) for each in events]
        with self._lock:
            stream = self._stream(subject)
            stream.settle()
            waited = [*stream.waiting, *self._losses(stream)]
            stream.waiting.clear()
            # Taken out, so that no other thread extends it, and so that a failure leaves none.
            known, stream.aggregate = stream.aggregate, None
        connection = this_connection()
        if stream.connection is not connection:
            known = None  # it may contain events that the other connection has not committed
        if not (waited or items):
            stream.aggregate = known
            return
        try:
            self._write(connection, stream, known, waited, items)
        except BaseException as error:
            with self._lock:
                # For a write that was noted, `settle` does this once it finds the rollback.
                if not any(write.waited is waited for write in stream.writes):
                    stream.wait_again(waited)
            # Callers expect Django's errors and not the library's.
            if isinstance(error, PersistenceError) and not isinstance(error, RecordConflictError):
                raise error.__cause__ or error  # noqa: B904
            raise

    def has_waiting(self, subject: Subject) -> bool:
        """True if events wait to be written. Queries no database."""
        stream = self._streams.get(subject.id)
        return stream is not None and stream.has_waiting

    def _item(self, event: AuditEvent) -> PendingEvent:
        return PendingEvent.of(signed(event), self._clock(), is_logged=actor().is_logged)

    def _losses(self, stream: EventStream) -> list[PendingEvent]:
        lost, stream.lost = stream.lost, 0
        return [self._item(audit_event("facts_lost", count=lost))] if lost else []

    def _stream(self, subject: Subject) -> EventStream:
        if len(self._streams) >= MOST_STREAMS and subject.id not in self._streams:
            for id_ in [id_ for id_, stream in self._streams.items() if stream.is_idle]:
                del self._streams[id_]
        stream = self._streams.setdefault(subject.id, EventStream(subject))
        if subject.script is not None:
            stream.subject = subject
        return stream

    # ---- and are written -------------------------------------------------------------------

    def _write(
        self,
        connection: BaseDatabaseWrapper,
        stream: EventStream,
        known: Audited | None,
        waited: list[PendingEvent],
        items: list[PendingEvent],
    ) -> None:
        name = stream.subject.name
        if not self.has_tables() or stream.is_broken:
            _tell(name, items)
            return
        is_never_committing = is_never_committed(connection)
        # No savepoint: if the event cannot be stored, the caller's change must fail too.
        with transaction.atomic(savepoint=False):
            known = known or self._load(stream, waited, items)
            if known is None:
                _tell(name, items)
                return
            has_begun = bool(known.pending_events) and not stream.subject.is_game
            events = _extend(known, [*waited, *items[has_begun:]])

            def after_commit() -> None:
                with self._lock:
                    stream.drop_done()
                if not is_never_committing:
                    _tell(name, items)

            write = Write(connection, waited, events[-1], after_commit)
            with self._lock:
                stream.note(known, write)
        if is_never_committing:
            _tell(name, items)

    def has_tables(self) -> bool:
        """True if the tables exist; otherwise logs an error, once."""
        if self._is_ready is None:
            self._is_ready = not missing_tables()
            if not self._is_ready:
                logger.log_err(MISSING)
        return self._is_ready

    def _load(
        self, stream: EventStream, waited: list[PendingEvent], items: list[PendingEvent]
    ) -> Audited | None:
        """The aggregate of a stream, or a new one; None: nothing can be added to the stream.

        Args:
            items: the new events; a new log's first event is inserted before them.
        """
        subject = stream.subject
        if this_connection().vendor == "sqlite":
            # An UPDATE of no row takes SQLite's write lock. A transaction that reads first is
            # refused ("database is locked") if another one writes before it does.
            RecordedSnapshot.objects.filter(id=-1).update(at=0)
        try:
            aggregate: Audited = application().repository.get(subject.id)
        except AggregateNotFoundError:
            return self._begin(subject, waited, items)
        except PersistenceError:  # the database's trouble, which may pass
            raise
        except Exception:  # the stored events themselves cannot be read
            stream.is_broken = True
            logger.log_trace(
                f"[assistant] the record of {subject.name} cannot be read; it ends here"
            )
            return None
        return aggregate

    def _begin(
        self, subject: Subject, waited: list[PendingEvent], items: list[PendingEvent]
    ) -> Audited | None:
        if subject.is_game:
            return begin(subject, {}, (waited or items)[0].at)
        if subject.script is None or subject.script.pk is None:
            return None
        if not items or items[0].event.event != CREATED:
            created = audit_event(
                CREATED, assistant_key=subject.name, config=settings_of(subject.script)
            )
            items.insert(0, self._item(created))
        return begin(subject, items[0].details, (waited or items)[0].at)

    def flush(self) -> None:
        """Store all waiting events now, each stream in a transaction of its own."""
        self._cancel()
        self._due, self._has_failed = deque(self._streams.values()), False
        self._flush_due()
        self._schedule_rest()

    def _flush_due(self, most: float = inf) -> None:
        while self._due and (most > 0 or not self._due[0].has_waiting):
            stream = self._due.popleft()
            if not stream.has_waiting:
                continue
            most -= 1
            try:
                self.flush_one(stream.subject)
            # The events wait again, and the other streams must still be stored.
            except Exception:
                self._has_failed = True
                logger.log_trace(f"[assistant] {stream.subject.name}: events wait to be recorded")

    def flush_one(self, subject: Subject) -> None:
        """Store the waiting events of one stream.

        Raises:
            RecordConflictError: other processes interfered with every try.
        """
        for tries_left in reversed(range(TRIES)):
            try:
                if self.has_waiting(subject):
                    with transaction.atomic():
                        self.save(subject)
                return
            except RecordConflictError:
                if not tries_left:
                    raise

    def _schedule_rest(self) -> None:
        """Set the timer for streams that are still due, that failed, or that got new events."""
        # A copy, because other threads record events too.
        is_more = self._due or any(stream.waiting for stream in list(self._streams.values()))
        if self._later is None or not is_more:
            return
        self._cancel()
        pause = RETRY_SECONDS if self._has_failed else FLUSH_SECONDS
        self._timer = self._later(0.0 if self._due else pause, self._on_timer)

    def forget(self, subject: Subject) -> None:
        """Drop the cached aggregate of a stream."""
        with self._lock:
            self._stream(subject).aggregate = None

    # ---- by itself -------------------------------------------------------------------------

    def _on_timer(self) -> None:
        """Store the events of some due streams; the others follow in later reactor turns."""
        self._timer = None
        if not self._due:
            self._due, self._has_failed = deque(self._streams.values()), False
        self._flush_due(PORTION)
        self._schedule_rest()
        if self._is_ready and not self._due:
            self.upkeep.look([stream.subject for stream in list(self._streams.values())])

    def stop(self) -> None:
        """Store everything and cancel the timers, at shutdown."""
        self.upkeep.stop()
        self.flush()
        self._cancel()

    def drop(self) -> None:
        """Discard everything unwritten, as if the process were killed, and cancel the timers."""
        self.upkeep.stop()
        self._cancel()
        self._streams.clear()
        self._due.clear()
        # Missing tables may have been created since; existing ones do not go away.
        self._is_ready = self._is_ready or None

    def _cancel(self) -> None:
        if self._timer is not None:
            with suppress(Exception):  # it may have fired already
                self._timer.cancel()
            self._timer = None


def _tell(name: str, items: Sequence[PendingEvent]) -> None:
    for item in items:
        item.tell(name)


def _extend(aggregate: Audited, items: Sequence[PendingEvent]) -> list[StoredEvent]:
    """Add items to a stream with one INSERT, and another one if snapshots are due."""
    app, snapshots = application(), []
    for item in items:
        aggregate.add(item.event.event, item.details, item.at)
        if aggregate.version % SNAPSHOT_EVERY == 0:
            snapshots.append(app.mapper.to_stored_event(RecordSnapshot.take(aggregate)))
    events = [app.mapper.to_stored_event(event) for event in aggregate.collect_events()]
    app.recorder.insert_events(events, are_ids_wanted=False)
    if snapshots and app.snapshots is not None:
        app.snapshots.recorder.insert_events(snapshots)
    return events
