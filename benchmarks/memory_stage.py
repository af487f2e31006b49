"""One step of the memory benchmark, in its own process: filling a store, or searching it.

    python -m benchmarks.memory_stage ours-find FOLDER ASSISTANTS EACH audiences

prints its figures as JSON. `benchmarks.memory` runs it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.memory_texts import PEOPLE, audiences, entry, question
from benchmarks.scene import rss_bytes
from evennia_ai.memory_store.hashing import HashingEmbedder
from tests.memory.week_booting import boot

# mem0 reads this while it is imported.
os.environ["MEM0_TELEMETRY"] = "False"
DESCRIPTORS = 1024
BATCH = 500
SEARCHES, PEER_SEARCHES, ADDITIONS = 200, 10, 60
# As in a turn: three times the twelve lines of a prompt, above the lowest trust.
LIMIT, FITS, MIN_TRUST = 36, 12, 0.3
# Numbers of memories that are added during the measurement begin here.
ADDED = 10**9


@dataclass(frozen=True, slots=True)
class Shape:
    """A number of assistants with a number of memories each.

    Attributes:
        is_shared: whether one audience may know all of them.
    """

    assistants: int
    each: int
    is_shared: bool

    @property
    def name(self) -> str:
        """Name in the table."""
        return f"{self.assistants:,} x {self.each:,}" + ", one audience" * self.is_shared

    def numbers(self, assistant: int) -> range:
        """Return the numbers of an assistant's entries."""
        return range(assistant * self.each, (assistant + 1) * self.each)


