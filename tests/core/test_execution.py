"""The bounds of one tick."""

from __future__ import annotations

from typing import Any

import pytest

from evennia_ai.core.execution import ExecutionConfig
from evennia_ai.errors import ConfigurationError


@pytest.mark.parametrize(
    ("iterations", "stored"),
    [
        pytest.param(5, {}, id="the defaults"),
        pytest.param(10, {"max_iterations_per_tick": 10}, id="the most"),
        pytest.param(1, {"max_iterations_per_tick": 1}, id="the least"),
        pytest.param(1, {"multi_action_enabled": False}, id="a single action"),
        pytest.param(
            1,
            {"multi_action_enabled": False, "max_iterations_per_tick": 9},
            id="a single action whatever the count",
        ),
    ],
)
def test_iterations(iterations: int, stored: dict[str, Any]) -> None:
    """The loop may ask the model this often."""
    assert iterations == ExecutionConfig.from_stored(stored).iterations


@pytest.mark.parametrize(
    ("told", "stored"),
    [
        pytest.param("per_tick is 0; it must be 1 to 10", {"max_iterations_per_tick": 0}, id="0"),
        pytest.param("per_tick is 11; it", {"max_iterations_per_tick": 11}, id="11"),
        pytest.param("per_tick is -1; it", {"max_iterations_per_tick": -1}, id="negative"),
        pytest.param("per_tick is True; it", {"max_iterations_per_tick": True}, id="a bool"),
        pytest.param("per_tick is '5'; it", {"max_iterations_per_tick": "5"}, id="a text"),
        pytest.param("per_tick is 2.0; it", {"max_iterations_per_tick": 2.0}, id="a float"),
        pytest.param("per_tick is nan; it", {"max_iterations_per_tick": float("nan")}, id="nan"),
        pytest.param("enabled is 1; it must be True", {"multi_action_enabled": 1}, id="no bool"),
        pytest.param(
            "no key 'max_iterations'; it has multi_action_enabled, max_iterations_per_tick",
            {"max_iterations": 3},
            id="an unknown key",
        ),
    ],
)
def test_wrong_values_are_refused(told: str, stored: dict[str, Any]) -> None:
    """What does not fit is refused when it is read, in a sentence that names it and what fits."""
    with pytest.raises(ConfigurationError) as refusal:
        ExecutionConfig.from_stored(stored)
    assert told in str(refusal.value)
