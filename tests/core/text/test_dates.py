"""Dates in words: as a prompt shows them, and as a stored fact keeps them."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.text.dates import ago, full, full_with_weekday, is_relative, settled, when

BERLIN = ZoneInfo("Europe/Berlin")
# A Sunday, and a leap day.
DAY = date(2026, 5, 3)
LEAP = date(2028, 2, 29)


@pytest.mark.parametrize(
    ("expected", "seconds"),
    [
        ("just now", -5),
        ("just now", 59),
        ("1 minute ago", 60),
        ("59 minutes ago", 3599),
        ("1 hour ago", 3600),
        ("3 days ago", 3.5 * 86_400),
        ("1 week ago", 8 * 86_400),
        ("2 months ago", 70 * 86_400),
        ("1 year ago", 400 * 86_400),
    ],
)
def test_ago(expected: str, seconds: float) -> None:
    assert expected == ago(seconds)


@pytest.mark.parametrize(
    ("expected", "then", "now"),
    [
        ("today 14:10", "2026-05-03 14:10", "2026-05-03 23:59"),
        ("today 00:00", "2026-05-03 00:00", "2026-05-03 00:00"),
        ("yesterday", "2026-05-02 23:59", "2026-05-03 00:00"),
        ("yesterday", "2026-05-02 00:00", "2026-05-03 23:59"),
        ("on Friday 1 May", "2026-05-01 23:59", "2026-05-03 00:00"),
        ("on Monday 27 April", "2026-04-27 00:00", "2026-05-03 23:59"),
        ("on 26 April", "2026-04-26 23:59", "2026-05-03 00:00"),
        ("on 1 January", "2026-01-01 08:00", "2026-12-31 08:00"),
        ("yesterday", "2025-12-31 23:00", "2026-01-01 01:00"),
        ("on 30 December 2025", "2025-12-30 23:00", "2026-01-01 01:00"),
        ("on 3 May 2025", "2025-05-03 14:10", "2026-05-03 14:10"),
        ("on 29 February 2024", "2024-02-29 12:00", "2025-02-28 12:00"),
        ("yesterday", "2028-02-29 12:00", "2028-03-01 12:00"),
        ("on Monday 28 February", "2028-02-28 12:00", "2028-03-01 12:00"),
        ("on 1 March 1999", "1999-03-01 12:00", "2026-03-01 12:00"),
        # The clocks go forward on 29 March and back on 25 October: days of 23 and 25 hours.
        ("yesterday", "2026-03-28 23:30", "2026-03-29 23:30"),
        ("today 01:30", "2026-03-29 01:30", "2026-03-29 03:30"),
        ("yesterday", "2026-10-24 00:10", "2026-10-25 23:50"),
        ("today 00:10", "2026-10-25 00:10", "2026-10-25 23:50"),
        # The clock was set back: the moment is told as it is.
        ("today 15:00", "2026-05-03 15:00", "2026-05-03 14:00"),
        ("on Monday 4 May", "2026-05-04 15:00", "2026-05-03 14:00"),
    ],
)
def test_a_moment_as_a_prompt_tells_it(expected: str, then: str, now: str) -> None:
    """The calendar of the game's time zone decides, not the number of hours."""
    first, second = (datetime.fromisoformat(text).replace(tzinfo=BERLIN) for text in (then, now))
    assert expected == when(first.timestamp(), second)


def test_the_time_zone_is_that_of_now() -> None:
    late = datetime(2026, 5, 2, 23, 30, tzinfo=UTC)
    assert "yesterday" == when(late.timestamp(), late + timedelta(hours=1))
    assert "today 01:30" == when(late.timestamp(), (late + timedelta(hours=1)).astimezone(BERLIN))


def test_a_day() -> None:
    assert ("3 May 2026", "Tuesday 29 February 2028") == (full(DAY), full_with_weekday(LEAP))


