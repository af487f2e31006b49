"""Writing the record: order, rollbacks, listeners, and the number of statements."""

import sys
from contextlib import suppress
from typing import Any
from unittest import mock

import pytest
from django.db import connection, transaction
from django.test import TestCase, override_settings
from evennia.utils import logger
from twisted.python import log

from evennia_ai import audit
from evennia_ai.audit import writes
from evennia_ai.audit.writer import AuditWriter
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.models import RecordedEvent, RecordedSnapshot
from tests.audit.support import AuditTest, Script, UndoneError, notes, undone

INSERT = "INSERT INTO"


class TestKeeping(AuditTest):
    def test_a_record_begins_with_the_settings(self) -> None:
        """The first version has the stored settings, secrets masked, and not the usage."""
        self.script.stored |= {"usage": {"calls": 3}, "llm_extra_params": {"api_key": "abc"}}
        self.writer.save(self.ada, notes("hushed"))
        assert ["AssistantCreated", "hushed"] == self.events()
        expected = {"persona": "a keeper", "tick_rate": 7, "llm_extra_params": {"api_key": "***"}}
        assert expected == self.state(1)["settings"]
        assert "Ada" == self.state(1)["assistant_key"]
        assert ["AssistantCreated", "hushed"] == [event for event, _, _ in self.told]

    def test_who_makes_it_may_say_so_himself(self) -> None:
        """An AssistantCreated that is handed in is the first version, not the second."""
        with audit.acting("Tom", "api"):
            self.writer.save(
                self.ada, [audit_event("AssistantCreated", source="clone"), *notes("hushed")]
            )
        first = audit.application().page("Ada")[-1]
        assert ["AssistantCreated", "hushed"] == self.events()
        assert ("Tom", "api", "clone") == tuple(
            first.details[name] for name in ("by", "via", "source")
        )
        assert {"persona": "a keeper", "tick_rate": 7} == self.state(1)["settings"]

    def test_a_checkpoint_is_one_insert(self) -> None:
        self.writer.save(self.ada, notes("first"))
        self.writer.record(self.ada, audit_event("waited"))
        facts = [
            audit_event("ToolExecuted", tool_name="say"),
            audit_event("TickCompleted", tick_number=1),
        ]
        with transaction.atomic(), self.statements() as seen:
            self.writer.save(self.ada, facts)
        assert [INSERT] == [query["sql"][: len(INSERT)] for query in seen.captured_queries]
        assert ["waited", "ToolExecuted", "TickCompleted"] == self.events()[2:]

    def test_a_snapshot_is_one_more(self) -> None:
        """A snapshot, every hundred versions, is taken from memory without reading."""
        self.fill(98)
        with transaction.atomic(), self.statements() as seen:
            self.fill(2)
        assert 2 == len(seen)
        assert [100] == list(RecordedSnapshot.objects.values_list("originator_version", flat=True))

    def test_several_snapshots_are_one_statement(self) -> None:
        with transaction.atomic():
            self.fill(1)
            with self.statements() as seen:
                self.fill(350)
        assert 2 == len(seen)
        assert 3 == RecordedSnapshot.objects.count()

    def test_nothing_to_keep_is_no_statement(self) -> None:
        with self.statements() as seen:
            self.writer.save(self.ada)
            assert not self.writer.has_waiting(self.ada)
        assert 0 == len(seen)

    def test_times_never_go_back(self) -> None:
        self.writer.save(self.ada, notes("first"))
        self.clock.at = self.clock.at.replace(year=2020)
        self.writer.save(self.ada, notes("second"))
        times = [entry.at for entry in audit.application().page("Ada")]
        assert times == sorted(times, reverse=True)

    def test_by_and_via_are_on_every_event(self) -> None:
        with audit.acting("Tom", "api"):
            named = [audit_event("own", by=name) for name in ("", "Mira")]
            self.writer.save(self.ada, [audit_event("GoalCreated", goal_id=1), *named])
        own, nobody, goal, _ = audit.application().page("Ada")
        assert "Tom" == nobody.details["by"]
        assert ("Mira", "api") == (own.details["by"], own.details["via"])
        assert ("Tom", "api") == (goal.details["by"], goal.details["via"])
        assert audit.actor() == type(audit.actor())()

    def test_another_process_is_a_conflict_once(self) -> None:
        """A writer whose version is old fails once, and reads anew for its next try."""
        other = AuditWriter(clock=self.clock)
        self.writer.save(self.ada, notes("a"))
        other.save(self.ada, notes("b"))
        self.writer.record(self.ada, audit_event("waited"))
        with pytest.raises(audit.RecordConflictError), transaction.atomic():
            self.writer.save(self.ada, notes("c"))
        with transaction.atomic():
            self.writer.save(self.ada, notes("c"))
        assert ["AssistantCreated", "a", "b", "waited", "c"] == self.events()
        assert [1, 2, 3, 4, 5] == self.versions()

    def test_no_fact_fails(self) -> None:
        """Details that do not fit their event's class are kept as a note of that name."""
        loop: list[Any] = []
        loop.append(loop)
        odd = [
            audit_event("GoalCreated"),
            audit_event("ToolExecuted", tool_name="", success="no", duration_ms=float("nan")),
            audit_event(
                "TickCompleted", prompt_tokens=float("inf"), calls="many", event="x", more="y"
            ),
            audit_event("question_timeout"),
            audit_event("x" * 500, value=loop, other=object(), timestamp="then", originator_id=3),
            audit_event("words", text="\ud800\x00", poison={"_type_": "a", "_data_": 1}),
        ]
        self.writer.save(self.ada, odd)
        names = [event.event for event in odd]
        assert ["AssistantCreated", *names[:4], "x" * 64, "words"] == self.events()
        words = audit.application().page("Ada", events=["words"])[0].details
        assert {"text": "?\x00", "poison": {"_type_": "a", "_data_": 1}} == words
        assert {"GoalCreated", "question_timeout", "words"} <= set(self.state()["noted"])


