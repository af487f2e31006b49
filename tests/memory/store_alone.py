"""Uses the embedded store as a game does, and tells whom that would have called.

python -m tests.memory.store_alone FOLDER
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from evennia_ai.memory.hashing import HashingEmbedder
from evennia_ai.memory.opening import MemorySettings, open_store
from tests.memory.store_support import WORLD, item, key

WATCHED = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request")


def main(folder: Path) -> None:
    """Import, open, add, look, take out, close."""
    called: list[str] = []

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event in WATCHED:
            called.append(f"{event} {arguments[-1]}")

    sys.addaudithook(watch)
    store = open_store(MemorySettings("embedded", "hashing", folder), HashingEmbedder())
    for number in range(21):
        store.add(1, [item(number, f"memory {number} of the smith")])
    for _ in range(5):
        store.search(1, "what of the smith?", [WORLD], limit=20)
    store.neighbours(1, key(1), [WORLD], limit=5)
    store.remove(1, [key(0)])
    held = len(store.keys(1))
    store.close()
    threads = [thread.name for thread in threading.enumerate()]
    print(json.dumps({"called": called, "held": held, "threads": threads}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
