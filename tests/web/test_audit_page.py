"""Pages of a record: the timeline, past states, differences, edits, and its files."""

import json
import re
from typing import Any
from unittest import mock

from django.test.utils import override_settings
from evennia.typeclasses.attributes import AttributeHandler

from evennia_ai import audit, operations
from evennia_ai.core.text.cleaning import strip_control
from evennia_ai.operations.audit.undoing import list_edits
from evennia_ai.operations.files import exports
from evennia_ai.operations.settings import changing
from evennia_ai.runtime import state
from tests.browser.cases import CASES
from tests.game.support import archive_folder
from tests.web.support import WebTest, intruders, text_of


class AuditPages(WebTest):
    """Ada, whose settings somebody changes; archives go to a temporary folder."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = archive_folder(self)

    def change(self, by: str, **values: Any) -> None:
        done = changing.update_settings(self.ada_script, values, by=by)
        assert done.ok, done.message
        audit.flush()

    def newest(self) -> int:
        audit.flush()
        return int(audit.application().version("Ada"))


class TimelineTest(AuditPages):
    def test_the_newest_first_with_who_did_it(self) -> None:
        self.change("Astrid", tick_rate=9)
        operations.stop(self.ada_script, "it rants", by="Berit")
        shown = text_of(self.get("audit", key="Ada")).partition("What happened")[2]
        first, _, rest = shown.partition("ConfigurationChanged")
        assert "stopped (stopped): it rants" in first
        assert "Berit" in first
        assert "tick_rate is 9" in rest
        assert '"old_value"' in rest

    def test_people_have_names(self) -> None:
        """The record stores account numbers; the page must not show them."""
        pia = self.people["player"]
        for event in ("person_forgotten", "memories_exported"):
            audit.record(event, self.ada_script, by="Astrid", person=f"*#{pia.pk}")
        audit.record("person_forgotten", self.ada_script, by="Astrid", person="*#99999")
        shown = text_of(self.get("audit", key="Ada"))
        assert f"person_forgotten {pia.key} is forgotten" in shown
        assert f"memories of {pia.key} were exported" in shown
        assert "*#99999 is forgotten" in shown  # a deleted account has no name any more

    def test_chosen_by_event_person_and_day(self) -> None:
        """A wrong value is an error, and stays in its field."""
        self.change("Astrid", tick_rate=9)
        operations.stop(self.ada_script, "it rants", by="Berit")
        for query, is_there in (
            ({"event": "EmergencyStopTriggered"}, (True, False)),
            ({"by": "astrid"}, (False, True)),
            ({"by": "Nobody"}, (False, False)),
            ({"day": "today"}, (True, True)),
            ({"day": "yesterday"}, (False, False)),
            ({"day": "today", "by": "BERIT"}, (True, False)),
        ):
            shown = text_of(self.get("audit", key="Ada", query=query)).partition("What happened")[2]
            flags = "it rants" in shown, "tick_rate is 9" in shown
            assert is_there == flags, query
        response = self.get("audit", key="Ada", query={"day": "the other day"})
        assert 400 == response.status_code
        assert "'the other day' is not a time" in text_of(response)
        assert 'value="the other day"' in response.content.decode()
        assert 400 == self.get("audit", key="Ada", query={"before": "x"}).status_code

    def test_older_ones_come_by_a_link(self) -> None:
        for number in range(60):
            operations.stop(self.ada_script, f"reason {number}.", by="Berit")
            operations.clear(self.ada_script, by="Berit")
        shown = self.walk("audit", "?event=EmergencyStopTriggered&by=berit", key="Ada")
        assert 2 == len(shown)
        counts = [" ".join(shown).count(f"): reason {number}.") for number in range(60)]
        assert [1] * 60 == counts

    def test_the_record_of_the_game(self) -> None:
        operations.add_lore("The mill is old.", keywords=["mill"], by="Astrid")
        shown = text_of(self.get("game-audit", query={"by": "Astrid"}))
        assert "lore is added" in shown
        assert "lore is added" not in text_of(self.get("audit", key="Ada"))

    def test_hostile_texts_stay_texts(self) -> None:
        for case in CASES:
            self.change(case.written[:40] or "x", persona=f"She {strip_control(case.written)}")
            audit.record("hushed", self.ada_script, room=case.written, minutes=1, by=case.written)
        for name, query in (
            ("audit", {"by": CASES[1].written, "event": CASES[2].written}),
            ("audit", {}),
            ("audit-state", {}),
            ("audit-state", {"at": CASES[1].written}),
            ("audit-difference", {"a": "1"}),
            ("audit-difference", {"a": CASES[1].written}),
        ):
            assert [] == intruders(self.get(name, key="Ada", query=query)), name


class MomentsTest(AuditPages):
    def test_as_it_was(self) -> None:
        self.change("Astrid", tick_rate=9)
        then = self.newest()
        self.change("Astrid", tick_rate=12)
        assert "tick_rate 9" in text_of(self.get("audit-state", key="Ada", query={"at": str(then)}))
        for query in ({}, {"at": "0 seconds ago"}):
            assert "tick_rate 12" in text_of(self.get("audit-state", key="Ada", query=query))
        for asked, status in (("soon", 400), ("999999", 404), ("2020-01-01", 404)):
            response = self.get("audit-state", key="Ada", query={"at": asked})
            assert status == response.status_code
            assert f'value="{asked}"' in response.content.decode()

    @override_settings(TIME_ZONE="Europe/Berlin")
    def test_the_zone_of_what_is_typed_is_said(self) -> None:
        """Input is in the zone of shown times, so that a shown time can be typed."""
        for name in ("audit", "audit-state", "audit-difference"):
            assert "2026-11-21 17:00" in text_of(self.get(name, key="Ada")), name
            assert "Europe/Berlin" in text_of(self.get(name, key="Ada")), name
        shown = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d CES?T", text_of(self.get("audit", key="Ada")))
        response = self.get("audit-state", key="Ada", query={"at": shown[0]})
        assert "is not a time" not in text_of(response)

    def test_what_changed(self) -> None:
        """Without a second moment the difference is to the present."""
        self.change("Astrid", persona="A keeper of lamps")
        then = self.newest()
        self.change("Astrid", persona="A keeper of boats")
        body = self.get("audit-difference", key="Ada", query={"a": str(then)}).content.decode()
        assert "<del>lamps" in body
        assert "<ins>boats" in body
        assert f"Version {then}" in body
        same = self.get("audit-difference", key="Ada", query={"a": str(then), "b": str(then)})
        assert "Nothing changed" in text_of(same)
        assert 400 == self.get("audit-difference", key="Ada", query={"a": "soon"}).status_code
        assert 200 == self.get("audit-difference", key="Ada").status_code


class EditsTest(AuditPages):
    def test_back_and_again(self) -> None:
        before = state.read(self.ada_script, "tick_rate")
        self.change("Astrid", tick_rate=9)
        number = newest_edit(self.ada_script)
        shown = text_of(self.post("audit-undo", {"number": number}, key="Ada", who="controller"))
        assert before == state.read(self.ada_script, "tick_rate")
        assert "is undone" in shown
        self.post("audit-redo", key="Ada")
        assert 9 == state.read(self.ada_script, "tick_rate")
        assert "'x' is not the number of an edit" in text_of(
            self.post("audit-undo", {"number": "x"}, key="Ada")
        )
        assert 409 == self.post("audit-undo", {"number": 1}, key="Ada").status_code

    def test_what_an_edit_needed_is_needed_to_take_it_back(self) -> None:
        self.change("Astrid", command_allowlist=["look"])
        number = newest_edit(self.ada_script)
        refused = self.post("audit-undo", {"number": number}, key="Ada", who="controller")
        assert 403 == refused.status_code
        assert ["look"] == list(state.read(self.ada_script, "command_allowlist"))
        assert 200 == self.post("audit-undo", {"number": number}, key="Ada").status_code
        assert [] == list(state.read(self.ada_script, "command_allowlist"))


class FilesTest(AuditPages):
    def test_check(self) -> None:
        assert "agrees" in text_of(self.get("audit", key="Ada", query={"check": "yes"}))
        AttributeHandler.add(self.ada_script.attributes, "usage", {"calls": 3})
        shown = text_of(self.get("audit", key="Ada", query={"check": "yes"}))
        assert "The record and what is stored differ." in shown
        assert "usage.calls 0 3" in shown

    def test_download(self) -> None:
        self.change("Astrid", tick_rate=9)
        response = self.get("audit-export", key="Ada")
        assert 'attachment; filename="audit-ada.jsonl"' == response["Content-Disposition"]
        assert "nosniff" == response["X-Content-Type-Options"]
        head, *lines = map(json.loads, response.content.decode().splitlines())
        assert "Ada" == head["assistant"]
        assert [*range(1, self.newest() + 1)] == [line["version"] for line in lines]

    def test_what_is_too_long_is_written_into_a_file(self) -> None:
        with mock.patch.object(exports, "MOST_SENT", 1):
            response = self.get("audit-export", key="Ada")
        assert 503 == response.status_code
        assert "write it to a file of the game instead" in text_of(response)
        assert "events of Ada are in" in text_of(self.post("audit-file", key="Ada"))
        assert 1 == len(list(self.folder.glob("*.jsonl")))

    def test_archive(self) -> None:
        assert 400 == self.post("audit-archive", key="Ada").status_code
        shown = text_of(self.post("audit-archive", {"sure": "yes"}, key="Ada"))
        assert "Nothing of Ada's record is old enough to be archived." in shown


def newest_edit(script: Any) -> int:
    """Return the number of the newest edit."""
    return int(list_edits(script).data.edits[0]["number"])
