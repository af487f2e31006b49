"""Django and Evennia on an empty database in memory. Importing this sets them up.

Only tests that use Evennia's own test classes may import it, from their folder's conftest: the
lowest floors are tested where neither is loaded.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

import django
from django.conf import settings
from django.test.runner import DiscoverRunner
from django.test.utils import get_runner

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.conf.settings")
# Tests of the shell find memories at once, without threads, models and folders.
os.environ.setdefault("EVENNIA_AI_MEMORY_STORE", "volatile")
os.environ.setdefault("EVENNIA_AI_EMBEDDINGS", "hashing")
# Evennia reads the database while it is imported: let that not be the one of a game being played.
settings.DATABASES["default"]["NAME"] = ":memory:"
# Accounts of tests need no slow hash; it would take most of the time.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
django.setup()

import evennia  # noqa: E402  (it needs the lines above)

evennia._init()


@contextmanager
def fresh_database() -> Iterator[None]:
    """What `evennia test` sets up before its tests."""
    runner: DiscoverRunner = get_runner(settings)(verbosity=0, interactive=False)
    runner.setup_test_environment()
    databases = runner.setup_databases()
    # Evennia's test classes collect garbage twice a test; all that is loaded by now is none.
    gc.freeze()
    yield
    runner.teardown_databases(databases)
    runner.teardown_test_environment()
