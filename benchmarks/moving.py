"""Lag of a running game while an assistant with very many memories is exported and imported.

    python -m benchmarks.moving [--memories 200000] [--people 500]

The game is the product's, on SQLite. It prints a line for each part: its seconds, and how late a
timer of five milliseconds was meanwhile (median, 99th percentile, worst), next to the idle game of
this run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.workers import lag
from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.clients import Player
from tests.journeys.game import Game, make_product_folder
from tests.journeys.staging import run

AT_ONCE = 5_000
WAIT_SECONDS = 600.0
IDLE_SECONDS = 5.0
# Different lines as people say them; some for everybody, most for one of many absent people.
FILL = """
from evennia_ai.core.memory.recollection import Recollection, person_audience, place_audience
from evennia_ai.memory_store import rows
from uuid import uuid4
import time
who, what = ("Tom", "Mira", "the miller", "a guard"), ("a lamp", "the blue door", "old maps", "rye")
def made(n):
    person = "*#%d" % (1000 + n % {people})
    audience = person_audience(person) if n % 3 else place_audience("say", "#2")
    text = "%s was asked about %s at the harbour in year %s, and said %s of it." % (
        who[n % 4], what[n // 4 % 4], n, uuid4().hex[:12])
    return Recollection(uuid4().hex, "fact", text, audience, person=person, place="#2",
        at=time.time(), tags=("harbour", "lamp"))
rows.insert(ada.pk, [made(n) for n in range({first}, {last})])
rows.of(ada.pk, indexed_as="").update(indexed_as="-")
"""


def told(owner: Player, name: str, do: Callable[[], object]) -> None:
    """Do something, and print the lag of the game's reactor meanwhile."""
    lag(owner)
    began = time.perf_counter()
    do()
    seconds = time.perf_counter() - began
    median, most, worst = lag(owner)
    print(
        f"{name:8} {seconds:7.1f} s   lag ms p50 {median:6.1f} p99 {most:6.1f} worst {worst:7.1f}"
        f"   load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def play(game: Game, owner: Player, count: int, people: int) -> None:
    """Fill Ada's table, export her, and import her under another name."""
    for first in range(0, count, AT_ONCE):
        last = min(count, first + AT_ONCE)
        run(owner, FILL.format(first=first, last=last, people=people), WAIT_SECONDS)
    told(owner, "idle", lambda: time.sleep(IDLE_SECONDS))
    told(owner, "out", lambda: owner.ask("assistant export ada all", "is in ", WAIT_SECONDS))
    folder = game.folder / "server" / "ai_imports"
    folder.mkdir(exist_ok=True)
    (file,) = (game.folder / "server" / "ai_exports").glob("assistant-ada*.zip")
    shutil.copy(file, folder / "ada.zip")
    print(f"file     {file.stat().st_size:,} bytes", flush=True)

    def come_in(answer: str, end: str) -> None:
        owner.ask("assistant import ada.zip as Edda", "Store it", WAIT_SECONDS)
        owner.ask(answer, end, WAIT_SECONDS)

    told(owner, "look", lambda: come_in("no", "Nothing is stored"))
    told(owner, "in", lambda: come_in("yes", "Edda is here, and silent"))
    told(owner, "idle", lambda: time.sleep(IDLE_SECONDS))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=200_000)
    parser.add_argument("--people", type=int, default=500)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeModel.in_process() as model,
        Game.make(Path(folder) / "game", make_product_folder) as game,
    ):
        game.build_product()
        game.ask_model_at(model.base_url, MODEL_NAME)
        game.start()
        with game.log_in_admin() as owner:
            play(game, owner, options.memories, options.people)


if __name__ == "__main__":
    main()
