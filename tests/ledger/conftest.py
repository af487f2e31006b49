"""Databases for real server processes, and those processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import NAMED, named_server, new_database

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0


class Worker:
    """A server process; see `worker.py`."""

    def __init__(self, database: dict[str, Any], act: str, **options: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.ledger.worker", act, json.dumps(options)],
            cwd=ROOT,
            env={**os.environ, "LEDGER_TEST_DATABASE": json.dumps(database)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.is_ready = False

    def get_ready(self) -> None:
        """Wait until it has loaded everything."""
        if not self.is_ready:
            assert "ready\n" == self.stdout.readline()
            self.is_ready = True

    @property
    def stdout(self) -> Any:
        """What it says."""
        return self.process.stdout

    def go(self) -> None:
        """Let it begin, or go on."""
        self.get_ready()
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def told(self) -> Any:
        """The next thing it says."""
        return json.loads(self.stdout.readline())

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        self.process.kill()
        self.end()

    def end(self) -> None:
        """Wait for its end."""
        self.process.wait(PATIENCE_SECONDS)
        for stream in (self.process.stdin, self.stdout):
            stream.close()


Run = Callable[..., Worker]


@pytest.fixture
def sqlite(tmp_path: Path) -> dict[str, Any]:
    """A file, with the demo game's write-ahead log."""
    return {"NAME": str(tmp_path / "evennia.db3")}


@pytest.fixture
def postgres() -> Iterator[dict[str, Any]]:
    """A new database of the server that the environment names."""
    server = named_server()
    if not server:
        pytest.skip(
            f'no PostgreSQL: set {NAMED} to \'{{"HOST": ..., "PORT": ..., "USER": ...}}\' '
            "of a server whose user may create databases, and install psycopg"
        )
    with new_database(server) as database:
        yield database


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Each of the two, with the ledger's tables."""
    found: dict[str, Any] = request.getfixturevalue(request.param)
    worker = Worker(found, "migrate")
    worker.go()
    assert {} == worker.told()
    worker.end()
    return found


@pytest.fixture
def run(database: dict[str, Any]) -> Iterator[Run]:
    """Starts server processes on one database; none outlives the test."""
    started: list[Worker] = []

    def start(act: str, **options: Any) -> Worker:
        started.append(Worker(database, act, **options))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()
