"""Reading the audit log: its events, and the state of an assistant at any version.

The time of a query does not grow with the log: each is bounded and uses an index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, TextIO
from uuid import UUID

from django.db.models import QuerySet
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.persistence import InfrastructureFactory, Mapper, Transcoder
from eventsourcing.utils import Environment, EnvType

from evennia_ai import models
from evennia_ai.audit import archive
from evennia_ai.audit.archive import Archived, ArchivedError
from evennia_ai.audit.events import (
    PlainTranscoder,
    RecordMapper,
    Subject,
    as_micros,
    as_moment,
    details_of,
    subject_of,
)
from evennia_ai.audit.recorder import DjangoFactory
from evennia_ai.core.safety.audit_events import sentence_of
from evennia_ai.core.settings.services import AuditConfig
from evennia_ai.core.typed_objects import Script
from evennia_ai.models import RecordedEvent, RecordedSnapshot

MOST_READ = 1_000


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One event, for people.

    Attributes:
        at: time in UTC.
    """

    version: int
    at: datetime
    event: str
    details: dict[str, Any]
    text: str


class AssistantApplication(Application[UUID]):
    """The audit logs of all assistants and of the game.

    A `key` is an assistant's name or script, or "game"; without an audit log it is a KeyError.
    """

    name = "evennia_ai"
    is_snapshotting_enabled = True

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """The library's settings, without those in the process's environment."""
        return Environment(name, {"IS_SNAPSHOTTING_ENABLED": "y", **(env or {})})

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        """A factory of recorders on the game's database."""
        return DjangoFactory(env)

    def construct_transcoder(self) -> Transcoder:
        """The transcoder to plain JSON."""
        return PlainTranscoder()

    def construct_mapper(self) -> Mapper[UUID]:
        """The mapper of permanent topics."""
        return RecordMapper(transcoder=self.construct_transcoder())

    def version(self, key: Script | str) -> int:
        """The newest version."""
        subject = _known(key)
        newest = archive.rows_of(subject.id).order_by("-originator_version")
        version: int | None = newest.values_list("originator_version", flat=True).first()
        if version is None:
            raise KeyError(f"there is no record of {subject.name}")
        return version

    def count(self, key: Script | str) -> int:
        """The number of events, including archived ones; 0 without an audit log."""
        try:
            return self.version(key)
        except KeyError:
            return 0

    def oldest(self, key: Script | str) -> int:
        """The oldest version in the database; 1 if there is none."""
        return archive.oldest_of(_known(key).id)

    def at(self, key: Script | str, version: int) -> Any:
        """The state of an assistant (an AssistantAggregate) or of the game at a version.

        Raises:
            ArchivedError: it is in an archive, which the text names. A subclass of KeyError.
            KeyError: there is no such version.
        """
        subject, newest = _known(key), self.version(key)
        if not 1 <= version <= newest:
            raise KeyError(f"{subject.name} has no version {version}; it has 1 to {newest}")
        # "- 1": the snapshot at the last archived version stays in the database.
        if version < archive.oldest_of(subject.id) - 1:
            raise ArchivedError(archive.archived_text(subject, version))
        return self.repository.get(subject.id, version=version)

    def newest(self, key: Script | str) -> Any:
        """The present state of an assistant or of the game."""
        subject = _known(key)
        try:
            return self.repository.get(subject.id)
        except AggregateNotFoundError:
            raise KeyError(f"there is no record of {subject.name}") from None

    def version_at(self, key: Script | str, moment: datetime) -> int:
        """The version at a moment.

        Args:
            moment: with a time zone.

        Raises:
            ArchivedError: it is in an archive. A subclass of KeyError.
            KeyError: the log begins later.
        """
        subject = _known(key)
        before = archive.rows_of(subject.id).filter(at__lte=as_micros(moment))
        before = before.order_by("-at", "-originator_version")
        version: int | None = before.values_list("originator_version", flat=True).first()
        if version is None:
            oldest = archive.oldest_of(subject.id)
            if oldest > 1:
                raise ArchivedError(archive.archived_text(subject, oldest - 1))
            raise KeyError(f"there is no record of {subject.name} at {moment.isoformat()}")
        return version

    def page(
        self,
        key: Script | str,
        *,
        before: int | None = None,
        limit: int = 25,
        events: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[AuditEntry]:
        """Events, newest first.

        Args:
            before: only versions below this one.
            limit: the most events, bounded by MOST_READ.
            since: only events at this time or later, with a time zone.
            until: only events before this time, with a time zone.
        """
        rows, most = archive.rows_of(_known(key).id), max(0, min(limit, MOST_READ))
        if before is not None:
            rows = rows.filter(originator_version__lt=before)
        if since is not None:
            rows = rows.filter(at__gte=as_micros(since))
        if until is not None:
            rows = rows.filter(at__lt=as_micros(until))
        # One query per name: for "event IN (...)" the database sorts all matches before the limit.
        names = dict.fromkeys(events)
        kinds = [rows.filter(event=name) for name in names] or [rows]
        newest = [row for kind in kinds for row in _newest(kind, most)]
        entries = [_entry(*row) for row in newest]
        return sorted(entries, key=lambda entry: -entry.version)[:most]

    def export(self, key: Script | str, stream: TextIO) -> int:
        """Write all events in the database as JSON lines; return their number."""
        return sum(self.exporting(key, stream, archive.STEP))

    def exporting(self, key: Script | str, stream: TextIO, step: int) -> Iterator[int]:
        """Write all events as `export` does, `step` at a time; yield the number each time."""
        return archive.exporting(_known(key), self.mapper, stream, step)

    def archive(self, key: Script | str, config: AuditConfig | None = None) -> Archived:
        """Move the events that the policy does not keep from the database into a file.

        Args:
            config: the policy; None: the game's.
        """
        return archive.archive(_known(key), self, config)


def _known(key: Script | str) -> Subject:
    # A script that is not stored has no subject, but its name has one.
    subject = subject_of(key) or subject_of(str(getattr(key, "key", key)))
    assert subject is not None
    return subject


def _newest(rows: QuerySet[RecordedEvent], most: int) -> list[Any]:
    columns = ("originator_version", "at", "event", "state")
    return list(rows.order_by("-originator_version").values_list(*columns)[:most])


def _entry(version: int, at: int, event: str, state: bytes) -> AuditEntry:
    details = details_of(json.loads(bytes(state)))
    return AuditEntry(version, as_moment(at), event, details, sentence_of(event, details))


def missing_tables() -> list[str]:
    """The audit log's tables that are missing in the game's database."""
    return models.missing_tables(RecordedEvent, RecordedSnapshot)


@lru_cache(maxsize=1)
def application() -> AssistantApplication:
    """This process's reader of the audit logs."""
    return AssistantApplication()
