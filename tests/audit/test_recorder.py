"""The library's own test cases, on our recorders and a database of each test's own."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from typing import Any
from unittest import TestCase, mock
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connections
from eventsourcing import persistence
from eventsourcing.persistence import InfrastructureFactory, StoredEvent
from eventsourcing.utils import Environment

from evennia_ai.audit.recorder import (
    DjangoAggregateRecorder,
    DjangoApplicationRecorder,
    DjangoFactory,
    mapped_errors,
)
from evennia_ai.models import RecordedEvent, RecordedSnapshot
from tests import postgres
from tests.audit import library

FILE = "audit_file"
MODULE = "evennia_ai.audit.recorder:DjangoFactory"
# The library's own transcoders need these; nothing of the game's environment may change a test.
ENVIRON = {"PERSISTENCE_MODULE": MODULE, "DJANGO_DATABASE": FILE}


class OnFile(TestCase):
    """Each test has a database of its own, in a file or on a server, which threads share."""

    def setUp(self) -> None:
        """Make the file and its tables."""
        ends = ExitStack()
        self.addCleanup(ends.close)
        if postgres.is_default():
            own = ends.enter_context(postgres.new_database(postgres.named_server()))
        else:
            folder = ends.enter_context(tempfile.TemporaryDirectory())
            options = {"timeout": 30, "init_command": "PRAGMA journal_mode=WAL;"}
            own = {"NAME": f"{folder}/record.db3", "OPTIONS": options}
        connections.databases[FILE] = {**connections.databases["default"], **own}
        self.addCleanup(self._forget)
        editor = connections[FILE].schema_editor()
        with editor:
            editor.create_model(RecordedEvent)
            editor.create_model(RecordedSnapshot)
        super().setUp()

    def _forget(self) -> None:
        connections[FILE].close()
        del connections[FILE]
        del connections.databases[FILE]


class TestAggregateRecorder(OnFile, library.AggregateRecorderTestCase):
    """Streams."""

    def create_recorder(self) -> DjangoAggregateRecorder:
        """Of snapshots."""
        return DjangoAggregateRecorder(RecordedSnapshot, FILE)


class TestApplicationRecorder(OnFile, library.ApplicationRecorderTestCase):
    """All streams in one order. Left out: `optional_test_insert_subscribe`.

    The library calls it optional. A subscription needs a thread that waits for others' commits; in
    the game LISTENERS are told instead, and `subscribe` says so.
    """

    def create_recorder(self) -> DjangoApplicationRecorder:
        """Of events."""
        return DjangoApplicationRecorder(RecordedEvent, FILE)

    def test_a_subscription_is_refused(self) -> None:
        """Who subscribes is told what there is instead."""
        with pytest.raises(persistence.NotSupportedError, match="LISTENERS"):
            self.create_recorder().subscribe()


class TestFactory(OnFile, library.InfrastructureFactoryTestCase[DjangoFactory]):
    """The factory. Left out: tracking and process recorders, which follow other applications."""

    def setUp(self) -> None:
        """As the library's own tests are set up."""
        self.env = Environment("", dict(ENVIRON))
        super().setUp()

    def expected_factory_class(self) -> Any:
        """Ours."""
        return DjangoFactory

    def expected_aggregate_recorder_class(self) -> Any:
        """Ours."""
        return DjangoAggregateRecorder

    def expected_application_recorder_class(self) -> Any:
        """Ours."""
        return DjangoApplicationRecorder

    def expected_tracking_recorder_class(self) -> Any:
        """None."""

    expected_process_recorder_class = tracking_recorder_subclass = expected_tracking_recorder_class

    def test_create_tracking_recorder(self) -> None:
        """There is none, which is said."""
        with pytest.raises(persistence.NotSupportedError, match="no positions"):
            self.factory.tracking_recorder()

    def test_create_process_recorder(self) -> None:
        """There is none, which is said."""
        with pytest.raises(persistence.NotSupportedError, match="no positions"):
            self.factory.process_recorder()

    def test_snapshots_have_a_table_of_their_own(self) -> None:
        """They are not events of the stream."""
        assert RecordedSnapshot is self.factory.aggregate_recorder("snapshots").model
        assert RecordedEvent is self.factory.aggregate_recorder().model


