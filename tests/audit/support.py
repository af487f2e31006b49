"""What tests of the record share: an assistant's script, writers, and a database that commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import TestCase

from django.db import connection
from django.test.utils import CaptureQueriesContext

from evennia_ai import audit
from evennia_ai.audit.streams import Subject, subject_of
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.models import RecordedEvent, RecordedSnapshot
from tests.recorded import record_of

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@dataclass
class Attribute:
    """One stored attribute."""

    key: str
    value: Any


@dataclass(eq=False)
class Script:
    """What the record needs of an assistant's script.

    Attributes:
        stored: its attributes.
        pk: None: it is deleted.
    """

    key: str = "Ada"
    stored: dict[str, Any] = field(default_factory=lambda: {"persona": "a keeper", "tick_rate": 7})
    pk: int | None = 1

    @property
    def attributes(self) -> Any:
        """Evennia's handler, as far as it is used."""
        return self

    def all(self) -> list[Attribute]:
        """Every attribute."""
        return [Attribute(key, value) for key, value in self.stored.items()]


class Clock:
    """A time that goes on by a second whenever somebody asks for it."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at

    def __call__(self) -> datetime:
        """The time."""
        self.at += timedelta(seconds=1)
        return self.at


class UndoneError(Exception):
    """What ends a transaction of a test."""


class AuditTest(TestCase):
    """Transactions are real here: what commits stays, until the test is over.

    Attributes:
        told: what listeners were told: (event, name, details).
    """

    def setUp(self) -> None:
        """Nothing is on record, and nobody has told anything."""
        self.addCleanup(self.wipe)
        audit.start_anew()
        self.script = Script()
        self.ada = subject(self.script)
        self.clock = Clock()
        self.writer = audit.AuditWriter(clock=self.clock)
        self.told = record_of(self)

    def wipe(self) -> None:
        """Leave no row behind."""
        audit.start_anew()
        RecordedEvent.objects.all().delete()
        RecordedSnapshot.objects.all().delete()

    def statements(self) -> CaptureQueriesContext:
        """Captures the SQL statements of a block."""
        return CaptureQueriesContext(connection)

    def fill(self, count: int, whom: Subject | None = None) -> None:
        """Let a record have so many versions more."""
        self.writer.keep(
            whom or self.ada, [audit_event("TickCompleted", tick_number=n) for n in range(count)]
        )

    def versions(self, whom: Any = "Ada") -> list[int]:
        """The versions that the database has."""
        found = subject_of(whom)
        assert found is not None
        rows = RecordedEvent.objects.filter(originator_id=found.id).order_by("id")
        return list(rows.values_list("originator_version", flat=True))

    def events(self, whom: Any = "Ada") -> list[str]:
        """The names of all events, the oldest first."""
        return [entry.event for entry in reversed(audit.application().page(whom, limit=1000))]

    def state(self, version: int | None = None, whom: Any = "Ada") -> dict[str, Any]:
        """What the database says a record has come to."""
        app = audit.application()
        return app.at(whom, version or app.version(whom)).as_data()


def subject(script: Any) -> Subject:
    """Whose record a script is."""
    found = subject_of(script)
    assert found is not None
    return found


def notes(*names: str) -> Sequence[AuditEvent]:
    """Facts of a game's own."""
    return [audit_event(name) for name in names]


@contextmanager
def undone() -> Iterator[None]:
    """A block that ends with the error by which tests undo transactions."""
    try:
        yield
    except UndoneError:
        return
    raise AssertionError("nothing was undone")
