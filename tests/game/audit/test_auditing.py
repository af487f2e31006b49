"""The record as staff and programs read it: events, past states and changes."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.test.utils import override_settings

from evennia_ai import audit, operations
from evennia_ai.operations import times
from evennia_ai.operations.audit import log as auditing
from evennia_ai.operations.result import ProblemKind, Result
from tests.game.support import GameTest, archive_folder, plain_data, whispers

NOW = datetime(2026, 11, 21, 17, 0, tzinfo=UTC)


class TestMoments:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param("2026-11-21", "2026-11-21T00:00:00+00:00", id="day"),
            pytest.param("2026-11-21 16:30", "2026-11-21T16:30:00+00:00", id="minute"),
            pytest.param("2026-11-21t16:30:05z", "2026-11-21T16:30:05+00:00", id="iso"),
            pytest.param("2026-11-21T16:30+02:00", "2026-11-21T14:30:00+00:00", id="zone"),
            pytest.param("2026-11-21 16:30:05.25", "2026-11-21T16:30:05.250000+00:00", id="parts"),
            pytest.param("2 hours ago", "2026-11-21T15:00:00+00:00", id="hours ago"),
            pytest.param(" 1  Day ago ", "2026-11-20T17:00:00+00:00", id="a day ago"),
            pytest.param("90 minutes ago", "2026-11-21T15:30:00+00:00", id="minutes ago"),
            pytest.param("3 weeks ago", "2026-10-31T17:00:00+00:00", id="weeks ago"),
            pytest.param("0 seconds ago", "2026-11-21T17:00:00+00:00", id="just now"),
        ],
    )
    def test_what_is_a_time(self, text: str, expected: str) -> None:
        """A time without a zone is in the game's, which is UTC here."""
        assert expected == times.moment_of(text, NOW).isoformat()

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param("2026-11-21 16:30", "2026-11-21T15:30:00+00:00", id="winter"),
            pytest.param("2026-07-21 16:30", "2026-07-21T14:30:00+00:00", id="summer"),
            pytest.param("2026-07-21", "2026-07-20T22:00:00+00:00", id="day"),
            pytest.param("2026-11-21 16:30 CET", "2026-11-21T15:30:00+00:00", id="named"),
            pytest.param("2026-10-25 02:30 CEST", "2026-10-25T00:30:00+00:00", id="first of two"),
            pytest.param("2026-10-25 02:30 cet", "2026-10-25T01:30:00+00:00", id="second of two"),
            pytest.param("2026-11-21 16:30 UTC", "2026-11-21T16:30:00+00:00", id="in UTC"),
            pytest.param("2026-11-21T16:30Z", "2026-11-21T16:30:00+00:00", id="iso"),
        ],
    )
    @override_settings(TIME_ZONE="Europe/Berlin")
    def test_a_time_is_typed_as_it_is_shown(self, text: str, expected: str) -> None:
        """The name of the zone may follow, which settles an hour that comes twice."""
        moment = times.moment_of(text, NOW)
        assert expected == moment.isoformat()
        assert moment == times.moment_of(times.as_shown(moment.timestamp()), NOW)

    @override_settings(TIME_ZONE="America/Sao_Paulo")
    def test_a_zone_without_a_name_of_its_own(self) -> None:
        """The offset stands in place of a name; names of other zones are refused."""
        shown = times.as_shown(NOW.timestamp())
        assert "2026-11-21 14:00 -03" == shown
        assert times.moment_of(shown, NOW) == NOW
        for text in ("2026-11-21 16:30 CET", "2026-11-21 10:00Z -03"):
            with pytest.raises(ValueError, match="without a zone it is America/Sao_Paulo"):
                times.moment_of(text, NOW)
        with pytest.raises(ValueError, match="is not over yet: it is 2026-11-21 14:00 -03"):
            times.moment_of("2026-11-21 14:01", NOW)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="nothing"),
            pytest.param("yesterday", id="a word"),
            pytest.param("120", id="a version"),
            pytest.param("2026", id="a year"),
            pytest.param("20261121", id="without dashes"),
            pytest.param("2026-11-21X16:30", id="another letter between"),
            pytest.param("2026-13-01", id="a thirteenth month"),
            pytest.param("2026-11-21 25:00", id="a 25th hour"),
            pytest.param("2026-11-21 16", id="an hour alone"),
            pytest.param("-2 hours ago", id="less than nothing"),
            pytest.param("1.5 hours ago", id="a part"),
            pytest.param("2 years ago", id="years have no one length"),
            pytest.param("999999 weeks ago", id="before all time"),
            pytest.param("0001-01-01T00:00+14:00", id="before all time in UTC"),
            pytest.param("\u0662 hours ago", id="digits of another script"),
            pytest.param("|rnow|n\n" * 50, id="long and coloured"),
        ],
    )
    def test_what_is_none(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"not a time; a time is like 2026-11-21, ") as caught:
            times.moment_of(text, NOW)
        assert 200 > len(str(caught.value))

    def test_what_is_not_over_yet(self) -> None:
        with pytest.raises(ValueError, match="is not over yet: it is 2026-11-21 17:00 UTC"):
            times.moment_of("2026-11-21 17:01", NOW)


