"""Archives of old events."""

import gzip
import json
import os
import stat
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings
from twisted.internet.task import Clock as Reactor

from evennia_ai import audit
from evennia_ai.audit import archive
from evennia_ai.audit.archive import Archived
from evennia_ai.audit.upkeep import Upkeep
from evennia_ai.core.settings.services import AuditConfig
from evennia_ai.models import RecordedEvent, RecordedSnapshot
from tests.audit.support import NOON, AuditTest, Clock, UndoneError, notes, undone


def read(path: Path | None) -> list[dict[str, Any]]:
    """Return the lines of an archive."""
    assert path is not None
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class ArchiveTest(AuditTest):
    """A temporary folder for archives, and the policy to keep 150 events."""

    def setUp(self) -> None:
        super().setUp()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "archives"
        self.policy = {"keep_days": 0, "keep_events": 150, "archive_folder": str(self.folder)}
        override = override_settings(EVENNIA_AI_AUDIT_CONFIG=self.policy)
        override.enable()
        self.addCleanup(override.disable)
        self.app = audit.application()

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*"))


class TestArchive(ArchiveTest):
    def test_what_is_kept_stays_and_the_rest_is_in_a_file(self) -> None:
        self.fill(399)
        before = {version: self.state(version) for version in range(200, 401)}
        moved = self.app.archive("Ada")
        assert (200, True) == (
            moved.events,
            str(moved.path).endswith("-00000001-00000200.jsonl.gz"),
        )
        head, *lines = read(moved.path)
        assert list(range(1, 201)) == [line["version"] for line in lines]
        assert list(range(201, 401)) == self.versions()
        assert before == {version: self.state(version) for version in range(200, 401)}
        assert [200, 300, 400] == list(
            RecordedSnapshot.objects.values_list("originator_version", flat=True)
        )
        assert Archived(None, 0) == self.app.archive("Ada")
        assert 400 == self.app.count("Ada")
        self.fill(1)
        assert 401 == self.app.version("Ada")
        assert "Ada" == head["assistant"]

    def test_what_is_archived_is_told_with_its_file(self) -> None:
        self.fill(399)
        moved = self.app.archive("Ada")
        with pytest.raises(audit.ArchivedError, match="version 7 of Ada is archived") as caught:
            self.app.at("Ada", 7)
        assert str(moved.path) in str(caught.value)
        assert isinstance(caught.value, KeyError)
        with pytest.raises(audit.ArchivedError, match="version 200 of Ada is archived"):
            self.app.version_at("Ada", NOON)
        assert moved.path is not None
        moved.path.unlink()
        with pytest.raises(audit.ArchivedError, match="no file in"):
            self.app.at("Ada", 7)

    def test_files_follow_each_other(self) -> None:
        """Each file holds the state at its beginning."""
        self.fill(399)
        self.app.archive("Ada")
        state = self.state(200)
        self.fill(200)
        head, *lines = read(self.app.archive("Ada").path)
        assert (201, 400) == (head["first"], head["last"])
        assert state["tick_count"] == head["state_before"]["tick_count"]
        assert list(range(201, 401)) == [line["version"] for line in lines]

    def test_days(self) -> None:
        """Events older than `keep_days` are archived, but never the newest one."""
        config = AuditConfig(keep_days=30, keep_events=0, archive_folder=str(self.folder))
        now = Clock(archive.datetime_now_with_tzinfo() - timedelta(days=40))
        self.writer = audit.AuditWriter(clock=now)
        self.fill(299)
        assert 200 == self.app.archive("Ada", config).events
        now.at += timedelta(days=39)
        self.fill(250)
        assert 100 == self.app.archive("Ada", config).events
        assert 250 == len(self.versions())
        config = config.model_copy(update={"keep_days": 1 / 86_400_000})
        now.at -= timedelta(days=9)
        self.app.archive("Ada", config)
        assert list(range(501, 551)) == self.versions()

    def test_a_missing_snapshot_is_made_first(self) -> None:
        """The versions that stay need a snapshot at the cut."""
        self.fill(399)
        RecordedSnapshot.objects.all().delete()
        before = self.state()
        self.app.archive("Ada")
        assert before == self.state()

    def test_only_its_owner_reads_a_file(self) -> None:
        self.fill(399)
        path = self.app.archive("Ada").path
        assert path is not None
        assert 0o600 == stat.S_IMODE(path.stat().st_mode)
        assert 0o700 == stat.S_IMODE(path.parent.stat().st_mode)

    def test_archives_are_bounded(self) -> None:
        config = AuditConfig(
            keep_days=0, keep_events=150, archive_folder=str(self.folder), keep_archives=2
        )
        for _ in range(4):
            self.fill(400)
            self.app.archive("Ada", config)
        assert ["-00000601-00001000", "-00001001-00001400"] == [
            name.removesuffix(".jsonl.gz")[-18:] for name in self.files()
        ]

    def test_an_earlier_log_of_the_name_goes_first(self) -> None:
        """Whatever its versions are: those of the log that goes on begin with 1 again."""
        config = AuditConfig(
            keep_days=0, keep_events=150, archive_folder=str(self.folder), keep_archives=2
        )
        for _ in range(3):
            self.fill(400)
            self.app.archive("Ada", config)
        audit.close(self.script, "deleted")
        self.writer = audit.AuditWriter(clock=self.clock)
        for last in (200, 600):
            self.fill(400)
            path = self.app.archive("Ada", config).path
            assert path is not None
            assert path.exists()
            with pytest.raises(audit.ArchivedError) as caught:
                self.app.at("Ada", last - 10)
            assert str(path) in str(caught.value)
        assert ["-00000001-00000200", "-00000201-00000600"] == [
            name.removesuffix(".jsonl.gz")[-18:] for name in self.files()
        ]

    def test_what_was_broken_off_long_ago_is_removed(self) -> None:
        """A process that was killed leaves half a file behind."""
        self.fill(399)
        self.app.archive("Ada")
        for name, days in ((f"{self.files()[0]}.7.part", 2), (f"{self.files()[0]}.8.part", 0)):
            half = self.folder / name
            half.write_text("half")
            then = half.stat().st_mtime - days * 86_400
            os.utime(half, (then, then))
        self.fill(200)
        self.app.archive("Ada")
        assert ["8.part"] == [name[-6:] for name in self.files() if name.endswith("part")]


