"""The audit log: an append-only record of what assistants, and the game, did.

Each server process has one `AuditWriter`. An event about a change to stored state is written in the
transaction of that change; any other event waits for the next write, or a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.db import transaction
from evennia.utils import logger
from twisted.internet import reactor
from twisted.python import threadable

from evennia_ai.audit import archive
from evennia_ai.audit.acting import LISTENERS, MARK, acting, actor, signed
from evennia_ai.audit.aggregates import AssistantAggregate
from evennia_ai.audit.archive import ArchivedError
from evennia_ai.audit.events import GAME, name_of, subject_of
from evennia_ai.audit.reading import AssistantApplication, AuditEntry, application, missing_tables
from evennia_ai.audit.writer import AuditWriter, RecordConflictError
from evennia_ai.audit.writes import PendingEvent, now
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.core.typed_objects import Script
from evennia_ai.models import RecordedEvent
from evennia_ai.models.statements import exists

__all__ = [
    "GAME",
    "LISTENERS",
    "MARK",
    "ArchivedError",
    "AssistantAggregate",
    "AssistantApplication",
    "AuditEntry",
    "AuditWriter",
    "RecordConflictError",
    "acting",
    "actor",
    "application",
    "begun_among",
    "check_settings",
    "close",
    "current_writer",
    "flush",
    "has_waiting",
    "is_begun",
    "keep",
    "missing_tables",
    "of",
    "record",
    "start_anew",
]


def _later(seconds: float, call: Callable[[], None]) -> object:
    """Schedule a call in the reactor's thread, from any thread."""
    # None: the reactor is not running yet, and will run in this thread.
    if threadable.ioThread in (None, threadable.getThreadID()):
        return reactor.callLater(seconds, call)
    # Only the reactor's thread may create a timer, so the caller gets none to cancel.
    reactor.callFromThread(reactor.callLater, seconds, call)
    return None


@lru_cache(maxsize=1)
def current_writer() -> AuditWriter:
    """This server process's writer; it is flushed when the reactor shuts down."""
    writer = AuditWriter(_later)
    reactor.addSystemEventTrigger("before", "shutdown", writer.stop)
    return writer


def record(event: str, subject: Script | str, **details: Any) -> None:
    """Record an event that is not part of a change to stored state.

    The game's log and LISTENERS get it at once; it is stored with the subject's next write, or
    within a second.

    Args:
        event: its name, such as `hushed`; `core.safety.audit_events` lists ours.
        subject: the assistant's script, or "game". For a name alone, the event is stored only if
            that assistant has an audit log.
        details: plain data.
    """
    target = subject_of(subject)
    if target is None:
        _tell(subject, [audit_event(event, **details)])
    else:
        current_writer().record(target, audit_event(event, **details))


def save(script: Script | str, events: Iterable[AuditEvent] = ()) -> None:
    """Store events, and those that wait, in the caller's transaction.

    The game's log and LISTENERS get them after the commit, or at once in a Django TestCase, which
    never commits.

    Raises:
        RecordConflictError: another process has written to this audit log meanwhile; the caller
            must repeat the whole transaction with the same events.
    """
    target = subject_of(script)
    if target is None:
        _tell(script, events)
    else:
        current_writer().save(target, events)


def _tell(subject: Script | str, events: Iterable[AuditEvent]) -> None:
    for each in events:
        PendingEvent.of(signed(each), now(), is_logged=actor().is_logged).tell(name_of(subject))


def has_waiting(script: Script | str) -> bool:
    """True if events of the subject wait to be stored. Queries no database."""
    target = subject_of(script)
    return target is not None and current_writer().has_waiting(target)


def flush() -> None:
    """Store all waiting events."""
    current_writer().flush()


def start_anew() -> None:
    """Drop this process's unwritten events and cached state, for tests."""
    if current_writer.cache_info().currsize:
        current_writer().drop()


def is_begun(script: Script | str) -> bool:
    """True if an assistant has an audit log, or cannot have one."""
    target = subject_of(script)
    return (
        target is None
        or not current_writer().has_tables()
        or exists(RecordedEvent, originator_id=target.id)
    )


def begun_among(scripts: Iterable[Script]) -> set[int]:
    """Ids of those whose audit log has its first event. An archived log may lack it."""
    if not current_writer().has_tables():
        return set()
    targets = {target.id: each.id for each in scripts if (target := subject_of(each)) is not None}
    events = RecordedEvent.objects.filter(originator_id__in=targets, originator_version=1)
    return {targets[originator] for originator in events.values_list("originator_id", flat=True)}


def of(script: Script | str) -> Any:
    """The state of an assistant (an AssistantAggregate) or of the game, from its audit log.

    Raises:
        KeyError: it has no audit log.
    """
    if (target := subject_of(script)) is not None and current_writer().has_tables():
        current_writer().flush_one(target)
        return application().newest(script)
    raise KeyError(f"there is no record of {name_of(script)}")


def check_settings() -> None:
    """Validate the retention policy of audit logs.

    Raises:
        ConfigurationError: the setting is wrong; the text names the path.
    """
    archive.policy()


def close(script: Script | str, reason: str) -> Path | None:
    """Move a whole audit log into a file and delete it from the database.

    A new assistant of the same name then begins with version 1. Call it in the transaction that
    deletes the assistant.

    Args:
        reason: stored in the last event.

    Returns:
        The file; None: the subject has no audit log, or the tables are missing.
    """
    target = subject_of(script)
    if target is None or not current_writer().has_tables():
        return None
    app = application()
    with transaction.atomic():
        current_writer().save(target)
        if not app.count(target.name):
            current_writer().save(target, [audit_event("AssistantCreated")])
        # Named first, since the last event contains the name.
        path = archive.path_for_all(target, app)
        details = {"reason": reason, "archive_path": str(path), "final_stats": _stats_of(script)}
        current_writer().save(target, [audit_event("AssistantArchived", **details)])
        archive.flush(target, app, path)
        current_writer().forget(target)
    return path


def _stats_of(script: Script | str) -> dict[str, Any]:
    try:
        state = application().newest(script).as_data()
    except Exception:  # an unreadable log is archived all the same, only without statistics
        logger.log_trace(f"[assistant] the record of {name_of(script)} cannot be read")
        return {}
    return {name: value for name, value in state.items() if isinstance(value, int)}