class AuditingTest(GameTest):
    """Ada's record, with a folder of its own for archives."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = archive_folder(self)

    def log(self, **options: Any) -> dict[str, Any]:
        """A page of Ada's record, as plain data."""
        return plain_data(auditing.audit_log(self.ada_script, **options))

    def state(self, *version: int, **at: str) -> dict[str, Any]:
        """Ada's state at a version or a time, as plain data."""
        return plain_data(auditing.audit_state(self.ada_script, *version, **at))

    def newest(self) -> int:
        audit.flush()
        return int(audit.application().version("Ada"))

    def refused(self, result: Result, problem: ProblemKind) -> str:
        """Check the problem of a failed result. Returns its message."""
        assert (False, problem) == (result.ok, result.problem)
        return result.message


class TestLog(AuditingTest):
    def test_the_newest_first(self) -> None:
        self.ada_script.db.persona = "a keeper"
        operations.stop(self.ada_script, "enough", by="Tom")
        entries = self.log()["entries"]
        assert "EmergencyStopTriggered" == entries[0]["event"]
        assert "stopped (stopped): enough" == entries[0]["text"]
        assert ("enough", "Tom") == tuple(entries[0]["details"][n] for n in ("reason", "by"))
        assert "ConfigurationChanged" == entries[1]["event"]
        versions = [entry["version"] for entry in entries]
        assert sorted(versions, reverse=True) == versions
        assert datetime.fromisoformat(entries[0]["at"]).tzinfo

    def test_pages(self) -> None:
        for number in range(7):
            self.ada_script.db.persona = f"number {number}"
        audit.flush()
        whole = [entry["version"] for entry in self.log(limit=100)["entries"]]
        seen: list[int] = []
        before = None
        for _ in range(20):
            page = self.log(before=before, limit=3)
            seen += [entry["version"] for entry in page["entries"]]
            if (before := page["next"]) is None:
                break
        assert whole == seen
        assert len(whole) == page["count"]

    def test_only_some_events(self) -> None:
        self.ada_script.db.persona = "a keeper"
        operations.stop(self.ada_script, "enough")
        page = self.log(events=("EmergencyStopTriggered",))
        assert ["EmergencyStopTriggered"] == [entry["event"] for entry in page["entries"]]
        result = auditing.audit_log(self.ada_script, events=("no such",))
        assert (True, "The record of Ada has no such entry.") == (result.ok, result.message)

    def test_only_what_somebody_did(self) -> None:
        """If too many entries have to be searched, the answer says where to go on."""
        operations.stop(self.ada_script, "enough", by="Tom")
        operations.clear(self.ada_script, by="Mira")
        page = self.log(by="tom ")
        assert ["EmergencyStopTriggered"] == [entry["event"] for entry in page["entries"]]
        assert page["next"] is None
        with mock.patch.object(auditing, "MOST_LOOKED_AT", 1):
            assert ([], self.newest()) == tuple(self.log(by="Tom")[n] for n in ("entries", "next"))
            page = self.log(by="Tom", before=self.newest())
        assert ["EmergencyStopTriggered"] == [entry["event"] for entry in page["entries"]]

    def test_a_program_says_for_whom_it_acts(self) -> None:
        """The record names the person for whom a program disables or enables an assistant."""
        operations.set_enabled(self.ada_script, False, by="Tom")
        operations.set_enabled(self.ada_script, True, by="Mira")
        assert [1, 1] == [len(self.log(by=name)["entries"]) for name in ("Tom", "Mira")]

    def test_only_of_a_day(self) -> None:
        operations.stop(self.ada_script, "enough", by="Tom")
        assert self.log(day="today")["entries"] == self.log()["entries"]
        assert [] == self.log(day="yesterday")["entries"]
        problem = self.refused(auditing.audit_log(self.ada_script, day="soon"), ProblemKind.INVALID)
        assert problem.startswith("'soon' is not a time; a time is like today, yesterday")

    def test_the_games_own(self) -> None:
        """Events of no single assistant are in the game's record."""
        operations.add_lore("The mill is old.", keywords=["mill"], by="Tom")
        entry = plain_data(auditing.audit_log(None))["entries"][0]
        assert ("lore_changed", "Tom") == (entry["event"], entry["details"]["by"])
        assert "of the game" in auditing.audit_log(None).message

    def test_a_page_is_bounded(self) -> None:
        for limit in (0, -1, 10**6):
            assert 1 <= len(self.log(limit=limit)["entries"]) <= auditing.MOST_ENTRIES


