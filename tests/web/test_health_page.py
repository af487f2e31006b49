"""The page about health: each problem has a sign and advice."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from django.db import connection
from django.test.utils import override_settings
from twisted.internet.defer import succeed

from evennia_ai import operations
from evennia_ai.llm.check import CheckResult, Report
from evennia_ai.operations.monitoring import database_files, equipment
from evennia_ai.resilience import CircuitBreakerState
from evennia_ai.runtime import services
from tests.browser.cases import CASES
from tests.web.support import WebTest, intruders, text_of

MADE_UP = Report("<b>a model</b>", (CheckResult("answers", False, "try <i>another</i>"),))


class HealthTest(WebTest):
    def test_all_is_well(self) -> None:
        shown = text_of(self.get("health"))
        parts = ("The game's model", "Memory store", connection.vendor, "evennia-ai")
        for text in ("All is well.", *parts):
            assert text in shown
        for name in ("Python", "evennia", "django", "mem0ai"):
            assert next(row for row in equipment.equipment().data.versions if row["name"] == name)[
                "version"
            ]

    def test_what_is_not_well_says_what_to_do(self) -> None:
        self.ada_script.db.llm_provider = "acme"
        response = self.get("health")
        shown = text_of(response)
        assert "problem: llm_provider is 'acme'" in shown
        assert "assistant config Ada set llm_model" in shown
        servers = services.remote_servers()
        row = {
            "name": "atlas",
            "what": "",
            "state": "connecting",
            "problem": "<b>refused</b>",
            "tools": 0,
            "left_out": [],
            "breaker": "open",
        }
        with mock.patch.object(servers, "status", return_value=[row]):
            response = self.get("health")
        assert "MCP server atlas" in text_of(response)
        assert "problem: connecting, 0 tools; breaker open. <b>refused</b>" in text_of(response)
        assert "<b>refused" not in response.content.decode()

    def test_a_breaker_is_reset(self) -> None:
        """The game's breakers are for owners, the assistant's own for those who control it."""
        own = self.ada_script.work.breakers.get_or_create("tool:lamp")
        game = services.pool().breakers.get_or_create("llm:openai")
        for breaker in (own, game):
            for _ in range(50):
                breaker.record_failure(OSError("<b>gone</b>"))
            assert CircuitBreakerState.OPEN is breaker.state
        shown = text_of(self.get("health"))
        assert "tool:lamp Ada ✖ left alone, since it failed; asked again in" in shown
        assert "llm:openai: breaker open" in shown
        body = self.get("health", who="builder").content.decode()
        assert "Reset it" not in body
        self.post("reset-breaker", {"breaker": "tool:lamp"}, who="controller", key="Ada")
        assert CircuitBreakerState.CLOSED is own.state
        form = {"breaker": "llm:openai"}
        assert 403 == self.post("reset-game-breaker", form, who="controller").status_code
        response = self.post("reset-breaker", form, who="controller", key="Ada")
        assert 404 == response.status_code
        assert CircuitBreakerState.OPEN is game.state
        shown = text_of(self.post("reset-game-breaker", form))
        assert "The breaker llm:openai was open, and is closed now." in shown
        assert CircuitBreakerState.CLOSED is game.state

    def test_a_model_is_checked(self) -> None:
        self.use_scripted_model()
        response = self.post("check", {"assistant": "Ada"})
        assert 200 == response.status_code
        shown = text_of(response)
        for line in operations.check_model(self.ada_script).result.lines:
            assert line.name in shown
        with mock.patch.object(operations, "check_model", return_value=succeed(MADE_UP)):
            response = self.post("check", {"assistant": ""})
        assert 200 == response.status_code
        shown = text_of(response)
        assert "<b>a model</b>: fix the problems" in shown
        assert "answers ✖ no try <i>another</i>" in shown
        assert "<i>another" not in response.content.decode()
        response = self.post("check", {"assistant": "<b>"})
        assert "There is no assistant named '<b>'." in text_of(response)
        assert 400 == self.post("check").status_code

    def test_archives_of_the_record(self) -> None:
        with (
            TemporaryDirectory() as folder,
            override_settings(EVENNIA_AI_AUDIT_CONFIG={"archive_folder": folder}),
        ):
            assert "Nothing has been archived yet" in text_of(self.get("health"))
            for number in range(equipment.MOST_ARCHIVES + 3):
                path = Path(folder) / f"ada-{number:02}.jsonl.gz"
                path.write_bytes(gzip.compress(b"{}"))
            shown = text_of(self.get("health"))
            assert "ada-0" in shown
            rows = equipment.equipment().data.archives
            assert equipment.MOST_ARCHIVES == len(rows)

    def test_a_file_that_others_may_read_is_named_without_its_folder(self) -> None:
        """Builders read this page, and must not learn where the game's files are."""
        path = "/srv/games/harbour/evennia.db3"
        with mock.patch.object(database_files, "readable_by_others", return_value=[path]):
            shown = text_of(self.get("health", who="builder"))
        assert "chmod 600 evennia.db3" in shown
        assert "/srv" not in shown

    def test_hostile_texts_are_read_as_they_are(self) -> None:
        for number, case in enumerate(CASES):
            breaker = self.ada_script.work.breakers.get_or_create(f"tool:{number}")
            for _ in range(50):
                breaker.record_failure(OSError(case.written))
        assert [] == intruders(self.get("health"))
