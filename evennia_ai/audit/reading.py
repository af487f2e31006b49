"""Reading the record: what happened, and what an assistant was like at any version.

Nothing here takes longer for a longer record: what is read is found by its index and is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO
from uuid import UUID

from django.db.models import QuerySet
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.persistence import InfrastructureFactory, Mapper, Transcoder
from eventsourcing.utils import Environment, EnvType

from evennia_ai import models
from evennia_ai.audit import archive
from evennia_ai.audit.archive import Archived, ArchivedError
from evennia_ai.audit.events import PlainTranscoder, RecordMapper, as_micros, as_moment, details_of
from evennia_ai.audit.recorder import DjangoFactory
from evennia_ai.audit.streams import Subject, subject_of
from evennia_ai.core.safety.audit_events import sentence_of
from evennia_ai.core.settings.services import AuditConfig
from evennia_ai.core.typed_objects import Script
from evennia_ai.models import RecordedEvent, RecordedSnapshot

MOST_READ = 1_000


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One event, for people.

    Attributes:
        version: its number in the record.
        at: when, in UTC.
        text: the event in words.
    """

    version: int
    at: datetime
    event: str
    details: dict[str, Any]
    text: str


class AssistantApplication(Application[UUID]):
    """The record of every assistant and of the game.

    A `key` is an assistant's name, its script, or "game".
    """

    name = "evennia_ai"
    is_snapshotting_enabled = True

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """The library's environment; the process's own variables do not count here."""
        return Environment(name, {"IS_SNAPSHOTTING_ENABLED": "y", **(env or {})})

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        """The game's own database."""
        return DjangoFactory(env)

    def construct_transcoder(self) -> Transcoder:
        """Plain JSON."""
        return PlainTranscoder()

    def construct_mapper(self) -> Mapper[UUID]:
        """Events under topics that last."""
        return RecordMapper(transcoder=self.construct_transcoder())

    def version(self, key: Script | str) -> int:
        """The newest version.

        Raises:
            KeyError: there is no such record.
        """
        whom = _known(key)
        newest = archive.rows_of(whom.id).order_by("-originator_version")
        found: int | None = newest.values_list("originator_version", flat=True).first()
        if found is None:
            raise KeyError(f"there is no record of {whom.name}")
        return found

    def count(self, key: Script | str) -> int:
        """Number of events, archived ones included; 0: there is no audit log."""
        try:
            return self.version(key)
        except KeyError:
            return 0

    def oldest(self, key: Script | str) -> int:
        """The oldest version that the database has; 1 also where there is none."""
        return archive.oldest_of(_known(key).id)

    def at(self, key: Script | str, version: int) -> Any:
        """The state of an assistant (an AssistantAggregate) or of the game at a version.

        Raises:
            ArchivedError: it is in an archive, which the text names. This is a KeyError too.
            KeyError: there is no such version.
        """
        whom, newest = _known(key), self.version(key)
        if not 1 <= version <= newest:
            raise KeyError(f"{whom.name} has no version {version}; it has 1 to {newest}")
        # What was archived left its last state behind.
        if version < archive.oldest_of(whom.id) - 1:
            raise ArchivedError(archive.told_where(whom, version))
        return self.repository.get(whom.id, version=version)

    def newest(self, key: Script | str) -> Any:
        """The present state of an assistant or of the game.

        Raises:
            KeyError: there is no such record.
        """
        whom = _known(key)
        try:
            return self.repository.get(whom.id)
        except AggregateNotFoundError:
            raise KeyError(f"there is no record of {whom.name}") from None

    def version_at(self, key: Script | str, moment: datetime) -> int:
        """The version that held at a moment.

        Args:
            moment: with a time zone.

        Raises:
            ArchivedError: it is in an archive. This is a KeyError too.
            KeyError: there was none yet.
        """
        whom = _known(key)
        before = archive.rows_of(whom.id).filter(at__lte=as_micros(moment))
        before = before.order_by("-at", "-originator_version")
        found: int | None = before.values_list("originator_version", flat=True).first()
        if found is None:
            oldest = archive.oldest_of(whom.id)
            if oldest > 1:
                raise ArchivedError(archive.told_where(whom, oldest - 1))
            raise KeyError(f"there is no record of {whom.name} at {moment.isoformat()}")
        return found

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
        """Events, the newest first.

        Args:
            before: only versions below this one.
            limit: at most so many, and never more than MOST_READ.
            events: only of these names; () is all.
            since: only what was then or later, with a time zone.
            until: only what was before.
        """
        rows, most = archive.rows_of(_known(key).id), max(0, min(limit, MOST_READ))
        if before is not None:
            rows = rows.filter(originator_version__lt=before)
        if since is not None:
            rows = rows.filter(at__gte=as_micros(since))
        if until is not None:
            rows = rows.filter(at__lt=as_micros(until))
        # One name at a time: several at once would be sorted whole before any is left out.
        names = dict.fromkeys(events)
        kinds = [rows.filter(event=name) for name in names] or [rows]
        found = [row for kind in kinds for row in _newest(kind, most)]
        entries = [_entry(*row) for row in found]
        return sorted(entries, key=lambda entry: -entry.version)[:most]

    def export(self, key: Script | str, stream: TextIO) -> int:
        """Write all that the database has of a record as lines of JSON. Returns how many events."""
        return archive.export(_known(key), self.mapper, stream)

    def exporting(self, key: Script | str, stream: TextIO, step: int) -> Iterator[int]:
        """Do the same, so many events at a time; gives how many each."""
        return archive.exporting(_known(key), self.mapper, stream, step)

    def archive(
        self, key: Script | str, config: AuditConfig | None = None, *, folder: Path | None = None
    ) -> Archived:
        """Move what is older than the policy says out of the database, into one file.

        Args:
            config: the policy; None: the game's.
            folder: where to; None: as the policy says.
        """
        return archive.archive(_known(key), self, config, folder)


def _known(key: Script | str) -> Subject:
    found = subject_of(key) or subject_of(str(getattr(key, "key", key)))
    assert found is not None
    return found


def _newest(rows: QuerySet[RecordedEvent], most: int) -> list[Any]:
    columns = ("originator_version", "at", "event", "state")
    return list(rows.order_by("-originator_version").values_list(*columns)[:most])


def _entry(version: int, at: int, event: str, state: bytes) -> AuditEntry:
    details = details_of(json.loads(bytes(state)))
    return AuditEntry(version, as_moment(at), event, details, sentence_of(event, details))


def missing_tables() -> list[str]:
    """The tables of the record that the game's database has not."""
    return models.missing_tables(RecordedEvent, RecordedSnapshot)


@lru_cache(maxsize=1)
def application() -> AssistantApplication:
    """The record of this game."""
    return AssistantApplication()
