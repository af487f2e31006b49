"""A game of old code that moves its vectors, made by that code and read by the present one.

python -m tests.memory.old_game make FOLDER COUNT    runs in a tree of the old code
python -m tests.memory.old_game move FOLDER COUNT    migrates, moves, and prints the result
"""

import json
import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

TEXT = "Tom sold lantern {} to the smith of village {}"
AT_ONCE = 500


def make(folder: Path, count: int) -> None:
    """Make a game with one assistant's memories, and their vectors in the old folder.

    The imports are those of the old code, because this part runs there.
    """
    from tests.memory.week_booting import boot

    folder.mkdir()
    boot(folder, embeddings="hashing")
    from evennia_ai.core.recollection import Recollection
    from evennia_ai.memory.opening import make_embedder, open_store
    from evennia_ai.memory.port import Item

    from evennia_ai import services
    from evennia_ai.memory import rows

    settings = services.memory_settings()
    store = open_store(settings, make_embedder(settings))
    texts = [TEXT.format(number, number % 97) for number in range(count)]
    rows.insert(
        7,
        [
            Recollection(f"{number:032x}", "fact", text, "world", at=1_790_000_000.0 + number)
            for number, text in enumerate(texts)
        ],
    )
    while unread := rows.waiting(7, AT_ONCE)[0]:
        store.add(7, [Item(row.key, row.text, row.audience, row.trust) for row in unread])
        rows.mark(7, unread, store.signature)
    store.close()


def move(folder: Path, count: int) -> None:
    """Migrate the game, move its vectors, and print the duration and the count of right ones."""
    from tests.memory.week_booting import boot

    boot(folder, embeddings="hashing")
    from django.core.management import call_command

    from evennia_ai.memory_store import moving
    from evennia_ai.memory_store.hashing import HashingEmbedder
    from evennia_ai.memory_store.vectors import encoded_vector
    from evennia_ai.models import MemoryVector

    output = StringIO()
    began = time.monotonic()
    with redirect_stdout(output):
        call_command("ai_move_memories", stdout=output)
    seconds = time.monotonic() - began
    model = HashingEmbedder()
    vectors = {
        row.memory.key: (row.model, bytes(row.vector))
        for row in MemoryVector.objects.select_related("memory")
    }
    same = sum(
        vectors.get(f"{number:032x}")
        == (
            model.signature,
            encoded_vector(model.embed_passages([TEXT.format(number, number % 97)])[0]),
        )
        for number in range(count)
    )
    left = moving.left()
    counts = {"kept": len(vectors), "same": same, "waiting": left.waiting, "missing": left.missing}
    print(json.dumps({**counts, "seconds": round(seconds, 2), "said": output.getvalue()}))


if __name__ == "__main__":
    {"make": make, "move": move}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
