"""Times: shown in the game's `TIME_ZONE`, and read as people name and type them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

import evennia
from django.conf import settings
from django.utils import timezone

from evennia_ai.core.text.cleaning import one_line

_AGO = re.compile(r"(\d{1,6}|an?|one) (minute|hour|day|week)s? ago", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_NAMED = {"today": 0, "yesterday": 1}
WHEN = "today, yesterday, 2 days ago, 3 hours ago or 2026-11-21"
# "3 hours ago" is an estimate: a search covers so much time before and after it.
_TOLERANCE = {"hour": timedelta(minutes=30), "minute": timedelta(minutes=5)}


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time, in seconds since 1970.

    Attributes:
        until: its end, exclusive.
        phrase: its name in a sentence, such as "on 2026-11-21".
    """

    since: float
    until: float
    phrase: str


def zone() -> tzinfo:
    """The game's time zone."""
    here: tzinfo = timezone.get_default_timezone()
    return here


def zone_name() -> str:
    """The name of the game's time zone, such as "Europe/Berlin"."""
    return str(zone())


def as_shown(seconds: float) -> str:
    """A moment in the game's time zone: "2026-11-21 14:03 UTC"."""
    return datetime.fromtimestamp(seconds, zone()).strftime("%Y-%m-%d %H:%M %Z")


def clock_of(at: datetime | str) -> str:
    """A time, or its ISO 8601 text, by the game's clock, for tables: "2026-11-21 14:03:05"."""
    moment = at if isinstance(at, datetime) else datetime.fromisoformat(at)
    return f"{moment.astimezone(zone()):%Y-%m-%d %H:%M:%S}"


def day_of(at: datetime | str) -> str:
    """The day of a time, or of its ISO 8601 text, by the game's clock: "2026-11-21"."""
    return clock_of(at)[:10]


def iso(seconds: float) -> str:
    """A moment as programs read it: "2026-11-21T17:00:00+00:00"."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def spoken(seconds: float, now: float) -> str:
    """A moment as people say it: "at 14:03", "yesterday at 14:03"."""
    moment, today = (datetime.fromtimestamp(each, zone()) for each in (seconds, now))
    clock, days = f"at {moment:%H:%M}", (today.date() - moment.date()).days
    if days == 0:
        return clock
    return f"yesterday {clock}" if days == 1 else f"on {moment:%Y-%m-%d} {clock}"


def in_the_game(seconds: float, now: float) -> str:
    """A moment by the game's own calendar; "" where the game has none.

    TIME_GAME_EPOCH sets a calendar; without it game time only counts from the first start of the
    server, which means nothing to players.
    """
    if settings.TIME_GAME_EPOCH is None:
        return ""
    # Evennia imports it when it has a database; imported earlier, it logs an error.
    then = evennia.gametime.gametime(absolute=True) - (now - seconds) * settings.TIME_FACTOR
    try:
        return datetime.fromtimestamp(then, zone()).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):  # an epoch beyond the years that datetime has
        return ""


def span_of(text: str, now: float) -> Span | None:
    """The span of time that words name, or None where they name none.

    Days are whole days in the game's time zone; hours and minutes mean the time around them.
    """
    words, here = " ".join(text.casefold().split()), datetime.fromtimestamp(now, zone())
    if words in _NAMED:
        return _day(here.date() - timedelta(days=_NAMED[words]), words)
    try:
        if _DAY.fullmatch(words):
            return _day(date.fromisoformat(words), f"on {words}")
        ago = _AGO.fullmatch(words)
        if ago is None:
            return None
        count = int(ago[1]) if ago[1].isdecimal() else 1
        back = timedelta(**{f"{ago[2]}s": count})
        if ago[2] not in _TOLERANCE:
            return _day((here - back).date(), words)
        middle, near = now - back.total_seconds(), _TOLERANCE[ago[2]].total_seconds()
        return Span(middle - near, middle + near, words)
    except (ValueError, OverflowError):
        return None


def _day(day: date, name: str) -> Span:
    # Midnight to midnight: a day on which the clocks change is not 24 hours long.
    first, last = (
        datetime.combine(each, time(), zone()).timestamp()
        for each in (day, day + timedelta(days=1))
    )
    return Span(first, last, name)


TIMES = "2026-11-21, 2026-11-21 17:00, or 2 hours ago; without a zone it is"
_SO_LONG_AGO = re.compile(r"(\d{1,6}) (second|minute|hour|day|week)s? ago", re.ASCII)
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII
)


def moment_of(text: str, now: datetime) -> datetime:
    """Read a time as typed, into UTC: ISO 8601, as the game shows it, or "2 hours ago".

    Raises:
        ValueError: it is not a time, or in the future; the message is for people.
    """
    words, shown = " ".join(text.split()), repr(one_line(text, 40))
    try:
        moment = _read_moment(words, now)
    except (ValueError, OverflowError):
        raise ValueError(f"{shown} is not a time; a time is like {TIMES} {zone_name()}.") from None
    if moment > now:
        raise ValueError(f"{shown} is not over yet: it is {as_shown(now.timestamp())}.")
    return moment


def _read_moment(words: str, now: datetime) -> datetime:
    if ago := _SO_LONG_AGO.fullmatch(words.casefold()):
        return now - timedelta(**{f"{ago[2]}s": int(ago[1])})
    # An OverflowError on the first and last days of the calendar, which some zones do not have.
    return _in_its_zone(words.upper()).astimezone(UTC)


def _in_its_zone(words: str) -> datetime:
    # A time without a zone is in the game's; the zone may also be named as the game shows it.
    if _ISO.fullmatch(words):
        moment = datetime.fromisoformat(words)
        return moment if moment.tzinfo else moment.replace(tzinfo=zone())
    text, _, name = words.rpartition(" ")
    if not _ISO.fullmatch(text):
        raise ValueError(words)
    moment = datetime.fromisoformat(text)
    # The hour that occurs twice when daylight saving ends is told apart by the name of its zone.
    zoned = [moment.replace(tzinfo=zone(), fold=fold) for fold in (0, 1)]
    zoned.append(moment.replace(tzinfo=UTC))
    moments = [each for each in zoned if str(each.tzname()).upper() == name]
    if moment.tzinfo or not moments:
        raise ValueError(words)
    return moments[0]
