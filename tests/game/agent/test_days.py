"""Times by the game's clock, and days as people name them."""

from datetime import UTC, datetime

import pytest
from django.test.utils import override_settings
from django.utils import timezone

from evennia_ai.operations.times import (
    as_shown,
    clock_of,
    day_of,
    in_the_game,
    iso,
    span_of,
    spoken,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp()
HOUR, DAY = 3_600, 86_400


@pytest.fixture(autouse=True)
def tokyo() -> object:
    """A game whose clock is nine hours ahead."""
    timezone.get_default_timezone.cache_clear()
    with override_settings(TIME_ZONE="Asia/Tokyo"):
        yield
    timezone.get_default_timezone.cache_clear()


def test_times_are_the_games() -> None:
    assert "2026-03-02 21:00 JST" == as_shown(NOON)
    assert "2026-03-02T12:00:00+00:00" == iso(NOON)
    moment = datetime.fromtimestamp(NOON, UTC)
    assert "2026-03-02 21:00:00" == clock_of(iso(NOON)) == clock_of(moment)
    assert "2026-03-03" == day_of(iso(NOON + 3 * HOUR))
    assert "at 21:00" == spoken(NOON, NOON + HOUR)
    assert "yesterday at 21:00" == spoken(NOON, NOON + 4 * HOUR)
    assert "on 2026-03-02 at 21:00" == spoken(NOON, NOON + 3 * DAY)


@pytest.mark.parametrize(
    ("words", "since", "until"),
    [
        ("today", "2026-03-01T15:00:00+00:00", "2026-03-02T15:00:00+00:00"),
        ("Yesterday", "2026-02-28T15:00:00+00:00", "2026-03-01T15:00:00+00:00"),
        ("2 days ago", "2026-02-27T15:00:00+00:00", "2026-02-28T15:00:00+00:00"),
        ("a  week ago", "2026-02-22T15:00:00+00:00", "2026-02-23T15:00:00+00:00"),
        ("2026-02-20", "2026-02-19T15:00:00+00:00", "2026-02-20T15:00:00+00:00"),
        ("3 hours ago", "2026-03-02T08:30:00+00:00", "2026-03-02T09:30:00+00:00"),
        ("10 minutes ago", "2026-03-02T11:45:00+00:00", "2026-03-02T11:55:00+00:00"),
    ],
)
def test_days_are_whole_days_of_the_game(words: str, since: str, until: str) -> None:
    """Hours and minutes ago name a span around that time."""
    span = span_of(words, NOON)
    assert (since, until) == (iso(span.since), iso(span.until))


@pytest.mark.parametrize("words", ["", "ada", "12", "2026-02-30", "999999 weeks ago", "ago", "1"])
def test_what_names_no_time_is_none(words: str) -> None:
    assert span_of(words, NOON) is None


def test_game_time_is_told_where_the_game_has_a_calendar() -> None:
    """A date that no calendar can show is left out."""
    assert not in_the_game(NOON, NOON)
    with override_settings(TIME_GAME_EPOCH=0.0, TIME_FACTOR=2.0):
        now, before = (
            datetime.fromisoformat(in_the_game(each, NOON)) for each in (NOON, NOON - DAY)
        )
        assert 2 == round((now - before).total_seconds() / DAY)
    with override_settings(TIME_GAME_EPOCH=1e18):
        assert not in_the_game(NOON, NOON)
