"""The record's writer in one server process: what waits, and what each stream has come to.

What an aggregate in memory knows is never more than its transaction can still commit: where that is
undone, the aggregate is forgotten and read again, and what had waited waits again.
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
from evennia_ai.audit.reading import application, missing_tables
from evennia_ai.audit.streams import CREATED, Subject, begin, settings_of
from evennia_ai.audit.upkeep import Upkeep
from evennia_ai.audit.writes import (
    EventStream,
    FactItem,
    Write,
    is_never_committed,
    now,
    this_connection,
)
from evennia_ai.core.safety.audit_events import Fact, fact
from evennia_ai.models import RecordedSnapshot

__all__ = ["Book", "RecordConflictError"]

FLUSH_SECONDS = 1.0
RETRY_SECONDS = 15.0
# So many streams are written in one turn of the reactor.
PORTION = 10
TRIES = 3
# One for each assistant: those of a game with more are forgotten, and read anew, by turns.
MOST_STREAMS = 4_000
MISSING = (
    "[assistant] nothing is recorded: the tables of evennia_ai are missing in the game's database; "
    "type: evennia migrate"
)
Later = Callable[[float, Callable[[], None]], Any]


class Book:
    """One server process's part of the audit log.

    Args:
        later: calls something after some seconds; None: whoever records also flushes.
        clock: the time.
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

    # ---- facts come in ---------------------------------------------------------------------

    def record(self, whom: Subject, told: Fact) -> None:
        """Let a fact wait for the subject's next write, or for the next flush."""
        item = self._item(told)
        with self._lock:
            self._stream(whom).put(item)
            if self._later is not None and self._timer is None and self._is_ready is not False:
                # A test moves an assistant's clock by hand, and what waits is then stored with it.
                later = getattr(getattr(whom.script, "clock", None), "callLater", self._later)
                self._timer = later(FLUSH_SECONDS, self._on_timer)
        item.tell(whom.name)

    def keep(self, whom: Subject, facts: Iterable[Fact] = ()) -> None:
        """Store facts, and what waits, in the transaction that is open.

        Raises:
            RecordConflictError: another process or thread wrote this record meanwhile.
        """
        items = [self._item(each) for each in facts]
        with self._lock:
            stream = self._stream(whom)
            stream.settle()
            waited = [*stream.waiting, *self._losses(stream)]
            stream.waiting.clear()
            # Nobody else extends it meanwhile; where this fails it is read from the database.
            known, stream.aggregate = stream.aggregate, None
        connection = this_connection()
        if stream.connection is not connection:
            known = None  # it may hold what the other connection has not committed
        if not (waited or items):
            stream.aggregate = known
            return
        try:
            self._write(connection, stream, known, waited, items)
        except BaseException as error:
            with self._lock:
                # A write that was noted gives them back itself, once it is found to be undone.
                if not any(write.waited is waited for write in stream.writes):
                    stream.wait_again(waited)
            if isinstance(error, PersistenceError) and not isinstance(error, RecordConflictError):
                raise error.__cause__ or error  # the game knows Django's errors  # noqa: B904
            raise

    def has_waiting(self, whom: Subject) -> bool:
        """True where there is something to write. This asks no database."""
        stream = self._streams.get(whom.id)
        return stream is not None and stream.has_waiting

    def _item(self, told: Fact) -> FactItem:
        return FactItem.of(signed(told), self._clock(), is_logged=actor().is_logged)

    def _losses(self, stream: EventStream) -> list[FactItem]:
        lost, stream.lost = stream.lost, 0
        return [self._item(fact("facts_lost", count=lost))] if lost else []

    def _stream(self, whom: Subject) -> EventStream:
        if len(self._streams) >= MOST_STREAMS and whom.id not in self._streams:
            for id_ in [id_ for id_, stream in self._streams.items() if stream.is_idle]:
                del self._streams[id_]
        stream = self._streams.setdefault(whom.id, EventStream(whom))
        if whom.script is not None:
            stream.whom = whom
        return stream

    # ---- and are written -------------------------------------------------------------------

    def _write(
        self,
        connection: BaseDatabaseWrapper,
        stream: EventStream,
        known: Audited | None,
        waited: list[FactItem],
        items: list[FactItem],
    ) -> None:
        name = stream.whom.name
        if not self.has_tables() or stream.is_broken:
            _tell(name, items)
            return
        is_told_now = is_never_committed(connection)
        # Without a savepoint: where an event fails, the caller's change fails with it.
        with transaction.atomic(savepoint=False):
            known = known or self._load(stream, waited, items)
            if known is None:
                _tell(name, items)
                return
            has_begun = bool(known.pending_events) and not stream.whom.is_game
            events = _extend(known, [*waited, *items[has_begun:]])
            told = [] if is_told_now else items
            write = Write(connection, waited, events[-1], lambda: _tell(name, told))
            with self._lock:
                stream.note(known, write)
        if is_told_now:
            _tell(name, items)

    def has_tables(self) -> bool:
        """True where the game's database has the tables; if not, the log is told, once."""
        if self._is_ready is None:
            self._is_ready = not missing_tables()
            if not self._is_ready:
                logger.log_err(MISSING)
        return self._is_ready

    def _load(
        self, stream: EventStream, waited: list[FactItem], items: list[FactItem]
    ) -> Audited | None:
        """The state of a stream, or its beginning; None: nothing can be added to it.

        Args:
            items: what is handed in; how the record began is put at their head.
        """
        whom = stream.whom
        if this_connection().vendor == "sqlite":
            # It refuses to let a transaction write that has read before another one wrote.
            RecordedSnapshot.objects.filter(id=-1).update(at=0)
        try:
            found: Audited = application().repository.get(whom.id)
        except AggregateNotFoundError:
            return self._begin(whom, waited, items)
        except PersistenceError:
            raise
        except Exception:
            stream.is_broken = True
            logger.log_trace(f"[assistant] the record of {whom.name} cannot be read; it ends here")
            return None
        return found

    def _begin(
        self, whom: Subject, waited: list[FactItem], items: list[FactItem]
    ) -> Audited | None:
        if whom.is_game:
            return begin(whom, {}, (waited or items)[0].at)
        if whom.script is None or whom.script.pk is None:
            return None
        if not items or items[0].fact.event != CREATED:
            told = fact(CREATED, assistant_key=whom.name, config=settings_of(whom.script))
            items.insert(0, self._item(told))
        return begin(whom, items[0].details, (waited or items)[0].at)

    def flush(self) -> None:
        """Store all that waits, each stream in a transaction of its own; nothing is timed then."""
        self._cancel()
        self._due, self._has_failed = deque(self._streams.values()), False
        self._flush_due()
        self._go_on()

    def _flush_due(self, most: float = inf) -> None:
        """Store what waits for the streams whose turn it is; of as many at most."""
        while self._due and (most > 0 or not self._due[0].has_waiting):
            stream = self._due.popleft()
            if not stream.has_waiting:
                continue
            most -= 1
            try:
                self.flush_one(stream.whom)
            # They wait again, and the other streams are stored all the same.
            except Exception:
                self._has_failed = True
                logger.log_trace(f"[assistant] {stream.whom.name}: facts wait to be recorded")

    def flush_one(self, whom: Subject) -> None:
        """Store what waits for one stream.

        Raises:
            RecordConflictError: others write to it all the time.
        """
        for tries_left in reversed(range(TRIES)):
            try:
                if self.has_waiting(whom):
                    with transaction.atomic():
                        self.keep(whom)
                return
            except RecordConflictError:
                if not tries_left:
                    raise

    def _go_on(self) -> None:
        """See to the streams that are left, or to what could not be stored, or came meanwhile."""
        is_more = self._due or any(stream.waiting for stream in self._streams.values())
        if self._later is None or not is_more:
            return
        self._cancel()
        pause = RETRY_SECONDS if self._has_failed else FLUSH_SECONDS
        self._timer = self._later(0.0 if self._due else pause, self._on_timer)

    def forget(self, whom: Subject) -> None:
        """Ask the database, the next time, what a stream has come to."""
        with self._lock:
            self._stream(whom).aggregate = None

    # ---- by itself -------------------------------------------------------------------------

    def _on_timer(self) -> None:
        """Store what waits for some streams; the others follow, each in its turn."""
        self._timer = None
        if not self._due:
            self._due, self._has_failed = deque(self._streams.values()), False
        self._flush_due(PORTION)
        self._go_on()
        if self._is_ready and not self._due:
            self.upkeep.look([stream.whom for stream in self._streams.values()])

    def stop(self) -> None:
        """Store what is left; no timer stays behind."""
        self.upkeep.stop()
        self.flush()
        self._cancel()

    def drop(self) -> None:
        """Forget what is left, as a process does that is killed; no timer stays behind."""
        self.upkeep.stop()
        self._cancel()
        self._streams.clear()
        self._due.clear()
        # Tables that were missing may be there by now; those that are there stay.
        self._is_ready = self._is_ready or None

    def _cancel(self) -> None:
        if self._timer is not None:
            with suppress(Exception):  # it may be over already
                self._timer.cancel()
            self._timer = None


def _tell(name: str, items: Sequence[FactItem]) -> None:
    for item in items:
        item.tell(name)


def _extend(aggregate: Audited, items: Sequence[FactItem]) -> list[StoredEvent]:
    """Add items to a stream: by one statement, and another where snapshots are due."""
    app, snapshots = application(), []
    for item in items:
        aggregate.add(item.fact.event, item.details, item.at)
        if aggregate.version % SNAPSHOT_EVERY == 0:
            snapshots.append(app.mapper.to_stored_event(RecordSnapshot.take(aggregate)))
    events = [app.mapper.to_stored_event(event) for event in aggregate.collect_events()]
    app.recorder.insert_events(events, are_ids_wanted=False)
    if snapshots and app.snapshots is not None:
        app.snapshots.recorder.insert_events(snapshots)
    return events
