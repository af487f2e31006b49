"""Rows and bytes that answers leave in the database, by table.

    python -m benchmarks.rows_per_answer [--answers 400]

Tom whispers, and is answered by a model in memory that answers at once. Bytes are those of SQLite's
pages; indexes count with their tables.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.growth import Stage
from benchmarks.scene import set_up_game

SETTLING_SECONDS = 10.0
LEAST_SHOWN = 0.005
WARM_UP = 20


def sizes() -> Mapping[str, tuple[int, int]]:
    """Return rows and bytes of each table."""
    from django.db import connection

    tables = connection.introspection.table_names()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("SELECT tbl_name, name FROM sqlite_master WHERE tbl_name IS NOT NULL")
        table_of = {name: table for table, name in cursor.fetchall()}
        cursor.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
        totals = dict.fromkeys(tables, 0)
        for name, size in cursor.fetchall():
            if (table := table_of.get(name)) in totals:
                totals[table] += size
        counts = {}
        for table in tables:
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            counts[table] = cursor.fetchone()[0]
    return {table: (counts[table], totals[table]) for table in tables}


def settle(clock: Any) -> None:
    """Run everything that was put off."""
    from twisted.internet import reactor

    ends = time.monotonic() + SETTLING_SECONDS
    while time.monotonic() < ends:
        clock.advance(1)
        reactor.iterate(0.05)  # type: ignore[attr-defined]


def main() -> None:
    """Make a game, let people talk, and print what is left in the database."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answers", type=int, default=400)
    options = parser.parse_args()
    os.environ["EVENNIA_AI_EMBEDDINGS"] = "hashing"
    with tempfile.TemporaryDirectory() as folder:
        set_up_game(Path(folder), "http://127.0.0.1:9")
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        stage = Stage()
        script = stage.assistant(WARM_UP)
        settle(script.clock)
        before, began = sizes(), time.process_time()
        for _ in range(options.answers):
            stage.tick(script)
        took = time.process_time() - began
        settle(script.clock)
        after = sizes()
    print("| table | rows an answer | bytes an answer |\n|---|--:|--:|")
    total_rows = total_bytes = 0.0
    for table in sorted(after, key=lambda name: before[name][1] - after[name][1]):
        rows, size = (
            (after[table][place] - before[table][place]) / options.answers for place in (0, 1)
        )
        total_rows, total_bytes = total_rows + rows, total_bytes + size
        if rows > LEAST_SHOWN or size > 1:
            print(f"| {table} | {rows:.2f} | {size:,.0f} |")
    print(f"| all | {total_rows:.1f} | {total_bytes:,.0f} |")
    print(f"CPU of the process: {took / options.answers * 1000:.1f} ms an answer")


if __name__ == "__main__":
    main()
