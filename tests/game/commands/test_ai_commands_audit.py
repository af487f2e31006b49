"""`aiaudit`: the record at the command line."""

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from django.test.utils import override_settings

from evennia_ai import operations
from evennia_ai.operations.audit.undoing import list_edits
from evennia_ai.operations.times import clock_of, iso
from evennia_ai.runtime import state
from tests.game.commands.ai_case import REFUSED_SETTINGS, UNKNOWN, StaffCommandTest


class AuditTest(StaffCommandTest):
    """Ada, with a few changes on record by Tom."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = self.enterContext(TemporaryDirectory())
        self.enterContext(override_settings(GAME_DIR=self.folder, EVENNIA_AI_AUDIT_CONFIG={}))
        self.typed("aigoal ada 8 = Find the |ratlas")
        self.typed("aiinteract ada off")


class TestLooking(AuditTest):
    def test_the_newest_entries(self) -> None:
        shown = self.typed("aiaudit ada")
        for expected in ("Version", "When", "ConfigurationChanged", "GoalCreated", "|ratlas"):
            assert expected in shown, expected
        assert shown.index("ConfigurationChanged") < shown.index("GoalCreated")
        by_tom = [line for line in shown.split("\n") if "GoalCreated" in line]
        assert by_tom
        assert by_tom[0].rstrip().endswith("Tom")

    def test_one_kind_of_them(self) -> None:
        shown = self.typed("aiaudit ada GoalCreated")
        assert "GoalCreated" in shown
        assert "ConfigurationChanged" not in shown

    def test_a_long_record_is_shown_in_parts(self) -> None:
        for number in range(110):
            state.write(self.ada_script, max_history=50 + number)
        assert "Page [1/" in self.typed("aiaudit ada")
        shown = self.typed("end")
        older = next(line for line in shown.split("\n") if line.startswith("Older: "))
        self.typed("q")
        assert "GoalCreated" in self.typed(older.removeprefix("Older: "))

    def test_what_she_was_like(self) -> None:
        shown = self.typed("aiaudit ada GoalCreated")
        line = next(line for line in shown.split("\n") if "GoalCreated" in line)
        version = int(line.split()[0])
        before, after = (self.typed(f"aiaudit ada at {v}") for v in (version - 1, version))
        assert after.startswith(f"Ada at version {version}, ")
        assert "|ratlas" not in before
        assert "|ratlas" in after
        assert "|ratlas" in self.typed("aiaudit ada at 0 seconds ago")
        assert "is not over yet" in self.typed("aiaudit ada at 2199-01-01")

    @override_settings(TIME_ZONE="Asia/Tokyo")
    def test_times_are_shown_as_they_are_typed(self) -> None:
        """By the game's clock, on lists of the audit log, of edits and of messages alike."""
        self.typed("whisper ada = hello")
        (entry,) = operations.audit_log(self.ada_script, events=("GoalCreated",)).data.entries
        shown, version = clock_of(entry["at"]), entry["version"]
        assert datetime.fromisoformat(f"{shown}+09:00") == datetime.fromisoformat(entry["at"])
        assert shown in self.typed("aiaudit ada GoalCreated")
        assert f"version {version}, {shown}" in self.typed(f"aiaudit ada at {version}")
        (edit,) = list_edits(self.ada_script).data.edits
        assert clock_of(edit["at"])[:16] in self.typed("assistant undo ada list")
        heard = iso(self.ada_script.work.decisions.newest()[0].at)
        assert clock_of(heard) in self.typed("aiinteract ada")

    def test_two_versions_are_compared(self) -> None:
        assert "interaction_enabled" in self.typed("aiaudit ada diff 1 4")
        for line in ("diff", "diff 1", "diff 1 b", "diff 1 2 3"):
            assert "Usage: aiaudit <name>" in self.typed(f"aiaudit ada {line}"), line

    def test_what_is_typed_wrongly(self) -> None:
        for line in ("aiaudit ada two words", "aiaudit ada at", "aiaudit ada check now"):
            assert "Usage: aiaudit <name>" in self.typed(line), line
        assert self.typed("aiaudit ada 2").startswith("To see a version: aiaudit Ada at 2")
        assert self.typed("aiaudit edda").startswith(UNKNOWN)
        assert self.typed("aiaudit ada at yesterday").startswith("'yesterday' is not a time;")
        assert self.typed("aiaudit ada at 999").startswith("Ada has no version 999; there are 1")


class TestKeeping(AuditTest):
    def test_the_record_agrees(self) -> None:
        agrees = "The record of Ada agrees with what it stores."
        assert agrees == self.typed("aiaudit ada check")

    def test_it_is_written_into_a_file(self) -> None:
        """The file is inside the game's folder."""
        shown = self.typed("aiaudit ada export")
        written = [path for path in Path(self.folder).rglob("*") if path.is_file()]
        assert 1 == len(written), shown
        assert written[0].name in shown.replace("\n", "")

    def test_export_and_archive_need_a_say_over_her(self) -> None:
        self.lock_out()
        for word in ("export", "archive"):
            assert REFUSED_SETTINGS == self.typed(f"aiaudit ada {word}"), word
        assert [] == [path for path in Path(self.folder).rglob("*") if path.is_file()]
        assert "GoalCreated" in self.typed("aiaudit ada")