class TestApplication(OnFile, library.ExampleApplicationTestCase):
    """The library's example of an application, on our recorders."""

    expected_factory_topic = MODULE

    def setUp(self) -> None:
        """Let the library find our factory as it finds any."""
        environ = mock.patch.dict(os.environ, ENVIRON)
        environ.start()
        self.addCleanup(environ.stop)
        super().setUp()


@pytest.mark.filterwarnings("default:'log' is deprecated")
class TestCachedApplication(OnFile, library.ApplicationTestCase):
    """The library's cases of applications, on our recorders.

    Left out: the two with a hundred threads that contend for one aggregate. They ask how the
    library's own cache is shared by threads, for ten seconds each, with a hundred connections to
    one SQLite file; our AuditWriter has a cache of its own, whose threads `test_processes` tries.
    """

    test_check_aggregate_fastforwarding_nonblocking = None
    test_check_aggregate_fastforwarding_blocking = None
    test_resolve_persistence_topics = None  # of the library's own environment, not of ours

    def setUp(self) -> None:
        """Let the library find our factory as it finds any."""
        environ = mock.patch.dict(os.environ, ENVIRON)
        environ.start()
        self.addCleanup(environ.stop)
        super().setUp()


class TestOurs(OnFile):
    """What the library does not ask for."""

    def stored(self, version: int) -> StoredEvent:
        """An event of one stream."""
        return StoredEvent(UUID(int=7), version, "topic:Name", b"{}")

    def test_many_are_one_statement(self) -> None:
        """However many events there are, up to a thousand, they are one INSERT."""
        ours = DjangoApplicationRecorder(RecordedEvent, FILE)
        connection = connections[FILE]
        connection.force_debug_cursor = True
        before = len(connection.queries_log)
        ids = ours.insert_events([self.stored(version) for version in range(1, 901)])
        assert 1 == len(connection.queries_log) - before
        assert list(range(1, 901)) == list(ids)

    def test_more_are_still_all_or_none(self) -> None:
        """What takes several statements is one transaction."""
        ours = DjangoApplicationRecorder(RecordedEvent, FILE)
        twice = [self.stored(version) for version in (*range(1, 2501), 1)]
        with pytest.raises(persistence.IntegrityError):
            ours.insert_events(twice)
        assert ours.max_notification_id() is None
        assert 2500 == len(ours.insert_events(twice[:-1]))

    def test_ids_are_asked_for_where_they_are_not_returned(self) -> None:
        """MySQL returns none: they are read once, unless nobody wants them."""
        ours, connection = DjangoApplicationRecorder(RecordedEvent, FILE), connections[FILE]
        returned = ("can_return_columns_from_insert", "can_return_rows_from_bulk_insert")
        with mock.patch.multiple(type(connection.features), **dict.fromkeys(returned, False)):
            assert [1, 2] == ours.insert_events([self.stored(1), self.stored(2)])
            assert [] == ours.insert_events([self.stored(3)], are_ids_wanted=False)
            assert [] == ours.insert_events([])

    def test_an_error_is_the_librarys(self) -> None:
        """What the database says is said in the library's words, of whatever kind."""
        with pytest.raises(persistence.PersistenceError), mapped_errors:
            raise DatabaseError("gone")
        with connections[FILE].schema_editor() as editor:
            editor.delete_model(RecordedEvent)
        # A table that is missing is the one or the other, by the kind of database.
        with pytest.raises((persistence.OperationalError, persistence.ProgrammingError)):
            DjangoAggregateRecorder(RecordedEvent, FILE).select_events(UUID(int=7))


def test_the_tables_are_those_of_the_migrations() -> None:
    """Nobody has to write another migration."""
    call_command("makemigrations", "evennia_ai", "--check", "--dry-run", verbosity=0)


def test_the_factory_is_found() -> None:
    """An application of the library uses the game's database by one line of its environment."""
    made = InfrastructureFactory.construct(Environment("", {"PERSISTENCE_MODULE": MODULE}))
    assert isinstance(made, DjangoFactory)
    assert "default" == made.using
