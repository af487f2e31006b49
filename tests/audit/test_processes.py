"""Several server processes and threads that write one record."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.nursery import Nursery, opened
from tests.postgres import any_server, new_database

PROCESSES, THREADS, FACTS = 2, 2, 15


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """The process that every server process of these tests is forked from."""
    with opened("tests.audit.worker") as process:
        yield process


@pytest.fixture(params=["sqlite", "postgresql"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A new database of each kind."""
    if request.param == "sqlite":
        yield {"NAME": str(tmp_path / "evennia.db3")}
        return
    with any_server(tmp_path / "postgres") as server, new_database(server) as database:
        yield database


def rows_of(database: dict[str, Any]) -> list[tuple[int, str, bytes]]:
    """Return version, name and state of all events, in the order of writing."""
    sql = "SELECT originator_version, event, state FROM evennia_ai_recordedevent ORDER BY id"
    if "ENGINE" not in database:
        with closing(sqlite3.connect(database["NAME"])) as connection:
            return connection.execute(sql).fetchall()
    options = {name: database[name.upper()] for name in ("host", "port", "user")}
    with psycopg.connect(**options, dbname=database["NAME"]) as asked:
        return [(version, event, bytes(state)) for version, event, state in asked.execute(sql)]


def run(nursery: Nursery, database: dict[str, Any], *acts: tuple[object, ...]) -> None:
    """Start server processes, let them begin at the same moment, and wait for them."""
    environment = {"LEDGER_TEST_DATABASE": json.dumps(database)}
    workers = [nursery.begin(environment, *map(str, act)) for act in acts]
    try:
        for worker in workers:
            while (line := worker.stdout.readline()) != "ready\n":
                assert line, "it ended before it was ready"
        for worker in workers:
            worker.stdin.write("\n")
            worker.stdin.flush()
        for worker in workers:
            assert worker.stdout.read().endswith("done\n")
    finally:
        for worker in workers:
            worker.kill()
            worker.end()


def test_no_version_is_missing_and_no_fact_lost(nursery: Nursery, kept: dict[str, Any]) -> None:
    """A process that loses a race reads anew and writes again."""
    run(nursery, kept, ("migrate",))
    run(nursery, kept, *(("keep", number, THREADS, FACTS) for number in range(PROCESSES)))
    rows = rows_of(kept)
    assert list(range(1, len(rows) + 1)) == sorted(version for version, _, _ in rows)
    names = {
        f"{number} {thread} {count}"
        for number in range(PROCESSES)
        for thread in range(THREADS)
        for count in range(FACTS)
    }
    for event in ("kept", "recorded"):
        stored_names = [
            json.loads(state)["more"]["name"] for _, kind, state in rows if kind == event
        ]
        assert sorted(names) == sorted(stored_names)
