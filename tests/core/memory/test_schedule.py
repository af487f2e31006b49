"""The schedule of sleep."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.memory.schedule import (
    ALREADY,
    SleepMove,
    bedtime_problem,
    is_over,
    move_at,
    night_end,
    wake_time,
)
from evennia_ai.core.settings.memory import SleepSchedule

BERLIN = ZoneInfo("Europe/Berlin")
NIGHTS = SleepSchedule(enabled=True)


def at(text: str, zone: Any = UTC) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


@pytest.mark.parametrize(
    ("end", "now", "start", "hours"),
    [
        pytest.param("2026-05-02T06:00", "2026-05-02T02:00", 2, 4, id="its first second"),
        pytest.param("2026-05-02T06:00", "2026-05-02T05:59:59", 2, 4, id="its last second"),
        pytest.param(None, "2026-05-02T06:00", 2, 4, id="over"),
        pytest.param(None, "2026-05-02T01:59:59", 2, 4, id="not yet"),
        pytest.param("2026-05-03T05:00", "2026-05-02T23:30", 22, 7, id="before midnight"),
        pytest.param("2026-05-02T05:00", "2026-05-02T00:30", 22, 7, id="after midnight"),
        pytest.param("2026-05-02T02:30", "2026-05-02T02:10", 2, 0.5, id="half an hour"),
        pytest.param("2026-05-03T01:00", "2026-05-02T03:00", 2, 23, id="nearly all day"),
        pytest.param(None, "2026-05-02T01:30", 2, 23, id="the hour in between"),
    ],
)
def test_the_night(end: str | None, now: str, start: int, hours: float) -> None:
    nights = SleepSchedule(enabled=True, sleep_start_hour=start, sleep_duration_hours=hours)
    assert (None if end is None else at(end)) == night_end(at(now), nights)


def test_without_nights_it_never_is_night() -> None:
    assert None is night_end(at("2026-05-02T03:00"), SleepSchedule())


@pytest.mark.parametrize(
    ("end", "now"),
    [
        pytest.param("2026-03-29T07:00", "2026-03-29T03:30", id="the hour at two is skipped"),
        pytest.param("2026-10-25T05:00", "2026-10-25T02:30", id="the hour at two comes twice"),
    ],
)
def test_a_night_is_as_long_when_the_clocks_change(end: str, now: str) -> None:
    """Four hours pass, whatever the wall clock shows."""
    assert at(end, BERLIN) == night_end(at(now, BERLIN), NIGHTS)
    assert at(end, BERLIN).utcoffset() == night_end(at(now, BERLIN), NIGHTS).utcoffset()


def test_the_second_of_two_equal_hours_is_night_too() -> None:
    now = at("2026-10-25T02:30", BERLIN).replace(fold=1)
    assert at("2026-10-25T05:00", BERLIN) == night_end(now, NIGHTS)


@given(st.integers(1_577_836_800, 1_893_456_000), st.integers(0, 23), st.floats(0.1, 23))
def test_whoever_sleeps_wakes(seconds: int, start: int, hours: float) -> None:
    nights = SleepSchedule(enabled=True, sleep_start_hour=start, sleep_duration_hours=hours)
    now = datetime.fromtimestamp(seconds, BERLIN)
    end = night_end(now, nights)
    if end is not None:
        assert timedelta() < end.astimezone(UTC) - now.astimezone(UTC) <= timedelta(hours=hours)
        assert is_over(end, end.isoformat())


@pytest.mark.parametrize(
    ("wakes", "now", "hours"),
    [
        pytest.param("2026-05-02T06:00", "2026-05-02T03:00", None, id="until the night's end"),
        pytest.param("2026-05-02T16:00", "2026-05-02T12:00", None, id="by day, a night's length"),
        pytest.param("2026-05-02T03:30", "2026-05-02T03:00", 0.5, id="as long as is wanted"),
    ],
)
def test_when_it_wakes(wakes: str, now: str, hours: float | None) -> None:
    """A wished length comes before the schedule."""
    assert at(wakes) == wake_time(at(now), NIGHTS, hours)


@pytest.mark.parametrize(
    ("over", "stored"),
    [
        pytest.param(False, "2026-05-02T06:00:00+00:00", id="not yet"),
        pytest.param(False, "2026-05-02T06:00:00+02:00", id="in another zone"),
        pytest.param(True, "2026-05-02T03:00:00+00:00", id="now"),
        pytest.param(True, None, id="nothing stored"),
        pytest.param(True, "soon", id="no time"),
        pytest.param(True, "2026-05-02T06:00:00", id="a time of no zone"),
        pytest.param(True, 7, id="a number"),
    ],
)
def test_nobody_sleeps_for_ever(over: bool, stored: Any) -> None:
    """An unreadable wake time counts as past."""
    assert over is is_over(at("2026-05-02T03:00"), stored)


@pytest.mark.parametrize(
    ("move", "hour"),
    [
        pytest.param(None, {"is_asleep": False}, id="day"),
        pytest.param(SleepMove.NIGHT, {"is_asleep": False, "is_night": True}, id="night falls"),
        pytest.param(
            None, {"is_asleep": False, "is_night": True, "is_called": True}, id="somebody waits"
        ),
        pytest.param(
            None, {"is_asleep": False, "is_night": True, "was_awake": False}, id="woke just now"
        ),
        pytest.param(None, {"is_asleep": True}, id="all is done"),
        pytest.param(SleepMove.REST, {"is_asleep": True, "has_work": True}, id="work"),
        pytest.param(
            SleepMove.REST, {"is_asleep": True, "has_work": True, "is_night": True}, id="rest"
        ),
        pytest.param(
            SleepMove.OVER, {"is_asleep": True, "has_work": True, "is_over": True}, id="over"
        ),
        pytest.param(
            SleepMove.CALLED, {"is_asleep": True, "is_over": True, "is_called": True}, id="called"
        ),
    ],
)
def test_what_a_beat_does(move: SleepMove | None, hour: dict[str, Any]) -> None:
    """A call wakes it before all else, and nobody falls asleep while somebody waits."""
    assert move is move_at(**hour)


@pytest.mark.parametrize(
    ("problem", "bedtime"),
    [
        pytest.param("", {}, id="may sleep"),
        pytest.param("", {"awake_seconds": math.inf}, id="never slept before"),
        pytest.param(ALREADY, {"is_asleep": True, "is_stopped": True}, id="asleep"),
        pytest.param("an emergency stop is active", {"is_stopped": True}, id="stopped"),
        pytest.param("somebody waits", {"is_waited_for": True, "activity": 0}, id="waited for"),
        pytest.param("you woke 29 minutes ago", {"awake_seconds": 1799 - 59}, id="just awake"),
        pytest.param("you did 4 things since", {"activity": 4}, id="nothing done"),
    ],
)
def test_by_its_own_wish(problem: str, bedtime: dict[str, Any]) -> None:
    usual = {"is_asleep": False, "activity": 5, "awake_seconds": 1800.0}
    message = bedtime_problem(NIGHTS, **{**usual, **bedtime})
    assert message.startswith(problem)
    assert bool(problem) is bool(message)
