"""A script, a clock, and a database that commits, shared by tests of the record."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import TestCase

from django.db import connection
from django.test.utils import CaptureQueriesContext

from evennia_ai import audit
from evennia_ai.audit.events import Subject, subject_of
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.models import RecordedEvent, RecordedSnapshot
from tests.recorded import record_of

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@dataclass
class Attribute:
    key: str
    value: Any


@dataclass(eq=False)
class Script:
    """The part of an assistant's script that the record uses.

    Attributes:
        stored: its attributes.
        pk: None: it is deleted.
    """

    key: str = "Ada"
    stored: dict[str, Any] = field(default_factory=lambda: {"persona": "a keeper", "tick_rate": 7})
    pk: int | None = 1

    @property
    def attributes(self) -> Any:
        """Stand in for Evennia's attribute handler."""
        return self

    def all(self) -> list[Attribute]:
        return [Attribute(key, value) for key, value in self.stored.items()]


class Clock:
    """A clock that advances by a second at each reading."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at

    def __call__(self) -> datetime:
        self.at += timedelta(seconds=1)
        return self.at


class UndoneError(Exception):
    """The error that rolls back a transaction of a test."""


class AuditTest(TestCase):
    """A test case with real transactions: commits stay until the test is over.

    Attributes:
        told: (event, name, details) of each call of a listener.
    """

    def setUp(self) -> None:
        self.addCleanup(self.wipe)
        audit.start_anew()
        self.script = Script()
        self.ada = subject(self.script)
        self.clock = Clock()
        self.writer = audit.AuditWriter(clock=self.clock)
        self.told = record_of(self)

    def wipe(self) -> None:
        audit.start_anew()
        RecordedEvent.objects.all().delete()
        RecordedSnapshot.objects.all().delete()

    def statements(self) -> CaptureQueriesContext:
        """Capture the SQL statements of a block."""
        return CaptureQueriesContext(connection)

    def fill(self, count: int, whom: Subject | None = None) -> None:
        """Add this many versions to a record."""
        self.writer.save(
            whom or self.ada, [audit_event("TickCompleted", tick_number=n) for n in range(count)]
        )

    def versions(self, whom: Any = "Ada") -> list[int]:
        """Return the versions in the database."""
        origin = subject_of(whom)
        assert origin is not None
        rows = RecordedEvent.objects.filter(originator_id=origin.id).order_by("id")
        return list(rows.values_list("originator_version", flat=True))

    def events(self, whom: Any = "Ada") -> list[str]:
        """Return the names of all events, the oldest first."""
        return [entry.event for entry in reversed(audit.application().page(whom, limit=1000))]

    def state(self, version: int | None = None, whom: Any = "Ada") -> dict[str, Any]:
        """Return the stored state of a record at a version, or its newest."""
        app = audit.application()
        return app.at(whom, version or app.version(whom)).as_data()


def subject(script: Any) -> Subject:
    """Return the subject of a script's record."""
    result = subject_of(script)
    assert result is not None
    return result


def notes(*names: str) -> Sequence[AuditEvent]:
    """Return events of names that no event class has."""
    return [audit_event(name) for name in names]


@contextmanager
def undone() -> Iterator[None]:
    """Expect that the block rolls back by `UndoneError`."""
    try:
        yield
    except UndoneError:
        return
    raise AssertionError("nothing was undone")