class TestMomentsOfRecord(AuditingTest):
    def test_a_version_a_time_or_now(self) -> None:
        self.ada_script.db.persona = "a keeper"
        newest = self.newest()
        assert 7 == auditing.find_version(self.ada_script, " 7 ").data
        assert newest == auditing.find_version(self.ada_script, "0 seconds ago").data
        assert auditing.find_version(self.ada_script, " ").data is None
        refused = auditing.find_version(self.ada_script, "soon")
        assert (False, ProblemKind.INVALID) == (refused.ok, refused.problem)


class TestState(AuditingTest):
    def test_as_it_was_at_a_version(self) -> None:
        self.ada_script.db.persona = "a keeper"
        before = self.newest()
        self.ada_script.db.persona = "a pirate"
        operations.stop(self.ada_script, "enough")
        then, now = self.state(before), self.state()
        assert ("a keeper", False) == (then["state"]["settings"]["persona"], self.stopped(then))
        assert ("a pirate", True) == (now["state"]["settings"]["persona"], self.stopped(now))
        assert (before, self.newest()) == (then["version"], now["version"])

    def stopped(self, found: Mapping[str, Any]) -> bool:
        return bool(found["state"]["is_stopped"])

    def test_as_it_was_at_a_time(self) -> None:
        self.ada_script.db.persona = "a keeper"
        assert self.newest() == self.state(at="0 seconds ago")["version"]

    def test_before_there_was_any(self) -> None:
        result = auditing.audit_state(self.ada_script, at="2020-01-01")
        problem = self.refused(result, ProblemKind.NOT_FOUND)
        assert "Ada has no record of 2020-01-01T00:00:00+00:00." == problem

    def test_what_makes_no_sense(self) -> None:
        newest = self.newest()
        for version in (0, -1, newest + 1):
            text = self.refused(
                auditing.audit_state(self.ada_script, version), ProblemKind.NOT_FOUND
            )
            assert f"Ada has no version {version}; there are 1 to {newest}." == text
        text = self.refused(auditing.audit_state(self.ada_script, at="soon"), ProblemKind.INVALID)
        assert text.startswith("'soon' is not a time;")
        both = auditing.audit_state(self.ada_script, 1, at="2 hours ago")
        assert "not both" in self.refused(both, ProblemKind.INVALID)

    def test_what_changed(self) -> None:
        operations.stop(self.ada_script, "enough", by="Tom")
        self.ada_script.db.execution_config = {"calls_per_reply": 2}
        first = self.newest()
        self.ada_script.db.execution_config = {"calls_per_reply": 3}
        operations.clear(self.ada_script, by="Tom")
        last = self.newest()
        result = auditing.audit_difference(self.ada_script, first, last)
        changes = {row["path"]: row for row in plain_data(result)["changes"]}
        path = "settings.execution_config.calls_per_reply"
        assert (2, 3) == (changes[path]["before"], changes[path]["after"])
        assert (True, False) == (changes["is_stopped"]["before"], changes["is_stopped"]["after"])
        assert "enough" == changes["lockout.reason"]["before"]
        assert f"\n  {path}: 2 -> 3" in result.message
        assert "version" not in changes

    @override_settings(EVENNIA_AI_MEMORY_CONFIG={"recall_limit": 7})
    def test_what_nobody_had_set_is_told_as_it_held(self) -> None:
        """An unset value is shown as its default, or as the game's value."""
        first = self.newest()
        self.ada_script.db.interaction_enabled = False
        self.ada_script.db.memory_config = {"recall_limit": 3}
        result = auditing.audit_difference(self.ada_script, first, self.newest())
        changes = plain_data(result)["changes"]
        values = {row["path"]: (row["before"], row["after"]) for row in changes}
        assert values == {
            "settings.interaction_enabled": (True, False),
            "settings.memory_config.recall_limit": (7, 3),
        }
        then = plain_data(auditing.audit_state(self.ada_script, first))["state"]["settings"]
        assert (True, {"recall_limit": 7}) == (then["interaction_enabled"], then["memory_config"])

    def test_backwards_and_nothing(self) -> None:
        first = self.newest()
        self.ada_script.db.persona = "a pirate"
        last = self.newest()
        rows = plain_data(auditing.audit_difference(self.ada_script, last, first))["changes"]
        assert ["settings.persona"] == [row["path"] for row in rows]
        assert "a pirate" == rows[0]["before"]
        result = auditing.audit_difference(self.ada_script, last, last)
        assert ([], "Nothing of Ada changed") == (result.data["changes"], result.message[:22])

    def test_a_difference_to_nothing(self) -> None:
        for pair in ((1, 10**6), (10**6, 1)):
            result = auditing.audit_difference(self.ada_script, *pair)
            assert "has no version 1000000" in self.refused(result, ProblemKind.NOT_FOUND)