class KnownQueries(HashingEmbedder):
    """An embedder that makes vectors from words, and those of questions only once."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def embed_query(self, text: str) -> Any:
        """Return the vector of a query."""
        if text not in self._known:
            self._known[text] = super().embed_query(text)
        return self._known[text]


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of wall time and CPU time of some calls."""

    wall: list[float]
    cpu: list[float]

    def figures(self, name: str) -> dict[str, float]:
        """Return milliseconds: median and 95th percentile of wall time, median of CPU time."""
        wall, cpu = sorted(self.wall), sorted(self.cpu)
        return {
            f"{name}_p50": wall[len(wall) // 2] * 1000,
            f"{name}_p95": wall[int(len(wall) * 0.95)] * 1000,
            f"{name}_cpu": cpu[len(cpu) // 2] * 1000,
        }


def timed(count: int, act: Callable[[int], object]) -> Timed:
    """Time a call several times."""
    taken = Timed([], [])
    for number in range(count):
        wall, cpu = time.perf_counter(), time.thread_time()
        act(number)
        taken.cpu.append(time.thread_time() - cpu)
        taken.wall.append(time.perf_counter() - wall)
    return taken


def descriptors() -> int:
    """Return the number of files that this process has open."""
    return len(os.listdir("/proc/self/fd"))


def batches(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Split numbers into batches."""
    for first in range(0, len(numbers), size):
        yield numbers[first : first + size]


# ---- ours --------------------------------------------------------------------------------------


def fill_ours(shape: Shape) -> dict[str, float]:
    """Insert rows and vectors into the table in bulk."""
    from django.db import transaction

    from evennia_ai.memory_store import rows
    from evennia_ai.memory_store.vectors import encoded_vector

    model = HashingEmbedder()
    began = time.perf_counter()
    for assistant in range(shape.assistants):
        for part in batches(shape.numbers(assistant), BATCH):
            with transaction.atomic():
                memories = [entry(number, is_shared=shape.is_shared) for number in part]
                rows.insert(assistant + 1, memories)
                read = list(rows.of(assistant + 1, key__in=[one.key for one in memories]))
                vectors = model.embed_passages([row.text for row in read])
                rows.mark_indexed(
                    assistant + 1, read, model.signature, [encoded_vector(one) for one in vectors]
                )
    return {"fill": time.perf_counter() - began}


class Ours:
    """The embedded store, used as its thread uses it."""

    def __init__(self, shape: Shape, folder: Path, signature: str) -> None:
        from evennia_ai.memory_store.opening import MemorySettings, open_store

        self.shape = shape
        self.model = KnownQueries()
        self.model.signature = signature or self.model.signature
        for number in range(SEARCHES):
            self.model.embed_query(question(number))
        settings = MemorySettings("embedded", "hashing", folder)
        self.open = lambda: open_store(settings, self.model)
        self.store: Any = None

    def search(self, number: int, assistant: int = 0, *, whose: int | None = None) -> int:
        """Search by words, then also by meaning, as a turn does; return the number of results."""
        from evennia_ai.memory_store.port import MemoryQuery

        self.store = self.store or self.open()
        who = number if whose is None else whose
        sought = MemoryQuery(
            assistant + 1, question(number), audiences(who), LIMIT, MIN_TRUST, fits=FITS
        )
        result = self.store.search_words(sought)
        return len(result.hits if result.is_all else self.store.search(sought))

    def reopen(self) -> dict[str, float]:
        """Time the first searches after a start: of one assistant, and of all."""
        began = time.perf_counter()
        if not self.search(0):
            raise SystemExit("the first search found nothing")
        first = time.perf_counter() - began
        for assistant in range(1, self.shape.assistants):
            self.search(0, assistant)
        return {"reopen": time.perf_counter() - began, "reopen_first": first}

    def load(self) -> None:
        """Search once for each person, so that everything is in memory."""
        for assistant in range(self.shape.assistants):
            for who in range(PEOPLE):
                self.search(0, assistant, whose=who)

    def add(self, number: int) -> None:
        """Add one memory, until it can be found."""
        from evennia_ai.memory_store import rows
        from evennia_ai.memory_store.port import Item

        memory = entry(ADDED + number, is_shared=self.shape.is_shared)
        rows.insert(1, [memory])
        read = list(rows.of(1, key=memory.key))
        item = Item(memory.key, memory.text, memory.audience, memory.trust)
        rows.mark_indexed(1, read, self.model.signature, self.store.add(1, [item]))


def find_ours(shape: Shape, folder: Path, signature: str = "") -> dict[str, float]:
    """Measure a filled store, in the store's own thread."""
    from django.db import connection

    from evennia_ai.memory_store import rows

    began = time.perf_counter()
    importlib.import_module("evennia_ai.memory_store.mem0_store")
    figures = {"import": time.perf_counter() - began}
    rows.of(1).first()
    ours = Ours(shape, folder, signature)
    gc.collect()
    before, open_before = rss_bytes(), descriptors()

    def measure() -> None:
        figures.update(ours.reopen())
        figures["descriptors"] = descriptors() - open_before
        ours.load()
        gc.collect()
        figures["rss"] = rss_bytes() - before
        if signature:
            return
        last = shape.assistants - 1
        figures.update(timed(SEARCHES, lambda n: ours.search(n, last)).figures("search"))
        figures.update(timed(ADDITIONS, ours.add).figures("add"))
        connection.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(measure).result()
    return figures


# ---- plain mem0 --------------------------------------------------------------------------------


def _peer(folder: Path) -> Any:
    from benchmarks.plain_mem0 import PlainMem0

    model = KnownQueries()
    for number in range(PEER_SEARCHES + 1):
        model.embed_query(question(number))
    return PlainMem0(folder, model)


def _user(shape: Shape, number: int) -> str:
    return "all" if shape.is_shared else f"Tom{number % PEOPLE}"


def fill_peer(shape: Shape, folder: Path) -> dict[str, float]:
    """Insert the same into plain mem0, bypassing the library."""
    memory = _peer(folder)
    began = time.perf_counter()
    people = 1 if shape.is_shared else PEOPLE
    for who in range(people):
        for part in batches(range(who, shape.each, people), BATCH):
            texts = [entry(number, is_shared=shape.is_shared).text for number in part]
            memory.fill(_user(shape, who), texts)
    taken = {"fill": time.perf_counter() - began}
    memory.close()
    return taken


def find_peer(shape: Shape, folder: Path) -> dict[str, float]:
    """Run the same searches; each finds only memories of one person."""
    importlib.import_module("benchmarks.plain_mem0")
    gc.collect()
    before, open_before, began = rss_bytes(), descriptors(), time.perf_counter()
    memory = _peer(folder)

    def search(number: int) -> None:
        memory.search(_user(shape, number), question(number), LIMIT)

    search(0)
    figures = {"reopen": time.perf_counter() - began, "rss": rss_bytes() - before}
    figures["descriptors"] = descriptors() - open_before
    figures.update(timed(PEER_SEARCHES, search).figures("search"))

    def add(number: int) -> None:
        text = entry(ADDED + number, is_shared=shape.is_shared).text
        memory.add(_user(shape, number), text)

    figures.update(timed(PEER_SEARCHES, add).figures("add"))
    memory.close()
    return figures


def disk_bytes(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main() -> None:
    """Run one step and print its figures."""
    step, name, assistants, each, whose = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    folder = Path(name)
    shape = Shape(int(assistants), int(each), whose == "one")
    boot(folder, embeddings="hashing")
    steps: dict[str, Callable[[], dict[str, float]]] = {
        "ours-fill": lambda: fill_ours(shape),
        "ours-find": lambda: find_ours(shape, folder),
        "ours-words": lambda: find_ours(shape, folder, "no model/0"),
        "peer-fill": lambda: fill_peer(shape, folder / "peer"),
        "peer-find": lambda: find_peer(shape, folder / "peer"),
    }
    figures = steps[step]()
    print(json.dumps(figures | {"disk": disk_bytes(folder)}))


if __name__ == "__main__":
    main()
