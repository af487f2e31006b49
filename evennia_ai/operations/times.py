"""Times as the game shows them, in its `TIME_ZONE`, and as people name and type them."""

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
# How far from a time that was named in hours or minutes it is looked, to both sides.
_NEAR = {"hour": timedelta(minutes=30), "minute": timedelta(minutes=5)}


@dataclass(frozen=True, slots=True)
class Span:
    """A time with a beginning and an end, in seconds since 1970.

    Attributes:
        until: its end, which is not part of it.
        told: what it is called, such as "on 2026-11-21".
    """

    since: float
    until: float
    told: str


def zone() -> tzinfo:
    """The game's time zone."""
    here: tzinfo = timezone.get_default_timezone()
    return here


def zone_name() -> str:
    """The name of the game's time zone, such as "Europe/Berlin"."""
    return str(zone())


def as_shown(seconds: float) -> str:
    """A moment by the game's clock: "2026-11-21 14:03 UTC"."""
    return datetime.fromtimestamp(seconds, zone()).strftime("%Y-%m-%d %H:%M %Z")


def iso(seconds: float) -> str:
    """A moment as programs read it: "2026-11-21T17:00:00+00:00"."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def spoken(seconds: float, now: float) -> str:
    """A moment as somebody would say it: "at 14:03", "yesterday at 14:03"."""
    moment, today = (datetime.fromtimestamp(each, zone()) for each in (seconds, now))
    clock, days = f"at {moment:%H:%M}", (today.date() - moment.date()).days
    if days == 0:
        return clock
    return f"yesterday {clock}" if days == 1 else f"on {moment:%Y-%m-%d} {clock}"


def in_the_game(seconds: float, now: float) -> str:
    """The moment by the game's own calendar; "" where the game has set none.

    A calendar is set by TIME_GAME_EPOCH; without it game time begins with the server, and tells
    nobody anything.
    """
    if settings.TIME_GAME_EPOCH is None:
        return ""
    # Imported by Evennia when it has a database: before that, gametime complains aloud.
    then = evennia.gametime.gametime(absolute=True) - (now - seconds) * settings.TIME_FACTOR
    try:
        return datetime.fromtimestamp(then, zone()).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):  # a calendar that no computer's clock has
        return ""


def span_of(text: str, now: float) -> Span | None:
    """The time that some words name; None: they name none.

    Days are whole days of the game's time zone. Of hours and minutes it is the time around.
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
        if ago[2] not in _NEAR:
            return _day((here - back).date(), words)
        middle, near = now - back.total_seconds(), _NEAR[ago[2]].total_seconds()
        return Span(middle - near, middle + near, words)
    except (ValueError, OverflowError):
        return None


def _day(day: date, told: str) -> Span:
    first, last = (
        datetime.combine(each, time(), zone()).timestamp()
        for each in (day, day + timedelta(days=1))
    )
    return Span(first, last, told)


TIMES = "2026-11-21, 2026-11-21 17:00, or 2 hours ago; without a zone it is"
_SO_LONG_AGO = re.compile(r"(\d{1,6}) (second|minute|hour|day|week)s? ago", re.ASCII)
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII
)


def moment_of(text: str, now: datetime) -> datetime:
    """A time as somebody typed it, in UTC: ISO 8601, as the game shows it, or so long ago.

    Raises:
        ValueError: it is none, or not over yet; the message is for people.
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
    # The first and the last day of all have no place in every zone.
    return _in_its_zone(words.upper()).astimezone(UTC)


def _in_its_zone(words: str) -> datetime:
    """A moment with its zone; without one it is the game's, which may be named as it is shown."""
    if _ISO.fullmatch(words):
        moment = datetime.fromisoformat(words)
        return moment if moment.tzinfo else moment.replace(tzinfo=zone())
    typed, _, name = words.rpartition(" ")
    if not _ISO.fullmatch(typed):
        raise ValueError(words)
    moment = datetime.fromisoformat(typed)
    # The hour that is there twice when a summer ends is told apart by its two names.
    zoned = [moment.replace(tzinfo=zone(), fold=fold) for fold in (0, 1)]
    zoned.append(moment.replace(tzinfo=UTC))
    found = [each for each in zoned if str(each.tzname()).upper() == name]
    if moment.tzinfo or not found:
        raise ValueError(words)
    return found[0]