@pytest.mark.parametrize(
    ("expected", "text", "day"),
    [
        ("Tom sailed on 2 May 2026.", "Tom sailed yesterday.", DAY),
        ("On 3 May 2026 Tom sails.", "Today Tom sails.", DAY),
        ("Tom sails on 4 May 2026.", "Tom sails tomorrow.", DAY),
        ("Tom is away until 4 May 2026.", "Tom is away until to-morrow.", DAY),
        ("Tom is away since 2 May 2026.", "Tom is away since yesterday.", DAY),
        ("Tom left on 1 May 2026.", "Tom left the day before yesterday.", DAY),
        ("Tom leaves on 5 May 2026.", "Tom leaves the day after tomorrow.", DAY),
        ("On the night of 2 May 2026 it rained.", "Last night it rained.", DAY),
        ("It rained on the evening of 2 May 2026.", "It rained yesterday evening.", DAY),
        ("It rained on the morning of 3 May 2026.", "It rained this morning.", DAY),
        ("It rains on the morning of 4 May 2026.", "It rains tomorrow morning.", DAY),
        ("Tom dines on the night of 3 May 2026.", "Tom dines tonight.", DAY),
        ("Tom dined in the week of 20 April 2026.", "Tom dined last week.", DAY),
        ("Tom dines in the week of 4 May 2026.", "Tom dines next week.", DAY),
        ("Tom dined in April 2026.", "Tom dined last month.", DAY),
        ("Tom dines in 2027.", "Tom dines next year.", DAY),
        ("Tom dined in December 2025.", "Tom dined last month.", date(2026, 1, 9)),
        ("Tom dined in this very hall.", "Tom dined in this very hall.", DAY),
        ("Tom dined on 30 April 2026.", "Tom dined three days ago.", DAY),
        ("Tom dined on 26 April 2026.", "Tom dined a week ago.", DAY),
        ("Tom dined on 19 April 2026.", "Tom dined 2 weeks ago.", DAY),
        ("Tom dined in November 2025.", "Tom dined six months ago.", DAY),
        ("Tom dined in 2024.", "Tom dined 2 years ago.", DAY),
        ("Tom dined on 28 April 2026.", "Tom dined last Tuesday.", DAY),
        ("Tom dined on 26 April 2026.", "Tom dined last Sunday.", DAY),
        ("Tom dines on 10 May 2026.", "Tom dines next Sunday.", DAY),
        ("Tom dines on 4 May 2026.", "Tom dines next Monday.", DAY),
        ("Tom dined on 29 February 2028.", "Tom dined today.", LEAP),
        ("Tom dined on 29 February 2028.", "Tom dined yesterday.", date(2028, 3, 1)),
        ("Tom dined on 31 December 2025.", "Tom dined yesterday.", date(2026, 1, 1)),
        ("Tom was ill on 2 May 2026 and 1 day.", "Tom was ill yesterday and 1 day.", DAY),
        ("TOM DINED On 1 May 2026.", "TOM DINED LAST FR\u0130DAY.", DAY),
        ("TOM DINED On 28 April 2026.", "TOM DINED F\u0130VE DAYS AGO.", DAY),
        ("It rains on the morning of 4 May 2026.", "It rains to-morrow morning.", DAY),
        ("Tom dined on 26 April 2026.", "Tom dined a week ago today.", DAY),
        ("Tom came about 19 April 2026.", "Tom came about two weeks ago.", DAY),
        ("Tom is 9 since the first of April 2026.", "Tom is 9 since the first of last month.", DAY),
        ("Tom left. On 3 May 2026 he came.", "Tom left. Today he came.", DAY),
        ('The play "Yesterday" was on 2 May 2026.', 'The play "Yesterday" was yesterday.', DAY),
    ],
)
def test_what_is_true_on_one_day_only_becomes_a_date(expected: str, text: str, day: date) -> None:
    assert expected == settled(text, [day])


@pytest.mark.parametrize(
    "text",
    [
        "Tom ate yesterday's bread.",
        "Tom was ill recently.",
        "Tom dined one or two days ago.",
        "Tom dined half a year ago.",
        "Tom dined 1.5 years ago.",
        "Tom dined 1,200 days ago.",
        "Tom dined 2-3 weeks ago.",
        "Tom dined two to three weeks ago.",
        "Tom dined twenty-two days ago.",
        "Tom dined twenty two days ago.",
        "Tom dined over two years ago.",
        "Tom leaves in three days.",
        "Tom dines this weekend.",
        "Tom moved some years ago.",
        "Tom marries next summer.",
        "Tom was ill the week before last.",
        "Tom comes back a fortnight from now.",
        "Tom has a boat named Tomorrow.",
        "Tom sings in the band Last Night.",
    ],
)
def test_what_cannot_be_worked_out_says_when_it_was_said(text: str) -> None:
    """Otherwise it would be counted from another day."""
    assert f"{text} (said on 3 May 2026)" == settled(text, [DAY])


def test_what_says_when_it_was_said_is_not_counted_again() -> None:
    """A model may copy a known fact on another night."""
    text = settled("Tom was ill recently.", [DAY])
    assert text == settled(text, [LEAP])


def test_of_what_was_said_on_several_days_nothing_is_guessed() -> None:
    """The text then names the first and the last of these days."""
    several = [DAY, DAY - timedelta(2), DAY]
    expected = "Tom sails tomorrow. (said between 1 May 2026 and 3 May 2026)"
    assert expected == settled("Tom sails tomorrow.", several)
    assert "Tom sails on 4 May 2026." == settled("Tom sails tomorrow.", [DAY, DAY])


@pytest.mark.parametrize(
    "text", ["Tom has a boat.", "Tom sailed on 2 May 2026.", 'The inn is called "Last Night".', ""]
)
def test_what_is_always_true_stays_as_it_is(text: str) -> None:
    assert text == settled(text, [DAY])


def test_nobody_said_it() -> None:
    assert "Tom sails tomorrow." == settled("Tom sails tomorrow.", [])


@given(st.text(), st.dates(min_value=date(1990, 1, 1), max_value=date(2200, 1, 1)))
def test_it_is_done_once(text: str, day: date) -> None:
    """No relative date stays without a day beside it."""
    once = settled(text, [day])
    assert not is_relative(once) or once.endswith(f"(said on {full(day)})")
