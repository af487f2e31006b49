"""Queries of the table of memories that run in the game's thread, when one assistant has many.

    python -m benchmarks.memory_queries [--rows 100000] [--rounds 50]

The table is in SQLite with a write-ahead log, like the demo game's. Every query is run as a turn, a
night or a player runs it; times are CPU times of one query, the median of the rounds.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.scene import set_up_game

AIM_MS = 5.0
PEOPLE, ROOMS, FACTS_OF_TEN = 200, 10, 2
DONE = 50
MODEL = "hashing-1/384"
DAYS, DAY_SECONDS = 300, 86_400.0
WORDS = (
    *("lamp", "harbour", "tide", "atlas", "stair", "north", "gallery", "storm", "book", "key"),
    *("brass", "mend", "lighthouse", "boat", "rope", "market", "winter", "letter", "brother"),
    *("teapot", "mill", "river", "bridge", "song", "debt", "promise", "map", "garden", "stone"),
)
# Occurs in one memory only, so a search for it looks through all of them.
RARE = "xylophone"


def memories(count: int, now: float) -> Iterator[Any]:
    """Yield memories of public and private talk with many people over most of a year."""
    from evennia_ai.core.memory.recollection import Recollection, person_audience, place_audience

    chance = random.Random(7)
    for number in range(count):
        person = f"*#{chance.randrange(PEOPLE) + 1}"
        room = f"#{chance.randrange(ROOMS) + 1}"
        is_private = number % 3 == 0
        words = " ".join(chance.choices(WORDS, k=15))
        rare = f" {RARE}" if number == count // 2 else ""
        yield Recollection(
            key=f"{number:032x}",
            kind="fact" if number % 10 < FACTS_OF_TEN else "journal",
            text=f'Tom said: "{words}{rare} {number}"',
            audience=person_audience(person) if is_private else place_audience("say", room),
            person=person,
            place=room,
            importance=chance.randrange(4, 10),
            at=now - DAYS * DAY_SECONDS * (1 - number / count),
        )


def fill(script: Any, count: int) -> None:
    """Give an assistant that many memories, none of them consolidated: nobody sleeps by default."""
    from django.db import transaction

    from evennia_ai.memory_store import rows
    from evennia_ai.models import Memory

    with transaction.atomic():
        rows.insert(script.pk, memories(count, script.clock.seconds()))
        Memory.objects.filter(assistant=script.pk).update(indexed_as=MODEL)


def retained(script: Any, count: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the queries for what need not be kept, by name; each before the next is prepared."""
    from evennia_ai.memory import retention
    from evennia_ai.models import Memory
    from evennia_ai.runtime import state

    now = script.clock.seconds()
    oldest = list(Memory.objects.filter(kind="journal").order_by("id")[:DONE])
    for name, most, done in (
        ("nothing is", count, 0),
        (f"{DONE} are too many", count - DONE, 0),
        (f"{DONE} entries were sorted out", count, DONE),
    ):
        state.write(script, memory_config={"max_memories": most})
        sorted_out = Memory.objects.filter(pk__in=[row.pk for row in oldest[:done]])
        sorted_out.update(is_consolidated=True)
        yield f"what is overdue, where {name}", lambda: retention.overdue(script, now)


def questions(script: Any) -> dict[str, Callable[[], Any]]:
    """Return the other queries, by name."""
    from evennia_ai.consolidation import consolidating
    from evennia_ai.core.memory.recollection import Seeker
    from evennia_ai.memory import journal
    from evennia_ai.memory_store import rows

    alone = Seeker("*#3", "whisper", "#2", is_private=True)
    aloud = Seeker("*#3", "say", "#2")
    nobody = Seeker("*#9999", "whisper", "#9999", is_private=True)
    return {
        "the newest entries, in a whisper": lambda: journal.recent(script, alone, 10),
        "the newest entries, aloud": lambda: journal.recent(script, aloud, 10),
        "the newest entries, of somebody new": lambda: journal.recent(script, nobody, 10),
        "the talk with a person": lambda: journal.of_talk(script, alone, 40),
        "entries with a word that many have": lambda: journal.search(script, alone, "teapot", 10),
        "entries with a word that one has": lambda: journal.search(script, aloud, RARE, 10),
        "the next entries for the night": lambda: consolidating.next_batch(script, ()),
        "what waits for a vector": lambda: rows.waiting(script.pk, 16),
        "how much of it there is": lambda: rows.count_waiting(script.pk),
        "what another model has read": lambda: rows.stale(script.pk, MODEL),
        "where a person spoke aloud": lambda: rows.spoken_at(script.pk, "*#3", 16),
    }


def median_ms(ask: Callable[[], Any], rounds: int) -> float:
    """Return the median CPU milliseconds of a query."""
    ask()
    took = []
    for _ in range(rounds):
        began = time.thread_time()
        ask()
        took.append(time.thread_time() - began)
    return statistics.median(took) * 1000


def main() -> None:
    """Make a game, measure, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    os.environ["EVENNIA_AI_MEMORY_STORE"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        set_up_game(Path(folder), "http://127.0.0.1:9")
        from django.core.management import call_command
        from evennia.objects.objects import DefaultRoom
        from evennia.utils.create import create_object

        call_command("migrate", verbosity=0)
        from evennia_ai.operations import create_assistant

        room = create_object(DefaultRoom, "Library", nohome=True)
        script = create_assistant("Ada", location=room).data.script
        fill(script, options.rows)
        print(f"| of {options.rows:,} memories | ms | aim | |\n|---|--:|--:|---|")
        for name, ask in chain(retained(script, options.rows), questions(script).items()):
            took = median_ms(ask, options.rounds)
            print(f"| {name} | {took:.2f} | {AIM_MS:g} | {'yes' if took <= AIM_MS else 'NO'} |")


if __name__ == "__main__":
    main()
