"""Reading the record: versions, times, pages, and exports."""

import io
import json
from datetime import timedelta

import pytest
from django.db import connection

from evennia_ai import audit
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.models import RecordedEvent
from tests.audit.support import NOON, AuditTest, Script, notes, subject


class TestReading(AuditTest):
    def setUp(self) -> None:
        super().setUp()
        self.app = audit.application()
        self.fill(120)
        self.writer.save(
            self.ada, [audit_event("EmergencyStopTriggered", cause="loop", reason="x")]
        )
        self.fill(128)

    def test_versions(self) -> None:
        assert (250, 250, 0) == (
            self.app.version("ada"),
            self.app.count(self.script),
            self.app.count("Nobody"),
        )
        with pytest.raises(KeyError, match="no record of Nobody"):
            self.app.version("Nobody")
        with pytest.raises(KeyError, match="no record of Nobody"):
            self.app.newest("Nobody")

    def test_every_version_opens(self) -> None:
        """Each needs at most one snapshot and a hundred events."""
        for version in range(1, 251):
            with self.statements() as seen:
                assistant = self.app.at("Ada", version)
            assert version == assistant.version
            assert version > 121 or not assistant.is_stopped
            assert 5 >= len(seen)
        assert (199, True) == (
            self.app.at("Ada", 201).tick_count,
            self.app.at("Ada", 122).is_stopped,
        )
        for wrong in (0, -1, 251):
            with pytest.raises(KeyError, match="it has 1 to 250"):
                self.app.at("Ada", wrong)

    def test_no_more_than_a_hundred_events_are_read(self) -> None:
        """Snapshots are a hundred versions apart, however many events were kept at once."""
        stored = self.app.snapshots.recorder.select_events(self.ada.id)  # type: ignore[union-attr]
        assert [100, 200] == [snapshot.originator_version for snapshot in stored]

    def test_times(self) -> None:
        entry = self.app.page("Ada", before=101, limit=1)[0]
        assert 100 == entry.version
        later = entry.at + timedelta(milliseconds=1)
        assert self.app.version_at("Ada", entry.at) == self.app.version_at("Ada", later)
        assert 250 == self.app.version_at("Ada", NOON + timedelta(days=9))
        with pytest.raises(KeyError, match="no record of Ada at"):
            self.app.version_at("Ada", NOON - timedelta(days=1))

    def test_pages(self) -> None:
        first = self.app.page("Ada")
        assert list(range(250, 225, -1)) == [entry.version for entry in first]
        assert "tick 127: , 0 ms" == first[0].text
        second = self.app.page("Ada", before=226, limit=3)
        assert [225, 224, 223] == [entry.version for entry in second]
        rare = self.app.page("Ada", events=["EmergencyStopTriggered", "AssistantCreated", "none"])
        assert [122, 1] == [entry.version for entry in rare]
        assert "stopped (loop): x" == rare[0].text
        assert {"cause": "loop", "reason": "x"} == {
            name: rare[0].details[name] for name in ("cause", "reason")
        }
        assert [] == self.app.page("Nobody")
        assert [] == self.app.page("Ada", limit=-3)

    def test_a_page_is_one_statement_by_an_index(self) -> None:
        for asked in ({}, {"before": 99}, {"events": ["EmergencyStopTriggered"]}):
            with self.statements() as seen:
                self.app.page("Ada", **asked)  # type: ignore[arg-type]
            assert 1 == len(seen)
            if connection.vendor != "sqlite":
                continue  # PostgreSQL words its plans otherwise, and scans a table of few rows
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {seen.captured_queries[0]['sql']}")
                plan = " ".join(str(row[-1]) for row in cursor.fetchall())
            assert "USING INDEX" in plan
            assert "TEMP B-TREE" not in plan

    def test_streams_are_told_apart(self) -> None:
        """An assistant named "game" does not share the record of the game."""
        other = Script("game")
        self.writer.save(subject(other), notes("hers"))
        self.writer.save(subject(audit.GAME), notes("its"))
        assert ["AssistantCreated", "hers"] == self.events(other)
        assert ["GameBegun", "its"] == self.events("game")
        assert self.app.version("ADA") == self.app.version("Ada")

    def test_an_export(self) -> None:
        stream = io.StringIO()
        assert 250 == self.app.export("Ada", stream)
        head, *lines = map(json.loads, stream.getvalue().splitlines())
        assert ("Ada", 1, 250, None) == tuple(
            head[name] for name in ("assistant", "first", "last", "state_before")
        )
        assert list(range(1, 251)) == [line["version"] for line in lines]
        assert "assistant:EmergencyStopTriggered" == lines[121]["topic"]
        empty = io.StringIO()
        assert 0 == self.app.export("Nobody", empty)
        assert 1 == len(empty.getvalue().splitlines())

    def test_the_library_reads_it(self) -> None:
        notifications = self.app.notification_log.select(start=None, limit=3)
        assert ["AssistantCreated", "TickCompleted", "TickCompleted"] == [
            item.topic.partition(":")[2] for item in notifications
        ]
        assert RecordedEvent.objects.count() == 250
