"""Archives: old events move from the database into files; rows go only after the file is synced.

A file is gzipped JSON lines, of which the first describes the stream. Its name contains the
subject, the start of its audit log, and the first and last version:
`ada-1f0c3b9a-20261121T120000000000-00000001-00005000.jsonl.gz`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from eventsourcing.application import Application
from eventsourcing.domain import datetime_now_with_tzinfo
from eventsourcing.persistence import Mapper

from evennia_ai.audit.aggregates import Audited
from evennia_ai.audit.events import Subject, as_micros, as_moment, details_of
from evennia_ai.core.settings.services import AuditConfig
from evennia_ai.models import RecordedEvent, RecordedSnapshot

STEP = 500  # events read, written or deleted at once, so that the game's thread is not held long
SNAPSHOT_EVERY = 100  # versions
DAY_SECONDS = 86_400
FORMAT = 1  # version of the file format
PART = ".part"
_NAME = re.compile(r"-(\d{8,})-(\d{8,})\.jsonl\.gz\Z")
_SLUG = re.compile(r"[^a-z0-9]+")
Steps = Generator[None, None, "Archived"]


class ArchivedError(KeyError):
    """The requested version is in an archive. The text names the file."""

    # KeyError would show the quoted `repr` of the text.
    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Archived:
    """The result of archiving.

    Attributes:
        path: the file; None: there was nothing to move.
    """

    path: Path | None
    events: int


def policy() -> AuditConfig:
    """The game's retention policy of audit logs.

    Raises:
        ConfigurationError: the setting is wrong; the text names the path.
    """
    return AuditConfig.from_settings(settings)


def folder_of(config: AuditConfig) -> Path:
    """The folder of the archives."""
    return Path(settings.GAME_DIR) / config.archive_folder


def rows_of(id_: UUID) -> QuerySet[RecordedEvent]:
    """The events of a stream that are in the database."""
    rows: QuerySet[RecordedEvent] = RecordedEvent.objects.filter(originator_id=id_)
    return rows


def slug_of(name: object) -> str:
    """A name in a-z and 0-9 only, since the file may be copied to any file system."""
    return _SLUG.sub("-", str(name).casefold()).strip("-")[:40] or "assistant"


def _stem(subject: Subject) -> str:
    # The id keeps the files of two names apart that become the same slug.
    return f"{slug_of(subject.name)}-{subject.id.hex[:8]}"


def file_of(folder: Path, subject: Subject, begun: str, first: int, last: int) -> Path:
    """The path of the archive of some versions.

    Args:
        begun: start of the audit log, which tells it from an earlier one of the same name.
    """
    return folder / f"{_stem(subject)}-{begun}-{first:08}-{last:08}.jsonl.gz"


def files_of(folder: Path, subject: Subject, begun: str = "") -> list[tuple[int, int, Path]]:
    """The archives of an audit log, oldest first: first version, last version and path.

    Args:
        begun: start of the audit log; "": also those of earlier logs of the same name, before it.
    """
    begin = f"{_stem(subject)}-{begun}"
    paths = [path for path in folder.glob("*.jsonl.gz") if path.name.startswith(begin)]
    matches = [(match, path) for path in paths if (match := _NAME.search(path.name))]
    # Each log begins with version 1, so its start counts before the versions.
    ordered = sorted(
        (path.name[: match.start()], int(match[1]), int(match[2]), path) for match, path in matches
    )
    return [(first, last, path) for _, first, last, path in ordered]


def archived_text(subject: Subject, version: int) -> str:
    """The error text for an archived version; it names the file."""
    folder = folder_of(policy())
    for first, last, path in reversed(files_of(folder, subject)):
        if first <= version <= last:
            return f"version {version} of {subject.name} is archived: {path}"
    return (
        f"version {version} of {subject.name} is archived, and no file in {folder} has it any more"
    )


# ---- writing -----------------------------------------------------------------------------------


def exporting(subject: Subject, mapper: Mapper[UUID], stream: TextIO, step: int) -> Iterator[int]:
    """Write all events in the database as JSON lines; yield the number written in each step."""
    return map(len, _write(subject, mapper, stream, *_version_range(subject.id), step))


def _version_range(id_: UUID) -> tuple[int, int]:
    """The oldest and the newest version in the database; 1 and 0 if there is none."""
    versions = rows_of(id_).values_list("originator_version", flat=True)
    newest = versions.order_by("-originator_version").first()
    return (versions.order_by("originator_version").first(), newest) if newest else (1, 0)


def oldest_of(id_: UUID) -> int:
    """The oldest version in the database."""
    return _version_range(id_)[0]


def _write(
    subject: Subject, mapper: Mapper[UUID], stream: TextIO, first: int, last: int, step: int = STEP
) -> Iterator[list[RecordedEvent]]:
    """Write the first line and the events, yielding after every `step` of them."""
    head: dict[str, Any] = {"format": FORMAT, "assistant": subject.name, "stream": str(subject.id)}
    head |= {"first": first, "last": last, "state_before": _state_at(subject.id, first - 1)}
    stream.write(json.dumps(head, ensure_ascii=False) + "\n")
    done = first - 1
    while done < last:
        some = rows_of(subject.id).filter(originator_version__gt=done, originator_version__lte=last)
        rows = list(some.order_by("originator_version")[:step])
        if not rows:
            return
        stream.writelines(_line(mapper, row) for row in rows)
        done = rows[-1].originator_version
        yield rows


def _state_at(id_: UUID, version: int) -> Any:
    """The snapshot at a version, without which later events cannot be applied; None: no such."""
    snapshot = RecordedSnapshot.objects.filter(
        originator_id=id_, originator_version=version
    ).first()
    return json.loads(bytes(snapshot.state)).get("state") if snapshot else None


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


def _write_file(
    subject: Subject, mapper: Mapper[UUID], path: Path, first: int, last: int
) -> Iterator[int]:
    """Write an archive, yielding the number of events after each step."""
    with whole_file(path) as file, gzip.open(file, "wt", encoding="utf-8") as stream:
        for rows in _write(subject, mapper, stream, first, last):
            yield len(rows)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for its owner only, which gets its name once all of it is on the disk."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}{PART}")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    # The folder's entry of the file too; some platforms cannot open a folder.
    with suppress(OSError):
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---- moving ------------------------------------------------------------------------------------


def archive(
    subject: Subject, app: Application[UUID], config: AuditConfig | None = None
) -> Archived:
    """Archive all events that the policy does not keep, at once."""
    steps = steps_of(subject, app, config)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            moved: Archived = end.value
            return moved


def steps_of(subject: Subject, app: Application[UUID], config: AuditConfig | None = None) -> Steps:
    """Archive as `archive` does, yielding between small steps."""
    config = config or policy()
    folder = folder_of(config)
    first, newest = _version_range(subject.id)
    last = _last_to_archive(subject.id, config, newest)
    if last < first:
        return Archived(None, 0)
    log_start = _start_of_log(app, subject.id, last)
    # An interrupted run may have written a file but not deleted all its rows; it is finished first.
    for begin, end, _ in files_of(folder, subject, log_start):
        if begin <= first <= end <= last:
            last, oldest = end, begin
            break
    else:
        oldest = first
    path = file_of(folder, subject, log_start, oldest, last)
    if oldest == first:
        for _ in _write_file(subject, app.mapper, path, first, last):
            yield
    # Before anything is deleted: the remaining events can only be applied to this snapshot.
    snapshots = RecordedSnapshot.objects.filter(originator_id=subject.id)
    if not snapshots.filter(originator_version=last).exists():
        app.take_snapshot(subject.id, version=last)
    moved = 0
    while done := _delete_some(subject.id, last):
        moved += done
        yield
    snapshots.filter(originator_version__lt=last).delete()
    _prune(folder, subject, config)
    return Archived(path, moved)


def _last_to_archive(id_: UUID, config: AuditConfig, newest: int) -> int:
    """The last version to archive, which has a snapshot; the newest version always stays."""
    last = newest - config.keep_events if config.keep_events else 0
    if config.keep_days:
        moment = datetime_now_with_tzinfo() - timedelta(days=config.keep_days)
        old = rows_of(id_).filter(at__lt=as_micros(moment)).order_by("-at", "-originator_version")
        last = max(last, old.values_list("originator_version", flat=True).first() or 0)
    last = min(last, newest - 1)
    # Rounded down to a version with a snapshot, from which the rest can be read.
    return last - last % SNAPSHOT_EVERY


def _start_of_log(app: Application[UUID], id_: UUID, version: int) -> str:
    try:
        aggregate: Audited = app.repository.get(id_, version=version)
        start = aggregate.created_on
    # An unreadable log can still be archived, under a name that no other file has.
    except Exception:
        start = datetime_now_with_tzinfo()
    return str(start.strftime("%Y%m%dT%H%M%S%f"))


def _delete_some(id_: UUID, last: int) -> int:
    """Delete at most STEP of the oldest events; return their number."""
    # By version, because Django cannot delete a sliced query set.
    versions = rows_of(id_).filter(originator_version__lte=last).order_by("originator_version")
    some = list(versions.values_list("originator_version", flat=True)[:STEP])
    if some:
        rows_of(id_).filter(originator_version__lte=some[-1]).delete()
    return len(some)


def _prune(folder: Path, subject: Subject, config: AuditConfig) -> None:
    """Delete partial files, and the oldest archives if the policy limits their number."""
    yesterday = datetime_now_with_tzinfo().timestamp() - DAY_SECONDS
    for part in folder.glob(f"{_stem(subject)}-*{PART}"):
        with suppress(OSError):
            # Another process may still be writing a younger one.
            if part.stat().st_mtime < yesterday:
                part.unlink()
    if config.keep_archives:
        for _, _, path in files_of(folder, subject)[: -config.keep_archives]:
            path.unlink(missing_ok=True)


def flush(subject: Subject, app: Application[UUID], path: Path) -> None:
    """Export an audit log as a whole, then delete it.

    Call it in the transaction that deletes the assistant.
    """
    for _ in _write_file(subject, app.mapper, path, *_version_range(subject.id)):
        pass
    with transaction.atomic():
        rows_of(subject.id).delete()
        RecordedSnapshot.objects.filter(originator_id=subject.id).delete()


def path_for_all(subject: Subject, app: Application[UUID]) -> Path:
    """The path of the archive of a whole audit log, to which one more event will be added."""
    first, last = _version_range(subject.id)
    log_start = _start_of_log(app, subject.id, last)
    return file_of(folder_of(policy()), subject, log_start, first, last + 1)
