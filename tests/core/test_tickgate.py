"""Whether a beat becomes a tick."""

from __future__ import annotations

from itertools import product

import pytest

from evennia_ai.core.turn.autonomy import Skip, may_tick

GO = {"emergency_stop": False, "enabled": True, "is_ticking": False, "has_event": True}


def test_goes_when_nothing_is_in_the_way() -> None:
    """An enabled assistant with something to answer ticks."""
    assert None is may_tick(**GO)


@pytest.mark.parametrize(
    ("reason", "in_the_way"),
    [
        pytest.param("emergency_stop", {"emergency_stop": True}, id="stopped"),
        pytest.param("disabled", {"enabled": False}, id="disabled"),
        pytest.param("already_ticking", {"is_ticking": True}, id="ticking"),
        pytest.param("nothing_to_do", {"has_event": False}, id="idle"),
    ],
)
def test_each_obstacle_has_its_reason(reason: str, in_the_way: dict[str, bool]) -> None:
    """A single obstacle is the reason that is given, in the words of the specification."""
    assert reason == may_tick(**{**GO, **in_the_way})


@pytest.mark.parametrize("facts", list(product((False, True), repeat=5)), ids=str)
def test_first_obstacle_wins(facts: tuple[bool, ...]) -> None:
    """With several obstacles the order is emergency, enabled, already ticking, nothing to do."""
    emergency_stop, enabled, is_ticking, has_event, has_reason = facts
    obstacles = (
        (emergency_stop, Skip.EMERGENCY),
        (not enabled, Skip.DISABLED),
        (is_ticking, Skip.TICKING),
        (not (has_event or has_reason), Skip.NOTHING_TO_DO),
    )
    assert next((skip for is_there, skip in obstacles if is_there), None) is may_tick(
        **dict(zip((*GO, "has_reason"), facts, strict=True))
    )