class TestUndoing(AuditTest):
    def test_what_was_kept_is_gone_and_what_waited_waits_again(self) -> None:
        """A rollback takes back the events of the change, and loses none that only waited."""
        self.writer.save(self.ada, notes("first"))
        self.writer.record(self.ada, audit_event("waited"))
        with undone(), transaction.atomic():
            self.writer.save(self.ada, notes("kept"))
            assert not self.writer.has_waiting(self.ada)
            raise UndoneError
        assert self.writer.has_waiting(self.ada)
        assert "kept" not in [event for event, _, _ in self.told]
        self.writer.save(self.ada, notes("again"))
        assert ["AssistantCreated", "first", "waited", "again"] == self.events()

    def test_an_inner_rollback(self) -> None:
        """A savepoint takes back its own events alone."""
        with transaction.atomic():
            self.writer.save(self.ada, notes("outer"))
            self.writer.record(self.ada, audit_event("waited"))
            with undone(), transaction.atomic():
                self.writer.save(self.ada, notes("inner"))
                raise UndoneError
            self.writer.save(self.ada, notes("after"))
        assert ["AssistantCreated", "outer", "waited", "after"] == self.events()
        assert ["waited", "AssistantCreated", "outer", "after"] == [entry[0] for entry in self.told]

    def test_a_rollback_among_many_writes(self) -> None:
        """The cost is linear: each earlier write is looked at once."""
        calls = 0  # into the module `writes`

        def count(frame: Any, event: str, _: object) -> None:
            nonlocal calls
            calls += event == "call" and frame.f_code.co_filename == writes.__file__

        with transaction.atomic():
            for number in range(2_000):
                self.writer.save(self.ada, notes(f"{number}"))
            self.writer.record(self.ada, audit_event("waited"))
            with undone(), transaction.atomic():
                self.writer.save(self.ada, notes("inner"))
                raise UndoneError
            sys.setprofile(count)
            self.addCleanup(sys.setprofile, None)
            self.writer.save(self.ada, notes("after"))
            sys.setprofile(None)
        assert calls < 2 * 2_000
        names = RecordedEvent.objects.order_by("originator_version").values_list("event", flat=True)
        assert [*map(str, range(2_000)), "waited", "after"] == list(names)[1:]

    def test_an_outer_rollback(self) -> None:
        """The events of committed savepoints wait again, in their order."""
        with undone(), transaction.atomic():
            for name in ("a", "b", "c"):
                self.writer.record(self.ada, audit_event(name))
                with transaction.atomic():
                    self.writer.save(self.ada)
            raise UndoneError
        self.writer.flush()
        assert ["AssistantCreated", "a", "b", "c"] == self.events()

    def test_a_lost_connection(self) -> None:
        """Events that were lost with a connection are written by the next."""
        self.writer.record(self.ada, audit_event("waited"))
        with suppress(Exception), transaction.atomic():
            self.writer.save(self.ada)
            connection.needs_rollback = True
        self.writer.flush()
        assert ["AssistantCreated", "waited"] == self.events()

    def test_a_listener_that_writes(self) -> None:
        """A write between the commit and the other hooks undoes and doubles nothing."""
        done: list[int] = []

        def listen(event: str, _name: str, _details: Any) -> None:
            if event == "first" and not done:
                done.append(1)
                self.writer.save(self.ada, notes("by a listener"))

        audit.LISTENERS.append(listen)
        self.addCleanup(audit.LISTENERS.remove, listen)
        with transaction.atomic():
            self.writer.save(self.ada, notes("first"))
            self.writer.record(self.ada, audit_event("waited"))
            self.writer.save(self.ada, notes("second"))
        expected = ["AssistantCreated", "first", "waited", "second", "by a listener"]
        assert expected == self.events()
        self.writer.save(self.ada, notes("last"))
        assert [*expected, "last"] == self.events()

    def test_a_listener_that_fails(self) -> None:
        """Its error is logged; what it is told of goes on, and so do the other listeners."""
        broken = lambda *_: 1 / 0  # noqa: E731
        events: list[str] = []
        listen = lambda event, *_: events.append(event)  # noqa: E731
        for listener in (broken, listen):
            audit.LISTENERS.append(listener)
            self.addCleanup(audit.LISTENERS.remove, listener)
        with mock.patch.object(logger, "log_trace") as logged:
            self.writer.record(self.ada, audit_event("waited"))
            with transaction.atomic():
                self.writer.save(self.ada, notes("first"))
        assert ["waited", "AssistantCreated", "first"] == events
        assert 3 == logged.call_count
        assert ["AssistantCreated", "waited", "first"] == self.events()


