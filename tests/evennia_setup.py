"""Django and Evennia on an empty database in memory. Importing this sets them up.

Only tests that use Evennia's own test classes may import it, from their folder's conftest: the
lowest floors are tested where neither is loaded.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test.runner import DiscoverRunner
from django.test.utils import get_runner

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.conf.settings")
# Tests of the shell find memories at once, without threads, models and folders.
os.environ.setdefault("EVENNIA_AI_MEMORY_STORE", "inline")
os.environ.setdefault("EVENNIA_AI_EMBEDDINGS", "hashing")
# mem0 reads it while it is imported, and calls home without it.
os.environ["MEM0_TELEMETRY"] = "False"
# Evennia reads the database while it is imported: let that not be the one of a game being played.
settings.DATABASES["default"]["NAME"] = ":memory:"
# Accounts of tests need no slow hash; it would take most of the time.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
django.setup()

import evennia  # noqa: E402  (it needs the lines above)
from evennia.utils.idmapper import models as idmapper  # noqa: E402

evennia._init()

# Evennia's test classes collect garbage three times a test, a tenth of a second each. What a test
# leaves is out of its caches without that, and collected when Python thinks it is time.
idmapper.gc = SimpleNamespace(collect=lambda: 0)

ROOT = Path(__file__).resolve().parents[1]
# Migrated once for all workers and runs: it takes ten seconds and more.
TEMPLATES = ROOT / ".venvs" / "tables"
MEMORY = "file:evennia_ai_tests?mode=memory&cache=shared"


@contextmanager
def fresh_database() -> Iterator[None]:
    """An empty database with all tables, as `evennia test` makes it before its tests."""
    runner: DiscoverRunner = get_runner(settings)(verbosity=0, interactive=False)
    runner.setup_test_environment()
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = MEMORY
    connection.ensure_connection()
    with closing(sqlite3.connect(_template())) as tables:
        tables.backup(connection.connection)
    gc.freeze()
    yield
    connection.close()
    runner.teardown_test_environment()


def _template() -> Path:
    """A file with all tables and nothing in them, made by whoever comes first."""
    TEMPLATES.mkdir(parents=True, exist_ok=True)
    path = TEMPLATES / f"{_fingerprint()}.db3"
    with (TEMPLATES / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)
            unfinished = path.with_suffix(".new")
            unfinished.unlink(missing_ok=True)
            with closing(sqlite3.connect(unfinished)) as tables:
                connection.connection.backup(tables)
            unfinished.replace(path)
    return path


def _fingerprint() -> str:
    """A digest of all that decides which tables there are."""
    packages = ("django", "evennia", "djangorestframework")
    digest = hashlib.sha256(" ".join(map(version, packages)).encode())
    for path in sorted((ROOT / "evennia_ai").glob("migrations/*.py")):
        digest.update(path.read_bytes())
    digest.update((ROOT / "evennia_ai" / "models" / "__init__.py").read_bytes())
    digest.update(repr(settings.INSTALLED_APPS).encode())
    return digest.hexdigest()[:16]
