"""Workers beside a real game on PostgreSQL: vectors, nights, kills, stops and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.journeys.clients import Player
from tests.journeys.game import Game
from tests.journeys.staging import run
from tests.journeys.worker_bed import Bed, running_bed, until

# Memories of Ada's, which nobody said: as a game's own code puts them in.
REMEMBER = """
from evennia_ai.core.memory.recollection import Recollection, place_audience
from evennia_ai.memory import indexing
from evennia_ai.memory_store import rows
from uuid import uuid4
import time
made = [
    Recollection(uuid4().hex, "fact", "The %s boat lies in the harbour." % number,
        place_audience("say", "#2"), person="", place="#2", at=time.time())
    for number in range({count})
]
rows.insert(ada.pk, made)
indexing.soon(ada)
"""
UNREAD = "SELECT count(*) FROM evennia_ai_memory WHERE indexed_as = '' AND kind <> 'lore'"
VECTORS = "SELECT count(*) FROM evennia_ai_memoryvector"
JOBS = "SELECT count(*) FROM evennia_ai_workjob"


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with running_bed(tmp_path_factory.mktemp("workers"), {}) as made:
        yield made


@pytest.fixture(scope="module")
def game(bed: Bed) -> Game:
    """For the report of a failure."""
    return bed.game


@pytest.fixture
def owner(bed: Bed) -> Iterator[Player]:
    with bed.game.log_in_admin() as player:
        yield player


def remember(owner: Player, count: int) -> None:
    """Put memories into Ada's table, and let vectors be made."""
    run(owner, REMEMBER.format(count=count))


def test_memories_get_vectors_by_workers(bed: Bed, owner: Player) -> None:
    """What is remembered waits while nobody is at work, and has a vector once somebody is."""
    remember(owner, 100)
    until(lambda: bed.rows(JOBS)[0][0])
    assert [(0,)] == bed.rows(VECTORS)
    bed.start_workers(1)
    until(lambda: bed.rows(UNREAD) == [(0,)], told=bed.log())
    assert [(100,)] == bed.rows(VECTORS)
    until(lambda: bed.rows(JOBS) == [(0,)])
