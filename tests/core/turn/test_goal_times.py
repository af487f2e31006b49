"""Times of goals: reading, waiting, coming due, and being missed."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from evennia_ai.core.turn.goal_times import (
    GAME,
    NAMED_HOURS,
    REAL,
    Clocks,
    DayClock,
    clock_hour,
    passed,
    read,
)
from evennia_ai.core.turn.goals import (
    StoredGoals,
    active,
    add,
    as_prompt,
    come_due,
    done_today,
    in_step,
    lines,
    next_step,
    split,
    waits_for,
)

HOUR, DAY = 3600.0, 86_400.0
LATE = 900.0  # seconds by which a goal may be late
NOON = datetime(2026, 11, 25, 12, 0, tzinfo=UTC).timestamp()
MORNING_IN_GAME = datetime(1420, 3, 1, 9, 0, tzinfo=UTC).timestamp()


def clocks(hours: float = 0.0, rate: float = 2.0) -> Clocks:
    """The wall clock so long after noon, and a game's: nine o'clock at noon, and twice as fast."""
    seconds = hours * HOUR
    return {
        REAL: DayClock(NOON + seconds, UTC),
        GAME: DayClock(MORNING_IN_GAME + rate * seconds, UTC, rate=rate),
    }


def timed(*when: str) -> StoredGoals:
    """Goals with these times, numbered from 1, set at noon."""
    goals: StoredGoals = {}
    for number, words in enumerate(when, 1):
        timing = read(words, clocks(), NAMED_HOURS)
        goals, _ = add(goals, f"goal {number}", timing=timing)
    return goals


@pytest.mark.parametrize(
    ("text", "when", "wall_hours"),
    [
        pytest.param("at 18:30", "at 18:30", 6.5, id="today"),
        pytest.param("8:00", "at 08:00", 20.0, id="tomorrow"),
        pytest.param("at 12:00", "at 12:00", 24.0, id="now is too late"),
        pytest.param("Daily  08:00", "daily at 08:00", 20.0, id="every day"),
        pytest.param("every day at 13:00", "daily at 13:00", 1.0, id="every day in words"),
        pytest.param("at dusk", "at dusk", 4.5, id="dusk, by a game that runs twice as fast"),
        pytest.param("daily at dawn", "daily at dawn", 10.5, id="each dawn of the game"),
        pytest.param("game 9:30", "at game 09:30", 0.25, id="an hour of the game"),
        pytest.param("in 2 hours", "on 2026-11-25 at 14:00", 2.0, id="so long from now"),
        pytest.param("in an hour", "on 2026-11-25 at 13:00", 1.0, id="an hour"),
        pytest.param("in 3 days", "on 2026-11-28 at 12:00", 72.0, id="days"),
        pytest.param("2026-11-26 06:00", "on 2026-11-26 at 06:00", 18.0, id="a day"),
        pytest.param("on 2026-11-26 at 6:00", "on 2026-11-26 at 06:00", 18.0, id="a day in words"),
    ],
)
def test_what_is_a_time(text: str, when: str, wall_hours: float) -> None:
    """Each form is normalized to one text, which reads back as the same time."""
    timing = read(text, clocks(), NAMED_HOURS)
    assert (when, False) == (timing["when"], timing["is_begun"])
    assert wall_hours == pytest.approx(clocks()[timing["clock"]].until(timing) / HOUR)
    again = read(timing["when"], clocks(), NAMED_HOURS)
    assert timing == again


@pytest.mark.parametrize(
    ("told_of", "text"),
    [
        pytest.param(
            "'at teatime' is not a time; times are: at 18:30, at dawn", "at teatime", id="no"
        ),
        pytest.param("not a time", "25:00", id="no hour"),
        pytest.param("not a time", "at dusk to the pier", id="more than a time"),
        pytest.param("not a time", "x" * 400, id="long"),
        pytest.param(
            "on 2026-11-24 at 10:00 is over; it is 2026-11-25", "2026-11-24 10:00", id="past"
        ),
        pytest.param("is not a day and hour", "2026-02-30 10:00", id="no day"),
        pytest.param("is not a day and hour", "2026-12-30 25:00", id="no hour of a day"),
        pytest.param("more than a year away", "2028-01-01 10:00", id="far away"),
        pytest.param("more than a year away", "in 9999 days", id="far from now"),
    ],
)
def test_what_is_no_time(told_of: str, text: str) -> None:
    with pytest.raises(ValueError, match=told_of):
        read(text, clocks(), NAMED_HOURS)


def test_a_day_that_is_none_in_the_calendar_of_its_zone() -> None:
    east = {REAL: DayClock(0.0, ZoneInfo("Europe/Berlin"))}
    with pytest.raises(ValueError, match="is not a day and hour"):
        read("0001-01-01 00:00", east, NAMED_HOURS)


def test_hours() -> None:
    assert ["08:05", "23:59", "", "", ""] == [
        clock_hour(text) for text in ("8:05", "23:59", "24:00", "8", "8:5")
    ]


def test_a_day_with_a_change_of_the_clocks() -> None:
    """A goal daily at 8 stays at 8 on the day on which summer time ends."""
    zone = ZoneInfo("Europe/Berlin")
    before = datetime(2026, 10, 24, 8, 0, tzinfo=zone).timestamp()
    following = DayClock(before, zone).next(before, "08:00")
    assert 25 * HOUR == following - before
    assert following == DayClock(following, zone).last("08:00")
    assert before == DayClock(following - 1, zone).last("08:00")


def test_a_calendar_of_the_games_own() -> None:
    """Ten hours of a hundred minutes of ten seconds each."""
    clock = DayClock(25_000.0, None, day=10_000, hour=1000, minute=10)
    assert (26_000.0, 36_000.0) == (clock.next(25_000.0, "06:00"), clock.next(26_000.0, "06:00"))
    assert 16_000.0 == clock.last("06:00")


def test_a_clock_beyond_the_years() -> None:
    """A year that `datetime` does not have is counted in days of constant length."""
    assert 18 * HOUR == DayClock(0.0, UTC).next(1e10 * DAY, "18:00") - 1e10 * DAY


def test_a_goal_waits_for_its_time() -> None:
    """Once its time has come it goes before goals of higher priority."""
    goals = timed("at 14:00")
    assert (None, 2 * HOUR) == (next_step(goals), waits_for(goals, clocks()))
    goals, other = add(goals, "dust the shelves", 9)
    assert other == _next(goals)
    before, missed = come_due(goals, clocks(1.9), LATE)
    assert (goals, []) == (before, missed)
    goals, missed = come_due(goals, clocks(2), LATE)
    assert ([], 1) == (missed, _next(goals))
    assert lines(goals)[1] == "1. goal 1 (priority 5, at 14:00, now)"
    assert waits_for(goals, clocks(2)) is None
    assert (goals, []) == come_due(goals, clocks(50), LATE)


def _next(goals: StoredGoals) -> int:
    goal = next_step(goals)
    return goal["id"]


def test_parts_wait_with_their_whole() -> None:
    """A whole whose parts all wait is not a step itself."""
    goals, _ = split(timed("at dusk"), 1, ["take a lamp", "walk"])
    assert next_step(goals) is None
    goals, _ = come_due(goals, clocks(4.5), LATE)
    assert 2 == _next(goals)
    goals, whole = add({}, "feed the cats")
    goals, _ = add(goals, "a bowl", parent=whole, timing=read("at 18:00", clocks(), NAMED_HOURS))
    assert next_step(goals) is None


def test_one_that_was_missed_is_dropped_and_told() -> None:
    """Its parts are dropped too; a quarter of an hour late is not too late."""
    goals, _ = split(timed("at 14:00"), 1, ["take a lamp", "walk"])
    on_time, missed = come_due(goals, clocks(2.25), LATE)
    assert ([], 2) == (missed, _next(on_time))
    late, missed = come_due(goals, clocks(2.26), LATE)
    assert [("goal 1 (at 14:00)", 1)] == [(as_prompt(each.goal), each.times) for each in missed]
    assert [] == active(late)
    assert "missed: it was to be at 14:00" == late["goals"][0]["outcome"]


def test_days_that_were_missed_are_no_heap() -> None:
    """Five missed days are one notice, and the next time is the next one."""
    goals, missed = come_due(timed("daily at 14:00"), clocks(5 * 24 + 1), LATE)
    assert [5] == [each.times for each in missed]
    assert (None, HOUR) == (next_step(goals), waits_for(goals, clocks(5 * 24 + 1)))


def test_back_on_time_it_begins_and_tells_of_the_others() -> None:
    """At the sixth time, ten minutes late: five were missed, and this one begins."""
    goals, missed = come_due(timed("daily at 14:00"), clocks(5 * 24 + 2.1), LATE)
    assert ([5], 1) == ([each.times for each in missed], _next(goals))


def test_a_daily_goal_comes_back() -> None:
    goals, _ = come_due(timed("daily at dusk"), clocks(4.5), LATE)
    goals = done_today(goals, 1, "all quiet")
    assert (None, "all quiet") == (next_step(goals), goals["goals"][0]["outcome"])
    assert 12 * HOUR == waits_for(goals, clocks(4.5))
    goals, missed = come_due(goals, clocks(16.5), LATE)
    assert ([], 1) == (missed, _next(goals))


def test_lateness_is_counted_on_the_wall() -> None:
    """In a game that runs sixty times as fast, a goal may still be a quarter of an hour late."""
    fast = clocks(rate=60)
    timing = read("at dusk", fast, NAMED_HOURS)
    hours = fast[GAME].until(timing) / HOUR
    for late, is_missed in ((0.25, False), (0.26, True)):
        outcome = passed(timing, clocks(hours + late, rate=60)[GAME], LATE)
        assert is_missed == bool(outcome.missed)


def test_a_daily_goal_has_no_parts() -> None:
    """Parts would exist once, but the goal comes back every day."""
    goals = timed("daily at 08:00", "at 18:00")
    with pytest.raises(ValueError, match="goal 1 comes back every day, and has no parts"):
        add(goals, "a part", parent=1)
    with pytest.raises(ValueError, match="goal 1 comes back every day"):
        split(goals, 1, ["one", "two"])
    with pytest.raises(ValueError, match="goal 2 comes once, and is closed when it is done"):
        done_today(goals, 2)


@pytest.mark.parametrize(
    ("hours", "when", "days_back", "comes"),
    [
        pytest.param(5.0, "daily at dusk", 600 * 365, True, id="another epoch"),
        pytest.param(5.0, "daily at dusk", 3, True, id="some days"),
        pytest.param(0.0, "at dusk", 3, True, id="one that comes once"),
        pytest.param(5.0, "daily at dusk", 1 / 1440, False, id="a minute, lost by a crash"),
        pytest.param(5.0, "daily at dusk", 0.5, False, id="a goal of today that is done"),
        pytest.param(0.0, "at dusk", 0.2, False, id="the same day"),
    ],
)
def test_a_game_that_is_set_back(hours: float, when: str, days_back: float, comes: bool) -> None:
    """The next such hour counts; but a little step back does not repeat the day."""
    goals, _ = come_due(timed(when), clocks(hours), LATE)
    goals = done_today(goals, 1) if hours else goals
    game = clocks(hours)[GAME]

    def back(later: float = 0.0) -> Clocks:
        return {GAME: replace(game, now=game.now - days_back * DAY + later)}

    clock = back()[GAME]
    stepped = in_step(goals, back())
    assert comes == (stepped is not goals)
    assert waits_for(goals, back()) == waits_for(stepped, back())
    if comes:
        left = clock.next(clock.now, "18:00") - clock.now
        assert left / clock.rate == waits_for(stepped, back())
        assert 1 == _next(come_due(stepped, back(left), LATE)[0])
        assert stepped is in_step(stepped, back(left))


def test_the_wall_set_back_moves_no_day_that_was_named() -> None:
    goals = timed("2026-12-24 18:00")
    assert goals is in_step(goals, clocks(-10 * 24))


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_a_game_whose_time_stands_still(rate: float) -> None:
    """Such times are refused, and those stored before never come."""
    with pytest.raises(ValueError, match="'at dusk' never comes: the game's time stands still"):
        read("at dusk", clocks(rate=rate), NAMED_HOURS)
    assert HOUR == clocks(rate=rate)[REAL].until(read("at 13:00", clocks(rate=rate), NAMED_HOURS))
    for hours in (0.0, 9.5):
        still = {GAME: replace(clocks(hours)[GAME], rate=rate)}
        goals = timed("at dusk", "daily at dusk")
        assert math.inf == waits_for(goals, still)
        assert (goals, []) == come_due(goals, still, LATE)


def test_an_hour_beyond_the_day() -> None:
    """A day of ten hours has no 18:00; the refusal of a named hour names the setting."""
    short = {**clocks(), GAME: DayClock(25_000.0, None, day=10_000, hour=1000, minute=10)}
    for text, hint in (
        ("at dusk", "10 hours, and no 18:00; EVENNIA_AI_NAMED_HOURS says when dusk is"),
        ("daily at game 10:00", "'daily at game 10:00' never comes: .* 10 hours, and no 10:00$"),
    ):
        with pytest.raises(ValueError, match=hint):
            read(text, short, NAMED_HOURS)
    assert 35_000.0 - 6_000.0 == read("at game 9:00", short, NAMED_HOURS)["due"]
    assert "at 18:00" == read("at 18:00", short, NAMED_HOURS)["when"]
