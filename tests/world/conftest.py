"""The game's settings and an empty database, for tests that use Evennia's own test classes."""

import os
from collections.abc import Iterator

import django
import pytest
from django.conf import settings
from django.test.runner import DiscoverRunner
from django.test.utils import get_runner

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.conf.settings")
# Evennia reads the database while it is imported: let that not be the one of a game being played.
settings.DATABASES["default"]["NAME"] = ":memory:"
django.setup()

import evennia  # noqa: E402  (it needs the lines above)

evennia._init()


@pytest.fixture(scope="session", autouse=True)
def database() -> Iterator[None]:
    """What `evennia test` sets up before its tests, once for this folder."""
    runner: DiscoverRunner = get_runner(settings)(verbosity=0, interactive=False)
    runner.setup_test_environment()
    databases = runner.setup_databases()
    yield
    runner.teardown_databases(databases)
    runner.teardown_test_environment()
