"""Old events out of the database, into files: nothing is deleted before its file is on the disk.

A file is gzipped lines of JSON, the first of which tells whose events they are. Its name holds
whose record it is, when that began, and which versions are in it:
`ada-1f0c3b9a-20261121T120000000000-00000001-00005000.jsonl.gz`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from eventsourcing.application import Application
from eventsourcing.domain import datetime_now_with_tzinfo
from eventsourcing.persistence import Mapper

from evennia_ai.audit.aggregates import Audited
from evennia_ai.audit.events import as_micros, as_moment, details_of
from evennia_ai.audit.streams import Subject
from evennia_ai.core.settings.services import AuditConfig
from evennia_ai.models import RecordedEvent, RecordedSnapshot

STEP = 500  # events that are read, written or deleted at once
SNAPSHOT_EVERY = 100
DAY_SECONDS = 86_400
FORMAT = 1
PART = ".part"
_NAME = re.compile(r"-(\d{8,})-(\d{8,})\.jsonl\.gz\Z")
_SLUG = re.compile(r"[^a-z0-9]+")
Steps = Generator[None, None, "Archived"]


class ArchivedError(KeyError):
    """An error: the version asked for is in an archive. The text names the file."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Archived:
    """The result of archiving.

    Attributes:
        path: the file; None: there was nothing to move.
        events: how many.
    """

    path: Path | None
    events: int


def policy() -> AuditConfig:
    """The game's policy of how long audit logs are kept.

    Raises:
        ConfigurationError: something in the setting is wrong; the text names the path.
    """
    return AuditConfig.from_stored(getattr(settings, AuditConfig.NAME, {}))


def folder_of(config: AuditConfig) -> Path:
    """The folder of the archives."""
    return Path(settings.GAME_DIR) / config.archive_folder


def rows_of(id_: UUID) -> QuerySet[RecordedEvent]:
    """The events of a stream that the database has."""
    rows: QuerySet[RecordedEvent] = RecordedEvent.objects.filter(originator_id=id_)
    return rows


def _stem(whom: Subject) -> str:
    slug = _SLUG.sub("-", whom.name.casefold()).strip("-")[:40] or "assistant"
    return f"{slug}-{whom.id.hex[:8]}"


def file_of(folder: Path, whom: Subject, begun: str, first: int, last: int) -> Path:
    """The file of some versions.

    Args:
        begun: what tells this record from an earlier one of the same name.
    """
    return folder / f"{_stem(whom)}-{begun}-{first:08}-{last:08}.jsonl.gz"


def files_of(folder: Path, whom: Subject, begun: str = "") -> list[tuple[int, int, Path]]:
    """The archives of a record: first and last version and the file, the oldest first."""
    begin = f"{_stem(whom)}-{begun}"
    found = [path for path in folder.glob("*.jsonl.gz") if path.name.startswith(begin)]
    matches = [(match, path) for path in found if (match := _NAME.search(path.name))]
    return sorted((int(match[1]), int(match[2]), path) for match, path in matches)


def told_where(whom: Subject, version: int) -> str:
    """The place of a version that has left the database."""
    folder = folder_of(policy())
    for first, last, path in reversed(files_of(folder, whom)):
        if first <= version <= last:
            return f"version {version} of {whom.name} is archived: {path}"
    return f"version {version} of {whom.name} is archived, and no file in {folder} has it any more"


# ---- writing -----------------------------------------------------------------------------------


def export(whom: Subject, mapper: Mapper[UUID], stream: TextIO) -> int:
    """Write all that the database has of a record. Returns how many events that is."""
    return sum(exporting(whom, mapper, stream, STEP))


def exporting(whom: Subject, mapper: Mapper[UUID], stream: TextIO, step: int) -> Iterator[int]:
    """Do the same, so many events at a time; gives how many each."""
    return map(len, _write(whom, mapper, stream, *_ends(whom.id), step))


def _ends(id_: UUID) -> tuple[int, int]:
    """The oldest and the newest version that the database has; 1 and 0 if there is none."""
    versions = rows_of(id_).values_list("originator_version", flat=True)
    newest = versions.order_by("-originator_version").first()
    return (versions.order_by("originator_version").first(), newest) if newest else (1, 0)


def oldest_of(id_: UUID) -> int:
    """The oldest version that the database has."""
    return _ends(id_)[0]


def _write(
    whom: Subject, mapper: Mapper[UUID], stream: TextIO, first: int, last: int, step: int = STEP
) -> Iterator[list[RecordedEvent]]:
    """Write a first line and the events, so many of them at a time."""
    head: dict[str, Any] = {"format": FORMAT, "assistant": whom.name, "stream": str(whom.id)}
    head |= {"first": first, "last": last, "state_before": _state_at(whom.id, first - 1)}
    stream.write(json.dumps(head, ensure_ascii=False) + "\n")
    done = first - 1
    while done < last:
        some = rows_of(whom.id).filter(originator_version__gt=done, originator_version__lte=last)
        rows = list(some.order_by("originator_version")[:step])
        if not rows:
            return
        stream.writelines(_line(mapper, row) for row in rows)
        done = rows[-1].originator_version
        yield rows


def _state_at(id_: UUID, version: int) -> Any:
    """The snapshot from which the first event goes on; None: it is the very first."""
    found = RecordedSnapshot.objects.filter(originator_id=id_, originator_version=version).first()
    return json.loads(bytes(found.state)).get("state") if found else None


