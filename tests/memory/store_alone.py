"""The embedded store, used as a game does, in a process that reports all contacts it makes.

python -m tests.memory.store_alone FOLDER
"""

import json
import sys
import threading
from pathlib import Path

# A started program may use the network too, as pip does to fetch a model for spaCy.
WATCHED = (
    *("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request"),
    *("subprocess.Popen", "os.posix_spawn", "os.system"),
)


def main(folder: Path) -> None:
    """Set up, open, add, search, remove, and close."""
    called: list[str] = []

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event in WATCHED:
            called.append(f"{event} {arguments[-1]}")

    from tests.memory.week_booting import boot

    folder.mkdir(parents=True)
    boot(folder, embeddings="hashing", store="inline")
    assert "mem0" not in sys.modules, "its import and its first search are to be watched"
    sys.addaudithook(watch)
    from evennia_ai.memory_store.hashing import HashingEmbedder
    from evennia_ai.memory_store.opening import MemorySettings, open_store
    from evennia_ai.memory_store.port import MemoryQuery

    settings = MemorySettings("inline", "hashing", folder / "ai_memory")
    opened = open_store(settings, HashingEmbedder())
    from tests.memory.store_support import WORLD, InStep, item, key

    store = InStep(opened)
    assert not store.keys(1)
    assert "mem0" not in sys.modules, "there is nothing yet to find by its meaning"
    # The first vector imports mem0, which reads the environment that the store has set by now.
    for number in range(21):
        store.add(1, [item(number, f"memory {number} of the smith")])
    for _ in range(5):
        assert 7 == len(store.search(MemoryQuery(1, "what of the smith?", (WORLD,), 7)))
    store.remove(1, [key(0)])
    held = len(store.keys(1))
    store.close()
    threads = [thread.name for thread in threading.enumerate()]
    print(json.dumps({"called": called, "held": held, "threads": threads}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
