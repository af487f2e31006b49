"""Recorders of the `eventsourcing` library on the game's own database.

They insert in the transaction that is open, so that an event commits or rolls back together with
the change it records.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain
from typing import Any, Never
from uuid import UUID

from django import db
from django.db import transaction
from eventsourcing import persistence
from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    Notification,
    NotSupportedError,
    StoredEvent,
    TrackingRecorder,
)

from evennia_ai.audit.events import NamedEvent
from evennia_ai.models import RecordedEvent, RecordedSnapshot, statements

MOST_ROWS = 1_000  # of one statement: databases limit its size
ALIAS = "DJANGO_DATABASE"
COLUMNS = ("originator_id", "originator_version", "topic", "event", "at", "state")
_LONGEST_NAME = RecordedEvent._meta.get_field("event").max_length
_READ = ("originator_id", "originator_version", "topic", "state")
NO_SUBSCRIPTION = (
    "the record cannot be subscribed to: read it by notification_log.select(start, limit), or let "
    "evennia_ai.audit.LISTENERS tell you of each event"
)
NO_TRACKING = "the record keeps no positions of other applications; use a recorder of your own"


class _MappedErrors:
    """Context that raises Django's database errors as the library's errors of the same names."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the library's error."""
        if isinstance(error, db.Error):
            error_class = getattr(persistence, type(error).__name__, persistence.PersistenceError)
            raise error_class(str(error)) from error


mapped_errors = _MappedErrors()


class DjangoAggregateRecorder(AggregateRecorder):
    """Stores the events of streams and reads them."""

    def __init__(
        self, model: type[RecordedEvent] | type[RecordedSnapshot], using: str = "default"
    ) -> None:
        self.model = model
        self.using = using

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Insert events, all or none.

        Raises:
            IntegrityError: one of these versions exists already.
        """
        self._insert(stored_events)
        return None

    def _insert(self, stored: Sequence[StoredEvent], *, are_ids_wanted: bool = False) -> list[int]:
        """Insert rows, MOST_ROWS per statement; return their ids if the database gives them."""
        if len(stored) > MOST_ROWS:
            parts = [stored[at : at + MOST_ROWS] for at in range(0, len(stored), MOST_ROWS)]
            with transaction.atomic(using=self.using, savepoint=False):
                ids = [self._insert(part, are_ids_wanted=are_ids_wanted) for part in parts]
            return list(chain.from_iterable(ids))
        if not stored:
            return []
        rows = list(map(_row_of, stored))
        with mapped_errors:
            return statements.insert(
                *(self.model, COLUMNS, rows), using=self.using, are_ids_wanted=are_ids_wanted
            )

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The events of one stream in the order of versions."""
        bounds = {"gt": gt, "lte": lte}
        where = {f"originator_version__{k}": v for k, v in bounds.items() if v is not None}
        rows = self.model.objects.using(self.using).filter(originator_id=originator_id, **where)
        rows = rows.order_by("-originator_version" if desc else "originator_version")
        with mapped_errors:
            values = list(rows.values_list(*_READ)[:limit])
        return [
            StoredEvent(id_, version, topic, bytes(state)) for id_, version, topic, state in values
        ]


def _row_of(stored: StoredEvent) -> tuple[Any, ...]:
    if isinstance(stored, NamedEvent):
        event, at = stored.event, stored.at
    else:
        event, at = stored.topic.rpartition(":")[2], time.time_ns() // 1000
    first = (stored.originator_id, stored.originator_version, stored.topic)
    return (*first, event[:_LONGEST_NAME], at, stored.state)


class DjangoApplicationRecorder(DjangoAggregateRecorder, ApplicationRecorder):
    """A recorder that also numbers events over all streams in the order of insertion.

    Concurrent transactions may commit in another order than that of their numbers, and one that is
    rolled back leaves a gap.
    """

    def insert_events(
        self, stored_events: Sequence[StoredEvent], *, are_ids_wanted: bool = True, **kwargs: Any
    ) -> Sequence[int]:
        """Insert events, all or none.

        Args:
            are_ids_wanted: False: spare the query for ids, and return none.

        Returns:
            Their ids, in the order of the events.

        Raises:
            IntegrityError: one of these versions exists already.
        """
        ids = self._insert(stored_events, are_ids_wanted=are_ids_wanted)
        if stored_events and not ids and are_ids_wanted:
            return self._find_ids(stored_events)
        return ids

    def _find_ids(self, stored: Sequence[StoredEvent]) -> list[int]:
        keys = [(_as_uuid(event.originator_id), event.originator_version) for event in stored]
        rows = self.model.objects.using(self.using).filter(
            originator_id__in={id_ for id_, _ in keys},
            originator_version__in={version for _, version in keys},
        )
        # The two lists also match other pairs, which are sorted out below.
        with mapped_errors:
            ids = {row[:2]: row[2] for row in rows.values_list(*COLUMNS[:2], "id")}
        return [ids[key] for key in keys]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """The events of all streams in the order of their numbers."""
        rows = self.model.objects.using(self.using).order_by("id")
        if start is not None:
            rows = rows.filter(**{"id__gte" if inclusive_of_start else "id__gt": start})
        if stop is not None:
            rows = rows.filter(id__lte=stop)
        if topics:
            rows = rows.filter(topic__in=topics)
        with mapped_errors:
            values = list(rows.values_list(*_READ, "id")[:limit])
        return [
            Notification(id_, version, topic, bytes(state), number)
            for id_, version, topic, state, number in values
        ]

    def max_notification_id(self) -> int | None:
        """The newest event's number, or None without events."""
        rows = self.model.objects.using(self.using).order_by("-id")
        with mapped_errors:
            newest: int | None = rows.values_list("id", flat=True).first()
        return newest

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> Never:
        """Not supported.

        Raises:
            NotSupportedError: always; its text names the alternatives.
        """
        raise NotSupportedError(NO_SUBSCRIPTION)


def _as_uuid(id_: UUID | str) -> UUID:
    return id_ if isinstance(id_, UUID) else UUID(id_)


class DjangoFactory(InfrastructureFactory[TrackingRecorder]):
    """Makes recorders. DJANGO_DATABASE in its environment names a database other than default."""

    @property
    def using(self) -> str:
        """Alias of the database in Django."""
        return self.env.get(ALIAS, "default")

    def aggregate_recorder(self, purpose: str = "events") -> DjangoAggregateRecorder:
        """The recorder of events, or of snapshots for the purpose "snapshots"."""
        model = RecordedSnapshot if purpose == "snapshots" else RecordedEvent
        return DjangoAggregateRecorder(model, self.using)

    def application_recorder(self) -> DjangoApplicationRecorder:
        """The recorder that numbers the events of all streams."""
        return DjangoApplicationRecorder(RecordedEvent, self.using)

    def tracking_recorder(self, tracking_recorder_class: object = None) -> Never:
        """Not supported."""
        raise NotSupportedError(NO_TRACKING)

    def process_recorder(self) -> Never:
        """Not supported."""
        raise NotSupportedError(NO_TRACKING)