def _line(mapper: Mapper[UUID], row: RecordedEvent) -> str:
    state = mapper.transcoder.decode(bytes(row.state))
    line = {
        "version": row.originator_version,
        "at": as_moment(row.at).isoformat(),
        "event": row.event,
        "topic": row.topic,
        "details": details_of(state),
    }
    return json.dumps(line, ensure_ascii=False) + "\n"


def _saved(whom: Subject, mapper: Mapper[UUID], path: Path, first: int, last: int) -> Iterator[int]:
    """Write a file that is there whole or not at all, some events at a time."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}{PART}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        with gzip.open(file, "wt", encoding="utf-8") as stream:
            for rows in _write(whom, mapper, stream, first, last):
                yield len(rows)
        # Its rows are deleted next: it has to be on the disk and not in a cache.
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Let the folder know its new file for good, where the system has a way to."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---- moving ------------------------------------------------------------------------------------


def archive(
    whom: Subject,
    app: Application[UUID],
    config: AuditConfig | None = None,
    folder: Path | None = None,
) -> Archived:
    """Move what the policy does not keep, all of it now."""
    steps = steps_of(whom, app, config, folder)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            moved: Archived = end.value
            return moved


def steps_of(
    whom: Subject,
    app: Application[UUID],
    config: AuditConfig | None = None,
    folder: Path | None = None,
) -> Steps:
    """The same in small steps, with a pause between them for whatever else there is to do."""
    config = config or policy()
    folder = folder or folder_of(config)
    first, newest = _ends(whom.id)
    last = _cut(whom.id, config, newest)
    if last < first:
        return Archived(None, 0)
    begun = _begun(app, whom.id, last)
    # One that was broken off before all was deleted that it holds: that is finished first.
    for begin, end, _ in files_of(folder, whom, begun):
        if begin <= first <= end <= last:
            last, oldest = end, begin
            break
    else:
        oldest = first
    path = file_of(folder, whom, begun, oldest, last)
    if oldest == first:
        for _ in _saved(whom, app.mapper, path, first, last):
            yield
    # Before anything is deleted, as all that stays is read on from this snapshot.
    _keep_state(app, whom.id, last)
    moved = 0
    while done := _delete_some(whom.id, last):
        moved += done
        yield
    RecordedSnapshot.objects.filter(originator_id=whom.id, originator_version__lt=last).delete()
    _prune(folder, whom, config)
    return Archived(path, moved)


def _cut(id_: UUID, config: AuditConfig, newest: int) -> int:
    """The last version that may go, at a snapshot; the newest always stays."""
    last = newest - config.keep_events if config.keep_events else 0
    if config.keep_days:
        moment = datetime_now_with_tzinfo() - timedelta(days=config.keep_days)
        old = rows_of(id_).filter(at__lt=as_micros(moment)).order_by("-at", "-originator_version")
        last = max(last, old.values_list("originator_version", flat=True).first() or 0)
    last = min(last, newest - 1)
    # What stays is read from a snapshot on, and snapshots are taken at these versions.
    return last - last % SNAPSHOT_EVERY


def _begun(app: Application[UUID], id_: UUID, version: int) -> str:
    try:
        aggregate: Audited = app.repository.get(id_, version=version)
        begun = aggregate.created_on
    except Exception:  # what cannot be read any more can still be put away, under a name of its own
        begun = datetime_now_with_tzinfo()
    return str(begun.strftime("%Y%m%dT%H%M%S%f"))


def _keep_state(app: Application[UUID], id_: UUID, version: int) -> None:
    """Make sure of the snapshot from which all that stays goes on."""
    have = RecordedSnapshot.objects.filter(originator_id=id_, originator_version=version)
    if not have.exists():
        app.take_snapshot(id_, version=version)


def _delete_some(id_: UUID, last: int) -> int:
    """Delete the oldest events, STEP at most. Returns how many."""
    versions = rows_of(id_).filter(originator_version__lte=last).order_by("originator_version")
    some = list(versions.values_list("originator_version", flat=True)[:STEP])
    if some:
        rows_of(id_).filter(originator_version__lte=some[-1]).delete()
    return len(some)


def _prune(folder: Path, whom: Subject, config: AuditConfig) -> None:
    """Delete what was broken off, and the oldest archives where the policy keeps only some."""
    yesterday = datetime_now_with_tzinfo().timestamp() - DAY_SECONDS
    for part in folder.glob(f"{_stem(whom)}-*{PART}"):
        with suppress(OSError):
            # A younger one may be another process's, which is still writing it.
            if part.stat().st_mtime < yesterday:
                part.unlink()
    if config.keep_archives:
        for _, _, path in files_of(folder, whom)[: -config.keep_archives]:
            path.unlink(missing_ok=True)


def put_away(whom: Subject, app: Application[UUID], path: Path) -> int:
    """Export all that is left of a record, then delete it. Returns how many events that was.

    It belongs in a transaction with whatever else ends the assistant.
    """
    first, last = _ends(whom.id)
    count = sum(_saved(whom, app.mapper, path, first, last))
    with transaction.atomic():
        rows_of(whom.id).delete()
        RecordedSnapshot.objects.filter(originator_id=whom.id).delete()
    return count


def path_for_all(whom: Subject, app: Application[UUID], folder: Path | None, more: int) -> Path:
    """The file for all that is left of a record.

    Args:
        more: events that are still to be written before.
    """
    first, last = _ends(whom.id)
    begun = _begun(app, whom.id, last)
    return file_of(folder or folder_of(policy()), whom, begun, first, last + more)
