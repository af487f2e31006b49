"""Sets up Django and Evennia on an empty database, in memory or on PostgreSQL, when imported.

Only tests that use Evennia's own test classes may import it, from their folder's conftest: the
lowest floors are tested without Django and Evennia.
"""

import atexit
import fcntl
import gc
import hashlib
import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test.runner import DiscoverRunner
from django.test.utils import get_runner

from tests import postgres

ROOT = Path(__file__).resolve().parents[1]
# Migrated once for all workers and runs, since migrating takes over ten seconds.
TEMPLATES = ROOT / ".venvs" / "tables"
MEMORY = "file:evennia_ai_tests?mode=memory&cache=shared"


@contextmanager
def fresh_database() -> Iterator[None]:
    """Make an empty database with all tables, as `evennia test` does before its tests."""
    runner: DiscoverRunner = get_runner(settings)(verbosity=0, interactive=False)
    runner.setup_test_environment()
    connection.close()
    if not postgres.is_default():
        _name(MEMORY)
        connection.ensure_connection()
        with closing(sqlite3.connect(_template())) as tables:
            tables.backup(connection.connection)
    gc.freeze()
    # Not in this checkout, whose game must not be touched.
    with TemporaryDirectory(prefix="ai_archive_") as folder:
        settings.EVENNIA_AI_AUDIT_CONFIG = {"archive_folder": folder}
        yield
    connection.close()
    runner.teardown_test_environment()


def _take_database_of_server() -> None:
    """Give this process a new database of the server, dropped when the process ends."""
    server, ends = postgres.named_server(), ExitStack()
    os.environ[postgres.TABLES] = tables = _template_on(server)
    database = ends.enter_context(postgres.new_database(server, tables))
    _name(database["NAME"])
    atexit.register(ends.close)


def _name(name: str) -> None:
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock, so that only one process makes a template."""
    TEMPLATES.mkdir(parents=True, exist_ok=True)
    with (TEMPLATES / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)


def _template() -> Path:
    """Return a file with all tables and no rows; the first process makes it."""
    path = TEMPLATES / f"{_fingerprint()}.db3"
    with _alone():
        if not path.exists():
            _migrate()
            unfinished = path.with_suffix(".new")
            unfinished.unlink(missing_ok=True)
            with closing(sqlite3.connect(unfinished)) as tables:
                connection.connection.backup(tables)
            unfinished.replace(path)
    return path


def _template_on(server: dict[str, Any]) -> str:
    """Return the name of such a database on a server; the first process makes it."""
    name, unfinished = f"tables_{_fingerprint()}", f"unfinished_{os.getpid()}"
    with _alone():
        _name("postgres")
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
            is_there = cursor.fetchone()
        connection.close()
        if not is_there:
            postgres.run_sql(server, f"CREATE DATABASE {unfinished}")
            _name(unfinished)
            _migrate()
            connection.close()
            postgres.run_sql(server, f"ALTER DATABASE {unfinished} RENAME TO {name}")
    return name


def _fingerprint() -> str:
    """Return a digest of everything that decides which tables there are."""
    packages = ("django", "evennia", "djangorestframework")
    digest = hashlib.sha256(" ".join(map(version, packages)).encode())
    for path in sorted((ROOT / "evennia_ai").glob("migrations/*.py")):
        digest.update(path.read_bytes())
    digest.update((ROOT / "evennia_ai" / "models" / "__init__.py").read_bytes())
    digest.update(repr(settings.INSTALLED_APPS).encode())
    return digest.hexdigest()[:16]


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.conf.settings")
# Tests in a game need memories to be found at once, without threads, models and folders.
os.environ.setdefault("EVENNIA_AI_MEMORY_STORE", "inline")
os.environ.setdefault("EVENNIA_AI_EMBEDDINGS", "hashing")
# mem0 reads this while it is imported, and sends telemetry without it.
os.environ["MEM0_TELEMETRY"] = "False"
# Evennia reads the database while it is imported; it must not be that of a real game.
settings.DATABASES["default"]["NAME"] = ":memory:"
if postgres.is_default():
    told = {"ENGINE": postgres.ENGINE, "NAME": "postgres", "OPTIONS": {}}
    settings.DATABASES["default"] = told | postgres.named_server()
# Test accounts need no slow password hash, which would take most of the time.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
django.setup()
if postgres.is_default():
    _take_database_of_server()  # Evennia reads it next

import evennia  # noqa: E402  (it needs the lines above)
from evennia.commands import cmdset  # noqa: E402
from evennia.commands.cmdset import CmdSet  # noqa: E402
from evennia.commands.command import Command  # noqa: E402
from evennia.utils.idmapper import models as idmapper  # noqa: E402

evennia._init()

# Evennia's test classes collect garbage three times a test, a tenth of a second each. Its caches
# are emptied without that, and Python collects the rest in its own time.
idmapper.gc = SimpleNamespace(collect=lambda: 0)


def _without_comparing(commands: Collection[Command]) -> Collection[Command]:
    """Return a set of commands in the order in which `set` has them, without comparing them.

    Under Evennia 5 all commands have one hash, so each is compared with each whenever one is added
    to a cmdset: thirty thousand comparisons for a character, a tenth of the time of a small test.
    Of commands that share no name `set` keeps all, in an order that depends only on their number.
    """
    names = [name for command in commands for name in command._matchset]
    if len(names) != len(set(names)):
        return set(commands)
    ordered = list(commands)
    return [ordered[place] for place in _order_of(len(ordered))]


class _Alike:
    """An object equal only to itself, with the hash that all commands share."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place

    def __hash__(self) -> int:
        return hash("command")


@cache
def _order_of(count: int) -> list[int]:
    return [alike.place for alike in set(map(_Alike, range(count)))]


def _united(merged: CmdSet, first: CmdSet, second: CmdSet) -> CmdSet:
    """Merge two cmdsets as Evennia does, without comparing each command with each.

    Evennia does this for each typed line; in a test with many it takes a tenth of the time.
    """
    union = first._duplicate()
    union.commands = first.commands[:]
    if first.duplicates and first.priority == second.priority:
        union.commands += second.commands
    else:
        known = {name for command in first.commands for name in command._matchset}
        union.commands += [each for each in second.commands if known.isdisjoint(each._matchset)]
    return union


if hash(Command()) == hash(_Alike(0)):
    cmdset.set = _without_comparing
    CmdSet._union = _united
# A test makes many objects, few of which are garbage before it ends, so collect less often.
gc.set_threshold(20_000, 20, 50)
