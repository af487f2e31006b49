"""A server that is killed between any two writes of a night loses and doubles nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from tests import postgres

FEWEST_OF_A_SAMPLE = 2

Play = Callable[[str], dict[str, Any]]


# Scenes and the least number of their moments that are looked at.
NIGHTS = {
    "a night": 13,
    "called in the night": 9,
    "facts before a summary": 9,
    "facts while awake": 7,
}
# On PostgreSQL only the shortest.
SAMPLE = ("facts while awake",)


@pytest.mark.parametrize("scene", SAMPLE if postgres.is_sampled() else NIGHTS)
def test_the_morning_after(play: Play, scene: str) -> None:
    """All facts are there once, and the record agrees with the stored state."""
    result = play(scene)
    assert {} == result["wrong"]
    assert result["moments"] >= (FEWEST_OF_A_SAMPLE if postgres.is_sampled() else NIGHTS[scene])
