"""A server that is killed between any two writes of a night loses nothing and doubles nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests import postgres

FEWEST_OF_A_SAMPLE = 3

Play = Callable[[str], dict[str, Any]]


@pytest.mark.parametrize(
    ("scene", "fewest"),
    [
        pytest.param("a night", 40, id="a night"),
        pytest.param("called in the night", 15, id="called in the night"),
        pytest.param("facts before a summary", 10, id="facts before a summary"),
        pytest.param("facts while awake", 8, id="facts while awake"),
    ],
)
def test_the_morning_after(play: Play, scene: str, fewest: int) -> None:
    """Whatever the moment, in the morning all is there once, and record and state agree."""
    found = play(scene)
    assert {} == found["wrong"]
    assert found["moments"] > (FEWEST_OF_A_SAMPLE if postgres.is_sampled() else fewest)
