"""Kills a process in the middle of adding memories, again and again, and looks at what is left.

    python -m tests.memory.store_killer FOLDER MOMENTS

prints a line of JSON for each moment: how many additions were told of, how many were there after,
and "" or what was wrong. mem0 is imported once: each victim is a fork of this process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from pathlib import Path

from evennia_ai.memory.mem0_store import open_embedded
from tests.memory.store_support import WORLD, HashingEmbedder, item, key

ITEMS = 40


def add_all(folder: Path, told: int) -> None:
    """Add memories one by one, and tell of each; every fourth takes the one before it out."""
    store = open_embedded(HashingEmbedder(), folder)
    for number in range(1, ITEMS + 1):
        store.add(1, [item(number, f"memory {number} of the smith")])
        os.write(told, b"x")
        if number % 4 == 0:
            store.remove(1, [key(number - 1)])


def kill_in_the_middle(folder: Path, moment: int) -> int:
    """Let a process add, and kill it a little after so many additions. Returns how many it told."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        add_all(folder, writer)
        os._exit(0)
    os.close(writer)
    told = 0
    while told < moment and os.read(reader, 1):
        told += 1
    # A part of a millisecond later, so that it is now in one part of an addition, now in another.
    select.select([], [], [], moment % 5 * 0.0002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(reader, 4096):
        told += len(part)
    os.close(reader)
    return told


def look(folder: Path, told: int) -> tuple[int, str]:
    """What is wrong with a store, "" for nothing; it must hold what was told of and no more."""
    store = open_embedded(HashingEmbedder(), folder)
    held = store.keys(1)
    every = {key(number) for number in range(1, ITEMS + 1)}
    removed = {key(number) for number in range(3, ITEMS, 4)}
    sure = {key(number) for number in range(1, told + 1)} - removed
    # By the next addition a removal is done.
    gone = {key(number - 1) for number in range(4, told, 4)}
    problem = ""
    if not sure <= held <= every - gone:
        problem = f"lost {sorted(sure - held)} or kept {sorted(held & gone)}"
    store.add(1, [item(number, f"memory {number} of the smith") for number in range(1, ITEMS + 1)])
    hits = [hit.key for hit in store.search(1, "smith", [WORLD], limit=ITEMS + 5)]
    if sorted(hits) != sorted(every) or store.keys(1) != every:
        problem = f"{problem} added anew it holds {len(hits)} of {ITEMS}".strip()
    store.drop(1)
    store.close()
    return len(held), problem


def main(folder: Path, moments: int) -> None:
    """Kill at so many moments, early and late."""
    for moment in range(moments):
        told = kill_in_the_middle(folder, moment)
        held, problem = look(folder, told)
        print(json.dumps({"told": told, "held": held, "problem": problem}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
