"""Several server processes and threads write one record."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROCESSES, THREADS, FACTS = 2, 2, 15
PATIENCE_SECONDS = 120


def start(path: Path, *arguments: object) -> subprocess.Popen[str]:
    """A worker on a database file."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.audit.worker", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "LEDGER_TEST_DATABASE": json.dumps({"NAME": str(path)})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(*workers: subprocess.Popen[str]) -> None:
    """Let workers begin at the same moment, and wait for them."""
    try:
        for worker in workers:
            assert worker.stdout is not None
            while (line := worker.stdout.readline()) != "ready\n":
                assert line, "it ended before it was ready"
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
        for worker in workers:
            out, _ = worker.communicate(timeout=PATIENCE_SECONDS)
            assert out.endswith("done\n")
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def test_no_version_is_missing_and_no_fact_lost(tmp_path: Path) -> None:
    """Whoever is first, the others begin anew: every fact is there once, in one row of versions."""
    path = tmp_path / "evennia.db3"
    run(start(path, "migrate"))
    run(*(start(path, "keep", number, THREADS, FACTS) for number in range(PROCESSES)))
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT originator_version, event, state FROM evennia_ai_recordedevent ORDER BY id"
        ).fetchall()
    assert list(range(1, len(rows) + 1)) == [version for version, _, _ in rows]
    names = {
        f"{number} {thread} {count}"
        for number in range(PROCESSES)
        for thread in range(THREADS)
        for count in range(FACTS)
    }
    for event in ("kept", "recorded"):
        found = [json.loads(state)["more"]["name"] for _, kind, state in rows if kind == event]
        assert sorted(names) == sorted(found)
