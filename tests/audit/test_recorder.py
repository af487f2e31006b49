"""The library's own test cases, run on our recorders, each test with its own database."""

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
# The library's transcoders need these; the environment of the game must not change a test.
ENVIRON = {"PERSISTENCE_MODULE": MODULE, "DJANGO_DATABASE": FILE}


class OnFile(TestCase):
    """Each test has a database of its own, in a file or on a server, shared by its threads."""

    def setUp(self) -> None:
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
    def create_recorder(self) -> DjangoAggregateRecorder:
        return DjangoAggregateRecorder(RecordedSnapshot, FILE)


class TestApplicationRecorder(OnFile, library.ApplicationRecorderTestCase):
    """The order of all events. Left out: `optional_test_insert_subscribe`.

    The library calls it optional. A subscription needs a thread that waits for others' commits; the
    game tells LISTENERS instead, and the error of `subscribe` says so.
    """

    def create_recorder(self) -> DjangoApplicationRecorder:
        return DjangoApplicationRecorder(RecordedEvent, FILE)

    def test_a_subscription_is_refused(self) -> None:
        with pytest.raises(persistence.NotSupportedError, match="LISTENERS"):
            self.create_recorder().subscribe()


class TestFactory(OnFile, library.InfrastructureFactoryTestCase[DjangoFactory]):
    """The factory. Left out: tracking and process recorders, which follow other applications."""

    def setUp(self) -> None:
        self.env = Environment("", dict(ENVIRON))
        super().setUp()

    def expected_factory_class(self) -> Any:
        return DjangoFactory

    def expected_aggregate_recorder_class(self) -> Any:
        return DjangoAggregateRecorder

    def expected_application_recorder_class(self) -> Any:
        return DjangoApplicationRecorder

    def expected_tracking_recorder_class(self) -> Any:
        """Return None: there is no tracking recorder."""

    expected_process_recorder_class = tracking_recorder_subclass = expected_tracking_recorder_class

    def test_create_tracking_recorder(self) -> None:
        with pytest.raises(persistence.NotSupportedError, match="no positions"):
            self.factory.tracking_recorder()

    def test_create_process_recorder(self) -> None:
        with pytest.raises(persistence.NotSupportedError, match="no positions"):
            self.factory.process_recorder()

    def test_snapshots_have_a_table_of_their_own(self) -> None:
        assert RecordedSnapshot is self.factory.aggregate_recorder("snapshots").model
        assert RecordedEvent is self.factory.aggregate_recorder().model


class ByEnvironment(OnFile):
    """Applications find our factory by the environment, as the library looks for one."""

    def setUp(self) -> None:
        environ = mock.patch.dict(os.environ, ENVIRON)
        environ.start()
        self.addCleanup(environ.stop)
        super().setUp()


class TestApplication(ByEnvironment, library.ExampleApplicationTestCase):
    expected_factory_topic = MODULE


@pytest.mark.filterwarnings("default:'log' is deprecated")
class TestCachedApplication(ByEnvironment, library.ApplicationTestCase):
    """The library's cases of applications, on our recorders.

    Left out: the two with a hundred threads that contend for one aggregate. They test how the
    library's own cache is shared by threads, for ten seconds each, with a hundred connections to
    one SQLite file. Our AuditWriter has its own cache, which `test_processes` tests with threads.
    """

    test_check_aggregate_fastforwarding_nonblocking = None
    test_check_aggregate_fastforwarding_blocking = None
    test_resolve_persistence_topics = None  # of the library's own environment, not of ours


class TestOurs(OnFile):
    """Promises of our recorders beyond the library's."""

    def stored(self, version: int) -> StoredEvent:
        return StoredEvent(UUID(int=7), version, "topic:Name", b"{}")

    def test_many_are_one_statement(self) -> None:
        ours = DjangoApplicationRecorder(RecordedEvent, FILE)
        connection = connections[FILE]
        connection.force_debug_cursor = True
        before = len(connection.queries_log)
        ids = ours.insert_events([self.stored(version) for version in range(1, 901)])
        assert 1 == len(connection.queries_log) - before
        assert list(range(1, 901)) == list(ids)

    def test_more_are_still_all_or_none(self) -> None:
        """Inserts that take several statements are one transaction."""
        ours = DjangoApplicationRecorder(RecordedEvent, FILE)
        twice = [self.stored(version) for version in (*range(1, 2501), 1)]
        with pytest.raises(persistence.IntegrityError):
            ours.insert_events(twice)
        assert ours.max_notification_id() is None
        assert 2500 == len(ours.insert_events(twice[:-1]))

    def test_ids_are_asked_for_where_they_are_not_returned(self) -> None:
        """MySQL returns no ids, so they are read once, unless nobody wants them."""
        ours, connection = DjangoApplicationRecorder(RecordedEvent, FILE), connections[FILE]
        returned = ("can_return_columns_from_insert", "can_return_rows_from_bulk_insert")
        with mock.patch.multiple(type(connection.features), **dict.fromkeys(returned, False)):
            assert [1, 2] == ours.insert_events([self.stored(1), self.stored(2)])
            assert [] == ours.insert_events([self.stored(3)], are_ids_wanted=False)
            assert [] == ours.insert_events([])

    def test_an_error_is_the_librarys(self) -> None:
        with pytest.raises(persistence.PersistenceError), mapped_errors:
            raise DatabaseError("gone")
        with connections[FILE].schema_editor() as editor:
            editor.delete_model(RecordedEvent)
        # Databases differ in the kind of error for a missing table.
        with pytest.raises((persistence.OperationalError, persistence.ProgrammingError)):
            DjangoAggregateRecorder(RecordedEvent, FILE).select_events(UUID(int=7))


def test_the_tables_are_those_of_the_migrations() -> None:
    call_command("makemigrations", "evennia_ai", "--check", "--dry-run", verbosity=0)


def test_the_factory_is_found() -> None:
    """One line of its environment lets an application of the library use the game's database."""
    factory = InfrastructureFactory.construct(Environment("", {"PERSISTENCE_MODULE": MODULE}))
    assert isinstance(factory, DjangoFactory)
    assert "default" == factory.using
