"""Databases for real server processes, and those processes."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.nursery import Nursery, opened
from tests.postgres import any_server, new_database, run_sql

GAMES = ("lantern", "harbour")


class Worker:
    """A server process; see `worker.py`."""

    def __init__(
        self,
        nursery: Nursery,
        database: dict[str, Any],
        act: str,
        more: dict[str, str] | None = None,
        **options: Any,
    ) -> None:
        environment = {"LEDGER_TEST_DATABASE": json.dumps(database), **(more or {})}
        self.process = nursery.begin(environment, act, json.dumps(options))
        self.is_ready = False

    def get_ready(self) -> None:
        """Wait until it has loaded everything."""
        if not self.is_ready:
            assert "ready\n" == self.process.stdout.readline()
            self.is_ready = True

    def go(self, line: str = "") -> None:
        """Send it a line, to begin or go on."""
        self.get_ready()
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def do(self, step: str) -> Any:
        """Send it a step, and return its answer."""
        self.go(step)
        return self.told()

    def told(self) -> Any:
        """Return its next answer."""
        return json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        """Kill it in the middle of its work."""
        self.process.kill()
        self.end()

    def end(self) -> None:
        self.process.end()


Run = Callable[..., Worker]


def told_at_once(worker: Worker) -> Any:
    """Return the answer of a process that does one thing, and wait for its end."""
    worker.go()
    answer = worker.told()
    worker.end()
    return answer


def copy_file(source: Path, target: Path) -> None:
    """Copy an SQLite database, as a backup does."""
    with closing(sqlite3.connect(target)) as copied, closing(sqlite3.connect(source)) as database:
        database.backup(copied)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The PostgreSQL that the environment names, or a temporary one."""
    with any_server(tmp_path_factory.mktemp("postgres")) as settings:
        yield settings


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """The process that every server process of these tests is forked from."""
    with opened("tests.ledger.worker") as process:
        yield process


@pytest.fixture(scope="session")
def sqlite_tables(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with the ledger's tables, to copy from."""
    path = tmp_path_factory.mktemp("sqlite") / "evennia.db3"
    assert {} == told_at_once(Worker(nursery, {"NAME": str(path)}, "migrate"))
    return path


@pytest.fixture(scope="session")
def postgres_tables(nursery: Nursery, server: dict[str, Any]) -> Iterator[str]:
    """The name of a database with the ledger's tables, to copy from."""
    with new_database(server) as database:
        assert {} == told_at_once(Worker(nursery, database, "migrate"))
        yield database["NAME"]


@pytest.fixture
def sqlite(sqlite_tables: Path, tmp_path: Path) -> dict[str, Any]:
    """A new SQLite database with the ledger's tables."""
    copy_file(sqlite_tables, tmp_path / "evennia.db3")
    return {"NAME": str(tmp_path / "evennia.db3")}


@pytest.fixture
def postgres(server: dict[str, Any], postgres_tables: str) -> Iterator[dict[str, Any]]:
    """A new PostgreSQL database with the ledger's tables."""
    with new_database(server, postgres_tables) as database:
        yield database


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A new database of each kind with the ledger's tables."""
    value: dict[str, Any] = request.getfixturevalue(request.param)
    return value


@pytest.fixture
def run(nursery: Nursery, database: dict[str, Any]) -> Iterator[Run]:
    """Starts server processes on one database; none outlives the test."""
    started: list[Worker] = []

    def start(act: str, **options: Any) -> Worker:
        started.append(Worker(nursery, database, act, **options))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()


class Games:
    """Two games, each with a database of its own, and the ledger that they share.

    Attributes:
        ledger: the shared database, as Django's settings name it.
    """

    def __init__(
        self, nursery: Nursery, ledger: dict[str, Any], server: dict[str, Any], folder: Path
    ) -> None:
        self._nursery, self.ledger = nursery, ledger
        self._server, self._folder = server, folder
        self._started: list[Worker] = []

    def copy(self, game: str, other: str) -> None:
        """Copy the database of a game, as restoring a backup beside it does."""
        copy_file(self._folder / f"{game}.db3", self._folder / f"{other}.db3")

    def start(
        self, game: str, act: str, config: dict[str, Any] | None = None, **options: Any
    ) -> Worker:
        """Start a server process of a game."""
        settings = {"database": "ledger", "game": game, "retry_seconds": 0.2, **(config or {})}
        more = {
            "LEDGER_TEST_SHARED": json.dumps(self.ledger),
            "LEDGER_TEST_CONFIG": json.dumps(settings),
        }
        own = {"NAME": str(self._folder / f"{game}.db3")}
        self._started.append(Worker(self._nursery, own, act, more, **options))
        return self._started[-1]

    def ask(self, act: str) -> Any:
        """Return the answer of a process of one game to an act."""
        return told_at_once(self.start("lantern", act))

    def cut_off(self) -> None:
        """End all connections to the ledger, and allow no new ones."""
        name = self.ledger["NAME"]
        run_sql(
            self._server,
            f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false",
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
        )

    def let_in(self) -> None:
        """Allow connections to the ledger again."""
        run_sql(self._server, f"ALTER DATABASE {self.ledger['NAME']} WITH ALLOW_CONNECTIONS true")

    def end(self) -> None:
        for worker in self._started:
            worker.kill()


@pytest.fixture(scope="session")
def migrated(
    nursery: Nursery, server: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """The name of a migrated ledger database and the folder of two games, to copy from."""
    folder = tmp_path_factory.mktemp("games")
    with new_database(server) as ledger:
        group = Games(nursery, ledger, server, folder)
        tables = told_at_once(group.start(GAMES[0], "migrate"))["ledger"]
        group.copy(*GAMES)
        ours = {f"evennia_ai_{name}" for name in ("budgettotal", "modelcall", "ledgergame")}
        assert {*ours, "django_migrations"} == set(tables)
        yield ledger["NAME"], folder


@pytest.fixture
def games(
    nursery: Nursery, migrated: tuple[str, Path], server: dict[str, Any], tmp_path: Path
) -> Iterator[Games]:
    """Two games that share an empty, migrated ledger."""
    name, folder = migrated
    for game in GAMES:
        copy_file(folder / f"{game}.db3", tmp_path / f"{game}.db3")
    with new_database(server, name) as ledger:
        group = Games(nursery, ledger, server, tmp_path)
        yield group
        group.end()
