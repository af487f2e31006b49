"""Autonomous acts: the conditions of a beat, and the pace."""

from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.autonomy import (
    HOUR,
    Autonomy,
    AutonomyConfig,
    Skip,
    may_tick,
    reason_to_act,
)
from evennia_ai.errors import ConfigurationError

GO = {"emergency_stop": False, "enabled": True, "is_ticking": False, "has_event": True}


def test_goes_when_nothing_is_in_the_way() -> None:
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
    assert reason == may_tick(**{**GO, **in_the_way})


@pytest.mark.parametrize("facts", list(product((False, True), repeat=5)), ids=str)
def test_first_obstacle_wins(facts: tuple[bool, ...]) -> None:
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


@pytest.mark.parametrize(
    ("reason", "config", "goal", "company", "heard"),
    [
        pytest.param(None, {}, False, False, False, id="nobody near and no goal"),
        pytest.param(None, {}, False, True, True, id="company alone is no reason"),
        pytest.param("goal", {}, True, False, False, id="a goal"),
        pytest.param("goal", {"needs_company": True}, True, True, False, id="a goal, and company"),
        pytest.param(None, {"needs_company": True}, True, False, True, id="a goal, but alone"),
        pytest.param("company", {"initiative": True}, False, True, True, id="something to say"),
        pytest.param(None, {"initiative": True}, False, True, False, id="nothing was said"),
        pytest.param(None, {"initiative": True}, False, False, True, id="nobody is left"),
    ],
)
def test_the_reason(
    reason: str | None, config: dict[str, Any], goal: bool, company: bool, heard: bool
) -> None:
    """An assistant acts for a goal or, where that is set, on what it heard in company."""
    result = reason_to_act(
        AutonomyConfig(**config),
        has_goal=goal,
        has_company=company,
        has_heard=heard,
        is_anybody_online=True,
    )
    assert reason == result


@pytest.mark.parametrize(
    ("reason", "config", "company", "online"),
    [
        pytest.param(None, {}, False, False, id="nobody plays"),
        pytest.param("goal", {}, False, True, id="somebody plays elsewhere"),
        pytest.param("goal", {}, True, False, id="somebody is near, whatever is counted"),
        pytest.param("goal", {"when_nobody_is_online": True}, False, False, id="wanted so"),
        pytest.param(
            None,
            {"when_nobody_is_online": True, "needs_company": True},
            False,
            False,
            id="wanted so, but only in company",
        ),
    ],
)
def test_a_game_that_nobody_plays_is_no_reason(
    reason: str | None, config: dict[str, Any], company: bool, online: bool
) -> None:
    """Goals wait, unless the owner lets the assistant work while nobody is online."""
    result = reason_to_act(
        AutonomyConfig(**config),
        has_goal=True,
        has_company=company,
        has_heard=True,
        is_anybody_online=online,
    )
    assert reason == result


def test_the_first_act_waits_its_time() -> None:
    autonomy, config = Autonomy(), AutonomyConfig(seconds=10)
    assert not autonomy.is_due(100.0, config)
    assert not autonomy.is_due(109.0, config)
    assert autonomy.is_due(110.0, config)


def test_acts_in_vain_become_seldom() -> None:
    autonomy, config = Autonomy(began_at=0.0), AutonomyConfig(seconds=10)
    autonomy.begin(0.0)
    for wait in (20, 40, 80):
        autonomy.end(did_something=False)
        assert (False, True) == tuple(autonomy.is_due(t, config) for t in (wait - 1, wait))
    autonomy.end(did_something=True)
    assert (False, True) == tuple(autonomy.is_due(t, config) for t in (9, 10))


def test_a_clock_that_was_set_back_stops_no_act() -> None:
    """A machine that started with a wrong date would leave it idle until that date."""
    autonomy, config = Autonomy(), AutonomyConfig(seconds=10, acts_per_hour=1)
    autonomy.begin(100_000.0)
    assert autonomy.is_due(50_000.0, config)
    autonomy.begin(50_000.0)
    assert not autonomy.is_due(50_005.0, config)


def test_the_wait_has_an_end() -> None:
    autonomy = Autonomy(in_vain=1000, began_at=0.0)
    assert autonomy.is_due(HOUR, AutonomyConfig(seconds=10))
    assert not autonomy.is_due(HOUR, AutonomyConfig(seconds=2 * HOUR))


@given(st.lists(st.floats(0, 5000), max_size=60), st.integers(1, 8), st.floats(1, 600))
def test_never_more_than_allowed(steps: list[float], most: int, seconds: float) -> None:
    autonomy, config = Autonomy(), AutonomyConfig(seconds=seconds, acts_per_hour=most)
    now, acts = 0.0, []
    for step in steps:
        now += step
        if autonomy.is_due(now, config):
            autonomy.begin(now)
            autonomy.end(did_something=True)
            acts.append(now)
    assert all(later - earlier >= seconds for earlier, later in pairwise(acts))
    assert all(sum(1 for at in acts if now - HOUR < at <= now) <= most for now in acts)


@pytest.mark.parametrize(
    ("told", "stored"),
    [
        pytest.param("has no key 'pace'; it has seconds", {"pace": 3}, id="unknown key"),
        pytest.param("seconds is 0; it must be a number from 1 up", {"seconds": 0}, id="no wait"),
        pytest.param("seconds is True; it must be", {"seconds": True}, id="no number"),
        pytest.param("seconds is nan; it must be", {"seconds": float("nan")}, id="not a number"),
        pytest.param("acts_per_hour is 'x'; it must", {"acts_per_hour": "x"}, id="a text"),
        pytest.param("initiative is 1; it must be True", {"initiative": 1}, id="no truth"),
        pytest.param(
            "when_nobody_is_online is 'no'; it must be True",
            {"when_nobody_is_online": "no"},
            id="a word for no",
        ),
    ],
)
def test_a_wrong_setting_is_named(told: str, stored: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=told):
        AutonomyConfig.from_stored(stored)


def test_a_right_setting_is_read() -> None:
    assert AutonomyConfig(seconds=60, initiative=True) == AutonomyConfig.from_stored(
        {"seconds": 60, "initiative": True}
    )


def test_an_hour_has_its_bound() -> None:
    autonomy, config = Autonomy(began_at=0.0), AutonomyConfig(seconds=1, acts_per_hour=2)
    for now in (10.0, 20.0):
        assert autonomy.is_due(now, config)
        autonomy.begin(now)
        autonomy.end(did_something=True)
    assert [False, False, True] == [autonomy.is_due(t, config) for t in (30, HOUR + 9, HOUR + 10)]


def test_the_defaults_are_seldom() -> None:
    assert (
        AutonomyConfig(seconds=300.0, acts_per_hour=6, needs_company=False, initiative=False)
        == AutonomyConfig()
    )
    assert HOUR == 60 * 60
