"""Kills processes while they remember or move, and checks what is left.

    python -m tests.memory.store_killer FOLDER MOMENTS

prints a line of JSON for each moment: the act that was killed, its number of reported batches, and
the problem found, or "". Django is set up once: each victim is a fork of this process, with a
connection of its own to a real file of SQLite.
"""

import json
import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path

ROWS, AT_ONCE, ASSISTANT = 40, 4, 7


def remember(folder: Path, tell: Callable[[], None]) -> None:
    """Store memories and make their vectors, as indexing does; report each batch."""
    from django.db import transaction

    from evennia_ai.core.memory.recollection import Recollection
    from evennia_ai.memory_store import rows
    from tests.memory.store_support import SMITH, WORLD, key, opened

    store = opened("inline", folder)
    for first in range(0, ROWS, AT_ONCE):
        numbers = range(first, first + AT_ONCE)
        with transaction.atomic():
            rows.insert(
                ASSISTANT, [Recollection(key(n), "fact", f"{SMITH} {n}", WORLD) for n in numbers]
            )
        tell()
        index(store)
        if first:  # corrections and removals happen meanwhile
            with transaction.atomic():
                rows.change(ASSISTANT, key(first), text=f"{SMITH} {first}")
                rows.remove(ASSISTANT, [key(first - 1)])
    os._exit(0)


def index(store: object) -> int:
    """Run indexing until nothing waits. Return the number of vectors made."""
    from evennia_ai.memory_store import rows
    from evennia_ai.memory_store.port import Item

    count = 0
    while True:
        unread, gone = rows.waiting(ASSISTANT, AT_ONCE)
        if not unread and not gone:
            return count
        store.remove(ASSISTANT, [row.key for row in gone])
        rows.erase(ASSISTANT, gone)
        items = [Item(row.key, row.text, row.audience, row.trust) for row in unread]
        rows.mark_indexed(ASSISTANT, unread, store.signature, store.add(ASSISTANT, items))
        count += len(unread)


def move(folder: Path, tell: Callable[[], None]) -> None:
    """Copy the vectors of the old folder; report each batch."""
    from evennia_ai.memory_store import moving

    moving.BATCH = AT_ONCE
    moving.move(folder, lambda *_: tell())
    os._exit(0)


def kill(act: Callable[[Path, Callable[[], None]], None], folder: Path, moment: int) -> int:
    """Let a process act, and kill it shortly after some reports. Return the number of reports."""
    from django.db import connection

    connection.close()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        act(folder, lambda: os.write(writer, b"x") and None)
    os.close(writer)
    count = 0
    while count < moment % (ROWS // AT_ONCE) and os.read(reader, 1):
        count += 1
    # Wait 0 to 4 ms, so that kills hit different parts of a batch.
    select.select([], [], [], moment % 7 * 0.0007)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(reader, 4096):
        count += len(part)
    os.close(reader)
    return count


def state() -> tuple[set[str], set[str], set[str]]:
    """Return the keys of current rows, of those marked as indexed, and of all vectors."""
    from evennia_ai.memory_store import rows
    from evennia_ai.models import MemoryVector

    models = {row.key: row.indexed_as for row in rows.of(ASSISTANT)}
    marked = {key for key, model in models.items() if model}
    vectors = set(MemoryVector.objects.values_list("memory__key", flat=True))
    return set(models), marked, vectors


def look_at_memories(folder: Path, told: int) -> str:
    """Return the problem after a kill, or ""."""
    from evennia_ai.memory_store.port import MemoryQuery
    from tests.memory.store_support import SMITH, WORLD, key, opened

    keys, marked, vectors = state()
    sure = {key(n) for n in range(told * AT_ONCE)}
    sure -= {key(first - 1) for first in range(AT_ONCE, told * AT_ONCE, AT_ONCE)}
    if not sure <= keys:
        return f"lost {sorted(sure - keys)}"
    if marked != vectors:
        return f"{sorted(marked ^ vectors)} have a vector or say so, and not both"
    store = opened("inline", folder)
    hits = {
        hit.key for hit in store.search_words(MemoryQuery(ASSISTANT, SMITH, (WORLD,), ROWS)).hits
    }
    if hits != keys:
        return f"{sorted(hits ^ keys)} are kept or found, and not both"
    index(store)
    hits = {hit.key for hit in store.search(MemoryQuery(ASSISTANT, SMITH, (WORLD,), ROWS))}
    after = state()
    store.close()
    return "" if hits == keys and after == (keys, keys, keys) else "one run of indexing left some"


def look_at_the_move(folder: Path, told: int) -> str:
    """Return the problem after a killed move, or ""."""
    from evennia_ai.memory_store import moving

    keys, marked, vectors = state()
    if len(vectors) not in (told * AT_ONCE, min(ROWS, (told + 1) * AT_ONCE)):
        return f"{len(vectors)} vectors after {told} batches"
    if keys != marked or not vectors <= keys:
        return "a row changed, or a vector has none"
    moved = moving.move(folder, lambda *_: None)
    if (moved.there, moved.copied) != (len(vectors), ROWS - len(vectors)):
        return f"{moved.there} were there and {moved.copied} copied"
    return "" if state() == (keys, keys, keys) else "the second move left some"


def begin_move() -> None:
    """Make rows that are marked as indexed and have no vector in the table, as before a move."""
    from evennia_ai.core.memory.recollection import Recollection
    from evennia_ai.memory_store import rows
    from evennia_ai.memory_store.hashing import HashingEmbedder
    from evennia_ai.models import Memory
    from tests.memory.store_support import SMITH, WORLD, key

    rows.insert(
        ASSISTANT, [Recollection(key(n), "fact", SMITH, WORLD, trust=1.0) for n in range(ROWS)]
    )
    Memory.objects.update(indexed_as=HashingEmbedder.signature)


def wait_for_the_lock(folder: Path) -> str:
    """Return the problem of a move while another program locks the database, or ""."""
    import sqlite3

    from django.db import connection

    from evennia_ai.memory_store import moving

    begin_move()
    connection.cursor().execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            other.execute("ROLLBACK")

    moving.time.sleep, before = wait, moving.time.sleep
    moved = moving.move(folder, lambda *_: None)
    moving.time.sleep = before
    other.close()
    if waits != [moving.WAIT_SECONDS] * 3:
        return f"it waited {waits}"
    return "" if moved.copied == ROWS else f"{moved.copied} were copied"


def main(folder: Path, moments: int) -> None:
    """Kill at this many moments, early and late."""
    from tests.memory.week_booting import boot

    os.environ["MEM0_TELEMETRY"] = "False"  # before anything here imports it
    folder.mkdir()
    boot(folder, embeddings="hashing", store="inline")
    from evennia_ai.models import Memory
    from tests.memory.old_vectors import name_of, write
    from tests.memory.store_support import SMITH, item

    old = folder / "old"
    write(old, {name_of(ASSISTANT): [item(n, SMITH) for n in range(ROWS)]})
    for moment in range(moments):
        count = kill(remember, folder, moment)
        report("remember", count, look_at_memories(folder, count))
        Memory.objects.all().delete()
        begin_move()
        count = kill(move, old, moment)
        report("move", count, look_at_the_move(old, count))
        Memory.objects.all().delete()
    report("lock", 0, wait_for_the_lock(old))


def report(act: str, told: int, problem: str) -> None:
    print(json.dumps({"act": act, "told": told, "problem": problem}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
