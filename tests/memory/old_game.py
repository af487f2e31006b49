"""Plays a game's part in a move: made by the code of before, then looked at with the code of now.

python -m tests.memory.old_game make FOLDER COUNT    run where the old code is; prints nothing
python -m tests.memory.old_game move FOLDER COUNT    migrates, moves, and prints what it finds
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

TEXT = "Tom sold lantern {} to the smith of village {}"
AT_ONCE = 500


def make(folder: Path, count: int) -> None:
    """A game with one assistant's memories, and their vectors in the folder of before.

    The modules have the names of before too: this part runs where that code is.
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
    """Let the game be of now, and tell how long the move took and whether each is found."""
    from tests.memory.week_booting import boot

    boot(folder, embeddings="hashing")
    from django.core.management import call_command

    from evennia_ai.memory_store import moving
    from evennia_ai.memory_store.hashing import HashingEmbedder
    from evennia_ai.memory_store.vectors import as_kept
    from evennia_ai.models import MemoryVector

    said = StringIO()
    began = time.monotonic()
    with redirect_stdout(said):
        call_command("ai_move_memories", stdout=said)
    seconds = time.monotonic() - began
    model = HashingEmbedder()
    kept = {
        row.memory.key: (row.model, bytes(row.vector))
        for row in MemoryVector.objects.select_related("memory")
    }
    same = sum(
        kept.get(f"{number:032x}")
        == (model.signature, as_kept(model.embed_passages([TEXT.format(number, number % 97)])[0]))
        for number in range(count)
    )
    left = moving.left()
    told = {"kept": len(kept), "same": same, "waiting": left.waiting, "missing": left.missing}
    print(json.dumps({**told, "seconds": round(seconds, 2), "said": said.getvalue()}))


if __name__ == "__main__":
    {"make": make, "move": move}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