class TestDoor(AuditTest):
    def test_record_keep_and_of(self) -> None:
        audit.save(self.script, [audit_event("ToolExecuted", tool_name="say")])
        audit.record("hushed", self.script, room="#2")
        assert audit.has_waiting(self.script)
        assert {"hushed": 1} == audit.of(self.script).noted
        assert not audit.has_waiting(self.script)
        audit.record("a", audit.GAME)
        audit.flush()
        assert ["GameBegun", "a"] == self.events("game")

    def test_what_is_not_stored_is_told(self) -> None:
        """Scripts that are not saved have no record; listeners still hear of them."""
        audit.record("a", Script(pk=None))
        audit.save(Script(pk=None), notes("b"))
        assert not audit.has_waiting(Script(pk=None))
        assert ["a", "b"] == [event for event, _, _ in self.told]
        for whom in (Script(pk=None), Script("Nobody")):
            with pytest.raises(KeyError):
                audit.of(whom)

    def test_secrets_are_in_no_line(self) -> None:
        """Log and record mask secrets; listeners get the details as they are."""
        lines: list[str] = []
        observe = lambda event: lines.append(log.textFromEventDict(event) or "")  # noqa: E731
        log.addObserver(observe)
        self.addCleanup(log.removeObserver, observe)
        audit.record("own", self.script, api_key="abc")
        with audit.acting("Tom", is_logged=False):
            audit.record("silent", self.script)
        audit.record("TickCompleted", self.script, tick_number=1)
        audit.flush()
        assert {'own Ada {"api_key": "***"}'} == {
            line.partition(audit.MARK)[2].strip()
            for line in lines
            if "AssistantCreated" not in line
        }
        assert {"api_key": "***"} == audit.application().page("Ada", events=["own"])[0].details
        assert {"api_key": "abc"} == self.told[0][2]

    def test_the_policy_is_checked(self) -> None:
        audit.check_settings()
        with self.settings_of(keep_days="long"), pytest.raises(Exception, match="keep_days"):
            audit.check_settings()

    def settings_of(self, **policy: Any) -> Any:
        return override_settings(EVENNIA_AI_AUDIT_CONFIG=policy)


class TestInTests(TestCase):
    def test_it_is_told_at_once(self) -> None:
        """In Django's TestCase nothing commits, so listeners are told with the write."""
        events: list[str] = []
        listener = lambda event, *_: events.append(event)  # noqa: E731
        audit.LISTENERS.append(listener)
        self.addCleanup(audit.LISTENERS.remove, listener)
        self.addCleanup(audit.start_anew)
        with self.captureOnCommitCallbacks(execute=True), transaction.atomic():
            audit.save(Script("Edda"), notes("a"))
        assert ["AssistantCreated", "a"] == events
        assert 2 == audit.application().count("edda")
