"""How long the trace is kept, as a game sets it."""

from __future__ import annotations

from typing import Any

import pytest

from evennia_ai.core.settings.services import TraceConfig
from evennia_ai.errors import ConfigurationError

NAME = TraceConfig.NAME


def test_nothing_set_is_a_week_without_private_words() -> None:
    """What is named goes before the defaults."""
    expected = {"keep_days": 7.0, "keep_messages": 5_000, "private_words": False}
    assert expected == TraceConfig.from_stored({}).model_dump()
    given = {"keep_days": 0, "keep_messages": 100, "private_words": True}
    assert given == TraceConfig.from_stored(given).model_dump()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param([], f"{NAME} is []; it must be a mapping", id="no mapping"),
        pytest.param({"keep_day": 3}, f"{NAME} has no key 'keep_day'", id="unknown"),
        pytest.param({"keep_days": -1}, f"{NAME}.keep_days is -1; it must be", id="below 0"),
        pytest.param({"keep_days": float("nan")}, "keep_days is nan", id="no number"),
        pytest.param({"keep_messages": 99}, "a whole number from 100 to 1000000", id="too few"),
        pytest.param({"keep_messages": True}, "keep_messages is True", id="a switch"),
        pytest.param({"private_words": "no"}, "it must be True or False", id="no switch"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(given: Any, told: str) -> None:
    """And with what would be right."""
    with pytest.raises(ConfigurationError) as found:
        TraceConfig.from_stored(given)
    assert told in str(found.value)
