"""A game without workers, and one that cannot have them."""

import subprocess
import sys
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime import services
from evennia_ai.workers import bell

ON = {"EVENNIA_AI_WORKERS_CONFIG": {"engine": "procrastinate"}}
LOADED = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "server.conf.settings"
import django
django.setup()
import evennia
evennia._init()
from evennia_ai.runtime import services
services.work()
services.check_settings()
print(sorted(name for name in sys.modules if name.split(".")[0] == "procrastinate"))
"""


def test_nothing_of_the_engine_is_loaded_without_workers() -> None:
    result = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=120
    )
    assert "[]" == result.stdout.strip().splitlines()[-1]


@pytest.mark.usefixtures("on_sqlite")
class TestSqlite:
    def test_workers_cannot_be_set(self) -> None:
        """The check says why, and the game does the work itself."""
        with override_settings(**ON):
            with pytest.raises(ConfigurationError, match="is SQLite, and workers need PostgreSQL"):
                services.workers_config()
            services.work.cache_clear()
            try:
                work = services.work()
                assert not work.is_elsewhere
                assert "workers need PostgreSQL" in work.standing().problem
            finally:
                services.work.cache_clear()

    def test_a_worker_says_what_is_missing(self) -> None:
        with pytest.raises(CommandError, match="workers need PostgreSQL"):
            call_command("ai_worker", stdout=StringIO())

    def test_without_the_package_it_says_how_to_have_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bell, "PACKAGE", "no_such_package")
        with pytest.raises(CommandError, match=r"pip install 'evennia-ai\[workers\]'"):
            call_command("ai_worker", stdout=StringIO())
