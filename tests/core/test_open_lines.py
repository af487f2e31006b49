"""Who answers an open line, and how many may."""

from __future__ import annotations

import pytest

from evennia_ai.core.hearing.calling import MOST_ANSWERS, Offer
from evennia_ai.core.settings.model import read_value
from evennia_ai.errors import ConfigurationError

LONG_AGO = float("inf")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(Offer(True, 50, 9), Offer(False, 1, 0), id="who is in a talk with them"),
        pytest.param(Offer(False, 50, 9), Offer(False, 60, 0), id="who spoke last with them"),
        pytest.param(Offer(False, 299, 9), Offer(False, 300, 0), id="of late"),
        pytest.param(Offer(False, 300, 1), Offer(False, 301, 2), id="long ago: whose turn it is"),
        pytest.param(Offer(False, LONG_AGO, 0), Offer(False, 400, 1), id="who was never chosen"),
    ],
)
def test_who_comes_first(first: Offer, second: Offer) -> None:
    """A talk that goes on, then the last one that they spoke with, then each in turn."""
    assert first.rank < second.rank


def test_how_many_may_be_set() -> None:
    """A whole number from 0 up, whatever it is set for."""
    assert [0, 1, 7] == [read_value(MOST_ANSWERS, "here", value) for value in (0, 1, 7)]
    for wrong in (-1, 1.0, True, "2", None):
        with pytest.raises(ConfigurationError, match="here is "):
            read_value(MOST_ANSWERS, "here", wrong)