class TestCrash(ArchiveTest):
    def test_anywhere(self) -> None:
        """After a process ended at any step, the next run loses and doubles nothing."""
        for steps in (1, 2, 5, 6, 7, 9, 11):
            with self.subTest(steps=steps):
                self.fill(1_600)
                first = self.versions()[0]
                going = archive.steps_of(self.ada, self.app)
                for _ in range(steps):
                    next(going, None)
                del going
                self.fill(300)
                self.app.archive("Ada")
                self.app.archive("Ada")
                self.check(first)

    def check(self, first: int) -> None:
        """Check that every version is there once, in a file or in the table."""
        files = [name for name in self.files() if not name.endswith("part")]
        lines = [line for name in files for line in read(self.folder / name)[1:]]
        there = [line["version"] for line in lines] + self.versions()
        assert list(range(1, self.app.version("Ada") + 1)) == sorted(there)
        assert self.app.at("Ada", self.versions()[0]).version >= first

    def test_nothing_is_deleted_before_its_file_is_there(self) -> None:
        self.fill(399)
        self.folder.write_text("not a folder")
        with pytest.raises(OSError):
            self.app.archive("Ada")
        assert 400 == len(self.versions())


class TestByItself(ArchiveTest):
    def test_once_a_day_in_steps(self) -> None:
        """Each step is short, so that the game goes on between them."""
        reactor, seconds = Reactor(), [0.0]
        upkeep = Upkeep(reactor.callLater, lambda: seconds[0])
        self.fill(1_399)
        upkeep.look([self.ada])
        reactor.advance(0.2)
        assert 1_400 == len(self.versions())
        reactor.pump([0.2] * 20)
        assert 200 == len(self.versions())
        assert not reactor.getDelayedCalls()
        self.fill(400)
        upkeep.look([self.ada])
        assert not reactor.getDelayedCalls()
        seconds[0] = 86_400.0
        upkeep.look([self.ada])
        reactor.pump([0.2] * 20)
        assert 200 == len(self.versions())

    def test_trouble_is_for_tomorrow(self) -> None:
        """A failure is logged and tried again on the next day."""
        upkeep = Upkeep()
        self.fill(399)
        self.folder.write_text("not a folder")
        upkeep.look([self.ada])
        assert not upkeep.step()
        assert 400 == len(self.versions())

    def test_it_begins_with_a_flush(self) -> None:
        """Each flush schedules the look at the subjects that it wrote."""
        reactor = Reactor()
        self.fill(399)
        writer = audit.AuditWriter(reactor.callLater, self.clock)
        writer.record(self.ada, notes("a")[0])
        reactor.pump([1.0, *[0.2] * 20])
        assert 201 == len(self.versions())
        writer.record(self.ada, notes("a")[0])
        writer.stop()
        assert not reactor.getDelayedCalls()


class TestClosing(ArchiveTest):
    def test_all_of_it_is_put_away(self) -> None:
        """An assistant of the same name begins anew, at version 1."""
        audit.save(self.script, notes("a"))
        audit.record("waited", self.script)
        with audit.acting("Tom"):
            path = audit.close(self.script, "deleted")
        head, *lines = read(path)
        assert ["AssistantCreated", "a", "waited", "AssistantArchived"] == [
            line["event"] for line in lines
        ]
        details = lines[-1]["details"]
        assert ("deleted", str(path), "Tom") == tuple(
            details[name] for name in ("reason", "archive_path", "by")
        )
        assert 3 == details["final_stats"]["version"]
        assert ([], 0) == (self.versions(), RecordedSnapshot.objects.count())
        audit.save(self.script, notes("b"))
        assert ["AssistantCreated", "b"] == self.events()
        assert 4 == head["last"]

    def test_an_undone_deletion(self) -> None:
        """If the deletion is rolled back, the record goes on."""
        audit.save(self.script, notes("a"))
        audit.record("waited", self.script)
        with undone(), transaction.atomic():
            audit.close(self.script, "deleted")
            raise UndoneError
        audit.save(self.script, notes("b"))
        assert ["AssistantCreated", "a", "waited", "b"] == self.events()
        with override_settings(EVENNIA_AI_AUDIT_CONFIG=self.policy | {"keep_events": 1}):
            self.fill(3)
            audit.start_anew()
            self.app.archive("Ada")
        assert 7 == len(self.versions())

    def test_one_without_a_record(self) -> None:
        """The archive holds at least the creation and the end."""
        path = audit.close(self.script, "deleted")
        assert path is not None
        assert ["AssistantCreated", "AssistantArchived"] == [
            line["event"] for line in read(path)[1:]
        ]

    def test_one_whose_record_is_spoilt(self) -> None:
        """Events that cannot be applied are archived as they are."""
        audit.save(self.script, notes("a"))
        RecordedEvent.objects.filter(originator_version=2).update(topic="elsewhere:Name")
        audit.start_anew()
        path = audit.close(self.script, "deleted")
        assert ["AssistantCreated", "a"] == [line["event"] for line in read(path)[1:]]
        assert [] == self.versions()
