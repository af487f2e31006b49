"""Private words never reach another player, a log or the record, in random histories.

EVENNIA_AI_TEST_HISTORIES sets how many are tried, such as 20000; EVENNIA_AI_TEST_SEED the first.
"""

import os
from dataclasses import replace
from random import Random
from typing import Any
from unittest import mock

import pytest

from evennia_ai.core.hearing.audience import BY_CATEGORY, DECLARED, OPEN, WAYS, Hearers
from evennia_ai.tools import load_modules
from tests.game.walks.flow_world import Guards, World

HISTORIES = int(os.environ.get("EVENNIA_AI_TEST_HISTORIES", "150"))
SEED = int(os.environ.get("EVENNIA_AI_TEST_SEED", "1"))
STEPS = 12
# A removed guard must show as a leak within this many histories.
MOST_UNTIL_MISSED = 1500


@pytest.fixture(autouse=True)
def _tools() -> None:
    load_modules()


def history(seed: int, guards: Guards | None = None) -> list[str]:
    world = World(Random(seed), guards)
    for _ in range(STEPS):
        world.step()
    return [f"seed {seed}: {leak}" for leak in world.leaks()]


def test_hole_a2_a3_a4_a5_a6_a8_no_private_word_reaches_anybody_else() -> None:
    """The model in these histories repeats everything it knows to everybody."""
    for seed in range(SEED, SEED + HISTORIES):
        assert [] == history(seed)


def test_the_walks_reach_what_they_are_for() -> None:
    """The walks take every important way, and players do read their own private words."""
    calls: set[str] = set()
    own = 0
    for seed in range(60):
        world = World(Random(seed))
        for _ in range(STEPS):
            world.step()
        calls |= {way for _, way, _ in world.seen}
        own += sum(f"canary{number}x" in text for number, _, text in world.seen)
    assert {"sent by say", "sent by whisper", "sent by page", "carve", "fetch", "goals"} <= calls
    assert own > 500


def _open(ways: dict[Any, Any], name: Any) -> dict[Any, Any]:
    return {name: replace(ways[name], hearers=Hearers.NOBODY)}


ROWS = [
    *((WAYS, name) for name in ("say", "emote", "channel", "whisper", "page")),
    *((WAYS, name) for name in ("complete_goal", "execute_command", "set_attribute")),
    *((WAYS, name) for name in ("audit", "staff")),
    (DECLARED, "anybody"),
    *((BY_CATEGORY, kind) for kind in BY_CATEGORY if kind != "safe_chain"),
]
GUARDS = {
    "confined": Guards(confined=False),
    "asks who listens again": Guards(asks_again=False),
    "what an event holds": Guards(event_held=lambda event: OPEN),
    "a task has the audience of its turn": Guards(task_audience=lambda turn: OPEN),
    "a private turn is kept private": Guards(keeps_private=False),
    "a checkpoint has what was held": Guards(remembers_held=False),
    "one audience a call of the night": Guards(one_audience=lambda found, most: found[:most]),
    "others' words are masked": Guards(is_look_masked=False),
}


# A leak so rare that the search begins at a history that once showed it.
SHOWN_AT = {"a checkpoint has what was held": 635}


def _missed(guards: Guards | None = None, seed: int = 0) -> bool:
    return any(history(each, guards) for each in range(seed, seed + MOST_UNTIL_MISSED))


@pytest.mark.parametrize(
    ("table", "name"), ROWS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_hole_d30_each_row_of_the_table_is_missed(table: dict[Any, Any], name: Any) -> None:
    """If one way to speak counts as heard by nobody, the walks must find a leak."""
    with mock.patch.dict(table, _open(table, name)):
        assert _missed(), f"nothing leaks although {name} is open"


@pytest.mark.parametrize("name", GUARDS)
def test_hole_d30_each_guard_is_missed(name: str) -> None:
    """Without this guard the walks must find a leak."""
    assert _missed(GUARDS[name], SHOWN_AT.get(name, 0)), f"nothing leaks although {name!r} is out"