class TestFiles(AuditingTest):
    def fill(self) -> None:
        """Make the record long enough to be archived."""
        for number in range(120):
            audit.record("bell", self.ada_script, number=number)
        audit.flush()

    def test_an_export(self) -> None:
        self.ask("whisper Ada = hello", whispers("Good evening."))
        before = self.newest()
        result = plain_data(operations.export_audit(self.ada_script))
        path = Path(result["path"])
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert result["count"] == before
        assert before <= len(lines) <= before + 1
        assert self.folder in path.parents
        assert [path.name] == os.listdir(path.parent)
        assert before == self.newest()

    def test_two_exports_do_not_meet(self) -> None:
        """Similar names do not lead to the same file."""
        scripts = [self.make(name)[0] for name in ("Old Edda", "Old-Eda")]
        paths = [plain_data(operations.export_audit(script))["path"] for script in scripts]
        assert 2 == len(set(paths))
        for path in paths:
            assert self.folder.resolve() in Path(path).resolve().parents

    def test_a_folder_that_cannot_be_written(self) -> None:
        """The message names the folder."""
        self.fill()
        (self.folder / "file").write_text("x")
        wrong = {"archive_folder": str(self.folder / "file"), "keep_events": 5}
        for act in (operations.export_audit, operations.archive_audit):
            with override_settings(EVENNIA_AI_AUDIT_CONFIG=wrong):
                problem = self.refused(act(self.ada_script), ProblemKind.UNAVAILABLE)
            assert str(self.folder / "file") in problem

    def test_wrong_settings(self) -> None:
        for act in (operations.export_audit, operations.archive_audit):
            with override_settings(EVENNIA_AI_AUDIT_CONFIG={"keep_day": 3}):
                problem = self.refused(act(self.ada_script), ProblemKind.UNAVAILABLE)
            assert "keep_day" in problem

    def test_an_archive(self) -> None:
        """Old events are archived and dropped; the current state is still known."""
        self.ask("whisper Ada = hello", whispers("Good evening."))
        self.ada_script.db.persona = "a keeper"
        self.fill()
        self.ask("whisper Ada = hello", whispers("Good evening again."))
        keeps = {"archive_folder": str(self.folder), "keep_events": 5}
        with override_settings(EVENNIA_AI_AUDIT_CONFIG=keeps):
            result = plain_data(operations.archive_audit(self.ada_script, by="Tom"))
        assert 100 == result["count"]
        assert self.folder in Path(result["path"]).parents
        entry = self.log()["entries"][0]
        assert ("record_archived", "Tom") == (entry["event"], entry["details"]["by"])
        assert "a keeper" == self.state()["state"]["settings"]["persona"]
        problem = self.refused(auditing.audit_state(self.ada_script, 2), ProblemKind.NOT_FOUND)
        assert problem.startswith("Version 2 of Ada is archived: ")
        early = auditing.audit_state(self.ada_script, at="2020-01-01")
        assert "is archived" in self.refused(early, ProblemKind.NOT_FOUND)
        assert [] == auditing.check_audit(self.ada_script).data

    def test_nothing_to_archive(self) -> None:
        result = plain_data(operations.archive_audit(self.ada_script, by="Tom"))
        assert ("", 0) == (result["path"], result["count"])
