"""The game's settings and an empty database, for tests that use Evennia's own test classes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)
from evennia_ai.models import WorkerSeen, WorkJob
from evennia_ai.workers import bell
from tests.postgres import any_server, new_database


@pytest.fixture(scope="session", autouse=True)
def game(database: None) -> None:
    """Give every test here the database."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The PostgreSQL that the environment names, else one that ends with the tests."""
    with any_server(tmp_path_factory.mktemp("postgres")) as settings:
        yield settings


@pytest.fixture
def on_postgres(server: dict[str, Any]) -> Iterator[None]:
    """A game's database on it that has only the tables of the workers."""
    pytest.importorskip("procrastinate")
    with new_database(server) as database, _game_on(database) as connection:
        with connection.schema_editor() as editor:
            for table in (WorkJob, WorkerSeen):
                editor.create_model(table)
        bell.make_tables()
        yield


@pytest.fixture
def on_sqlite() -> Iterator[None]:
    """An empty game's database in memory."""
    with _game_on({"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:", "OPTIONS": {}}):
        yield


@contextmanager
def _game_on(database: dict[str, Any]) -> Iterator[BaseDatabaseWrapper]:
    """Put another database in place of the game's."""
    with pytest.MonkeyPatch.context() as patch:
        whole = {**connections.settings["default"], "TEST": {}, **database}
        patch.setitem(connections.settings, "default", whole)
        before = connections["default"]
        connections["default"] = connection = connections.create_connection("default")
        try:
            yield connection
        finally:
            connection.close()
            connections["default"] = before
