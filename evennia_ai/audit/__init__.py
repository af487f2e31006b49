"""The record of what an assistant did: written with what it records, and kept for good.

One `Book` for a server process. Facts that change what is stored are kept with it, in the same
transaction; all others wait for the next write, or a second.
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
from evennia_ai.audit.reading import AssistantApplication, AuditEntry, application, missing_tables
from evennia_ai.audit.streams import GAME, name_of, subject_of
from evennia_ai.audit.writer import Book, RecordConflictError
from evennia_ai.audit.writes import FactItem, now
from evennia_ai.core.safety.audit_events import Fact, fact
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
    "Book",
    "RecordConflictError",
    "acting",
    "actor",
    "application",
    "book",
    "check_settings",
    "close",
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
    """Call something in the reactor's thread, from whichever this is."""
    # None: the reactor does not run yet, and will run in this thread.
    if threadable.ioThread in (None, threadable.getThreadID()):
        return reactor.callLater(seconds, call)
    reactor.callFromThread(reactor.callLater, seconds, call)
    return None


@lru_cache(maxsize=1)
def book() -> Book:
    """This server process's writer; what waits is stored when it shuts down."""
    made = Book(_later)
    reactor.addSystemEventTrigger("before", "shutdown", made.stop)
    return made


def record(event: str, subject: Script | str, **details: Any) -> None:
    """Write down that something happened that changes nothing stored.

    The log and LISTENERS are told at once; it is stored with the subject's next write, or within
    a second.

    Args:
        event: what, in one word, such as `hushed`; `core.safety.audit_events` lists those of ours.
        subject: the assistant's script it happened to, or "game". Of a name alone it is stored if
            there is a record by that name.
        details: plain data.
    """
    whom = subject_of(subject)
    if whom is None:
        _tell(subject, [fact(event, **details)])
    else:
        book().record(whom, fact(event, **details))


def keep(script: Script | str, facts: Iterable[Fact] = ()) -> None:
    """Store facts, and what waits, in the caller's transaction.

    The log and LISTENERS are told after its commit; in a Django TestCase, which never commits, now.

    Raises:
        RecordConflictError: another process wrote this record meanwhile: begin the transaction
            anew, and hand the facts in again.
    """
    whom = subject_of(script)
    if whom is None:
        _tell(script, facts)
    else:
        book().keep(whom, facts)


def _tell(subject: Script | str, facts: Iterable[Fact]) -> None:
    for each in facts:
        FactItem.of(signed(each), now(), is_logged=actor().is_logged).tell(name_of(subject))


def has_waiting(script: Script | str) -> bool:
    """True where recorded events wait to be stored. This asks no database."""
    whom = subject_of(script)
    return whom is not None and book().has_waiting(whom)


def flush() -> None:
    """Store all that waits."""
    book().flush()


def start_anew() -> None:
    """Forget what this process has of the record, unwritten: between two tests."""
    if book.cache_info().currsize:
        book().drop()


def is_begun(script: Script | str) -> bool:
    """True where an assistant has an audit log, or none can be.

    Args:
        script: the assistant's, or its name.
    """
    whom = subject_of(script)
    return whom is None or not book().has_tables() or exists(RecordedEvent, originator_id=whom.id)


def of(script: Script | str) -> Any:
    """The present state of an assistant (an AssistantAggregate) or of the game, from its audit log.

    Raises:
        KeyError: there is no record of it.
    """
    if (whom := subject_of(script)) is not None and book().has_tables():
        book().flush_one(whom)
        return application().newest(script)
    raise KeyError(f"there is no record of {name_of(script)}")


def check_settings() -> None:
    """Read how long records are kept.

    Raises:
        ConfigurationError: something in it is wrong; the text names the path.
    """
    archive.policy()


def close(script: Script | str, reason: str, folder: Path | None = None) -> Path | None:
    """Put a record away: all that is left of it goes into a file, and out of the database.

    An assistant of the same name then begins with version 1. It belongs in one transaction with
    the assistant's deletion.

    Args:
        reason: why, for the record.
        folder: where to; None: as the policy says.

    Returns:
        The file; None: there was no record, as in a game whose tables are missing.
    """
    whom = subject_of(script)
    if whom is None or not book().has_tables():
        return None
    app = application()
    with transaction.atomic():
        book().keep(whom)
        if not app.count(whom.name):
            book().keep(whom, [fact("AssistantCreated")])
        # Named before the last event is written, which tells the name.
        path = archive.path_for_all(whom, app, folder, more=1)
        told = {"reason": reason, "archive_path": str(path), "final_stats": _stats_of(script)}
        book().keep(whom, [fact("AssistantArchived", **told)])
        archive.put_away(whom, app, path)
        book().forget(whom)
    return path


def _stats_of(script: Script | str) -> dict[str, Any]:
    try:
        state = application().newest(script).as_data()
    except Exception:  # what cannot be read any more is put away all the same
        logger.log_trace(f"[assistant] the record of {name_of(script)} cannot be read")
        return {}
    return {name: value for name, value in state.items() if isinstance(value, int)}
