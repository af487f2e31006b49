"""Events that wait to be written, and failures of the database."""

from collections import deque
from typing import Any

import pytest
from django.db import OperationalError, connection
from twisted.internet.task import Clock as Reactor

from evennia_ai import audit
from evennia_ai.audit.writer import FLUSH_SECONDS, MOST_STREAMS, PORTION, AuditWriter
from evennia_ai.audit.writes import MOST_WAITING
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.models import RecordedEvent
from tests.audit.support import AuditTest, Script, notes, subject

INSERT = "INSERT INTO"


class TestWaiting(AuditTest):
    def setUp(self) -> None:
        super().setUp()
        self.reactor = Reactor()
        self.writer = AuditWriter(self.reactor.callLater, self.clock)

    def test_it_is_told_at_once_and_stored_within_a_second(self) -> None:
        """The database waits, so that many events are one statement."""
        for name in ("a", "b"):
            self.writer.record(self.ada, audit_event(name))
        assert ["a", "b"] == [event for event, _, _ in self.told]
        assert [] == self.versions()
        self.reactor.advance(1)
        assert ["AssistantCreated", "a", "b"] == self.events()

    def test_many_records_are_stored_in_portions(self) -> None:
        """The reactor runs between two portions."""
        crowd = [subject(Script(f"Ada{n}", pk=n + 1)) for n in range(2 * PORTION + 1)]
        for each in crowd:
            self.writer.record(each, audit_event("a"))
        self.reactor.rightNow += 1
        stored, later = [], self.reactor.callLater

        def look() -> None:
            stored.append(RecordedEvent.objects.filter(event="a").count())
            if stored[-1] == PORTION:
                self.writer.record(crowd[0], audit_event("late"))
            if stored[-1] < len(crowd):
                later(0, look)

        later(0, look)
        self.reactor.advance(0)
        assert [PORTION, 2 * PORTION, len(crowd)] == stored
        assert ["AssistantCreated", "a"] == self.events("Ada0")
        self.reactor.advance(FLUSH_SECONDS)
        assert ["AssistantCreated", "a", "late"] == self.events("Ada0")

    def test_the_game_has_a_record(self) -> None:
        game = subject(audit.GAME)
        self.writer.record(
            game, audit_event("budget_raised", cap="tokens_per_day", amount=5, by="Tom")
        )
        self.writer.record(game, audit_event("control_refused", act="budget raise", by="Mira"))
        self.reactor.advance(1)
        state = self.state(whom="game")
        assert {"tokens_per_day": {"account": "", "amount": 5, "by": "Tom"}} == state["caps"]
        assert 1 == state["refusals"]

    def test_a_name_is_enough_where_there_is_a_record(self) -> None:
        """A bare name adds to a record, and never begins one."""
        self.writer.save(self.ada, notes("first"))
        for name in ("ADA", "Nobody"):
            self.writer.record(subject(name), audit_event("budget_near", text="80 %"))
        self.reactor.advance(1)
        assert ["AssistantCreated", "first", "budget_near"] == self.events()
        assert [] == self.versions("Nobody")

    def test_a_deleted_assistant_begins_none(self) -> None:
        """Listeners still hear of it."""
        self.writer.record(self.ada, audit_event("late"))
        self.script.pk = None
        self.reactor.advance(1)
        assert [] == self.versions()

    def test_too_much_is_counted(self) -> None:
        """The waiting events are bounded; the number of lost ones is recorded."""
        for number in range(MOST_WAITING + 3):
            self.writer.record(self.ada, audit_event("tick", number=number))
        self.writer.flush()
        newest = audit.application().page("Ada", limit=1)[0]
        assert ("facts_lost", {"count": 3}) == (newest.event, newest.details)
        assert MOST_WAITING + 2 == audit.application().version("Ada")

    def test_streams_are_bounded(self) -> None:
        """Only streams without waiting events are dropped from memory."""
        for number in range(MOST_STREAMS + 5):
            self.writer.record(subject(f"Nobody {number}"), audit_event("x"))
            if number == 10:
                self.writer.flush()
        assert len(self.writer._streams) < MOST_STREAMS + 5

    def test_another_thread_may_record_while_the_streams_are_looked_through(self) -> None:
        writer = self.writer

        class Waiting(deque[Any]):
            def __bool__(self) -> bool:
                writer._stream(subject(f"Nobody {len(writer._streams)}"))
                return False

        writer._stream(subject("Nobody")).waiting = Waiting()
        writer.record(self.ada, audit_event("a"))
        self.reactor.advance(FLUSH_SECONDS)
        assert ["AssistantCreated", "a"] == self.events()

    def test_missing_tables_are_told_once(self) -> None:
        """A game that was not migrated goes on; its log names the command to type."""
        events = RecordedEvent._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {events} RENAME TO elsewhere")
        try:
            self.writer.record(self.ada, audit_event("a"))
            self.reactor.advance(1)
            self.writer.save(self.ada, notes("b"))
            self.writer.record(self.ada, audit_event("c"))
            assert [events] == audit.missing_tables()
            assert ["a", "b", "c"] == [event for event, _, _ in self.told]
            assert not self.reactor.getDelayedCalls()
        finally:
            with connection.cursor() as cursor:
                cursor.execute(f"ALTER TABLE elsewhere RENAME TO {events}")
        assert [] == audit.missing_tables()
        self.writer.drop()
        self.writer.save(self.ada, notes("d"))
        assert ["AssistantCreated", "d"] == self.events()

    def test_what_cannot_be_read_ends(self) -> None:
        """A damaged record is left as it is, and the game goes on."""
        self.writer.save(self.ada, notes("a"))
        RecordedEvent.objects.update(state=b"{")
        anew = AuditWriter(clock=self.clock)
        anew.save(self.ada, notes("b"))
        anew.save(self.ada, notes("c"))
        assert 2 == RecordedEvent.objects.count()
        assert "c" == self.told[-1][0]

    def test_it_stops_with_the_server(self) -> None:
        """A stop writes the waiting events; `drop`, as after a kill, leaves no timer."""
        self.writer.record(self.ada, audit_event("a"))
        self.writer.stop()
        assert ["AssistantCreated", "a"] == self.events()
        self.writer.record(self.ada, audit_event("b"))
        self.writer.drop()
        self.reactor.advance(2)
        assert ["AssistantCreated", "a"] == self.events()

    def test_a_flush_leaves_no_timer(self) -> None:
        self.writer.record(self.ada, audit_event("a"))
        self.writer.flush()
        assert not self.reactor.getDelayedCalls()
        self.writer.record(self.ada, audit_event("b"))
        with connection.execute_wrapper(self.refuse):
            self.writer.flush()
        assert ["AssistantCreated", "a"] == self.events()
        self.reactor.advance(15)
        assert ["AssistantCreated", "a", "b"] == self.events()

    def refuse(self, execute: Any, sql: str, *rest: Any) -> Any:
        """Fail each INSERT, as a busy database does."""
        if sql.startswith(INSERT):
            raise OperationalError("database is locked")
        return execute(sql, *rest)

    def test_an_assistants_own_clock_is_used(self) -> None:
        """A test that moves an assistant's clock moves its record's too."""
        self.script.clock = own = Reactor()  # type: ignore[attr-defined]
        self.writer.record(self.ada, audit_event("a"))
        own.advance(1)
        assert ["AssistantCreated", "a"] == self.events()


class TestTrouble(AuditTest):
    def test_the_game_sees_its_own_errors(self) -> None:
        """Errors other than conflicts are Django's own, and the waiting events stay."""

        def refuse(_execute: Any, *_rest: Any) -> Any:
            raise OperationalError("database is locked")

        self.writer.save(self.ada, notes("a"))
        self.writer.record(self.ada, audit_event("waited"))
        with connection.execute_wrapper(refuse), pytest.raises(OperationalError):
            self.writer.save(self.ada, notes("b"))
        assert self.writer.has_waiting(self.ada)
        self.writer.flush()
        assert ["AssistantCreated", "a", "waited"] == self.events()
