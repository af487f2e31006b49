"""Times of goals: once or daily, by the wall clock or by game time.

A clock is a plain value: its time now, how its days are counted, and how fast it runs. Times that a
person or a model wrote are parsed only here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TypedDict

REAL, GAME = "real", "game"
NAMED_HOURS = {"dawn": "06:00", "noon": "12:00", "dusk": "18:00", "midnight": "00:00"}
_HOUR = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_AT = re.compile(r"(daily |every day )?(?:at )?(game )?([\d:]+|[a-z][a-z_-]*)", re.ASCII)
_IN = re.compile(r"in (\d{1,4}|an?|one) (minute|hour|day)s?", re.ASCII)
_ON = re.compile(r"(?:on )?(\d{4}-\d\d-\d\d) (?:at )?(\S+)", re.ASCII)
LONGEST_WHEN = 60
MOST_DAYS_AHEAD = 366


class Timing(TypedDict):
    """The time of a goal, as stored.

    Attributes:
        when: the time in words, as people are shown it.
        clock: REAL or GAME.
        at: hour and minute of the day, "18:00".
        due: its next occurrence, in seconds on its clock.
        is_begun: whether its time has come and the goal is being worked on.
    """

    when: str
    clock: str
    at: str
    is_daily: bool
    due: float
    is_begun: bool


@dataclass(frozen=True, slots=True)
class DayClock:
    """A clock with days.

    Attributes:
        now: in seconds.
        zone: time zone of its days; None for a game's own calendar, where a day, an hour and a
            minute are a number of seconds each.
        rate: its seconds per second of the wall clock; 0 if it stands still.
    """

    now: float
    zone: tzinfo | None = None
    day: float = 86_400
    hour: float = 3600
    minute: float = 60
    rate: float = 1.0

    def next(self, after: float, at: str) -> float:
        """The first moment after another one at which the clock shows an hour.

        Args:
            at: the hour, "18:00".
        """
        hour, minute = map(int, at.split(":"))
        try:
            today = datetime.fromtimestamp(after, self.zone).date() if self.zone else None
        except (OverflowError, OSError, ValueError):  # a year beyond what datetime can hold
            today = None
        if today is None:
            moment = after - after % self.day + hour * self.hour + minute * self.minute
            return moment if moment > after else moment + self.day
        # The next day may lie on the other side of a change to or from summer time, so days are
        # added as dates. One of three always comes after `after`.
        clock, days = time(hour, minute), (today + timedelta(days=count) for count in range(3))
        moments = (datetime.combine(each, clock, self.zone).timestamp() for each in days)
        return next(moment for moment in moments if moment > after)

    def last(self, at: str) -> float:
        """The latest moment at which the clock showed an hour, now included."""
        # Starting a day and a half back is enough: with summer time a day may have 25 hours.
        moment = self.next(self.now - 1.5 * self.day, at)
        while (later := self.next(moment, at)) <= self.now:
            moment = later
        return moment

    def has(self, at: str) -> bool:
        """True if an hour lies within the clock's day."""
        hour, minute = map(int, at.split(":"))
        return self.zone is not None or hour * self.hour + minute * self.minute < self.day

    def due(self, timing: Timing) -> float:
        """The moment at which a timing comes due.

        A daily or game time never lies far beyond the next such hour. If the stored moment does,
        the clock was set back in the meantime, and the next such hour counts.
        """
        if not timing["is_daily"] and timing["clock"] == REAL:
            return timing["due"]
        coming = self.next(self.now, timing["at"])
        # After a crash game time is up to a minute back: a daily time that was just done must not
        # recur.
        slack = 1.5 * self.day if timing["is_daily"] else self.minute
        return coming if timing["due"] > coming + slack else timing["due"]

    def until(self, timing: Timing) -> float:
        """Seconds on the wall clock until a timing comes due; negative once it has passed."""
        return (self.due(timing) - self.now) / self.rate if self.rate > 0 else math.inf


Clocks = Mapping[str, DayClock]


def clock_hour(text: str) -> str:
    """An hour such as "8:30" as it is stored, "08:30"; "" if it is not an hour."""
    match = _HOUR.fullmatch(text)
    return f"{int(match[1]):02}:{match[2]}" if match else ""


def read(text: str, clocks: Clocks, named: Mapping[str, str]) -> Timing:
    """Parse a time: "at dusk", "daily at 08:00", "in 2 hours".

    Raises:
        ValueError: it is not a time; the text says which forms there are.
    """
    words, wall = " ".join(text.casefold().split())[: LONGEST_WHEN + 1], clocks[REAL]
    if match := _IN.fullmatch(words):
        count = int(match[1]) if match[1].isdecimal() else 1
        unit = {"minute": wall.minute, "hour": wall.hour, "day": wall.day}[match[2]]
        return _once(wall, wall.now + count * unit)
    if match := _ON.fullmatch(words):
        return _once(wall, _parse_moment(match[1], match[2], wall))
    match = _AT.fullmatch(words)
    at = clock_hour(named.get(match[3], match[3])) if match else ""
    if match is None or not at:
        raise ValueError(f"{text[:LONGEST_WHEN]!r} is not a time; {wanted(named)}")
    is_named = match[3] in named
    kind = GAME if match[2] or is_named else REAL
    if problem := _why_never(clocks[kind], at, match[3] if is_named else ""):
        raise ValueError(f"{text[:LONGEST_WHEN]!r} never comes: {problem}")
    label = match[3] if is_named else f"game {at}" if kind == GAME else at
    return Timing(
        when=f"{'daily ' if match[1] else ''}at {label}",
        clock=kind,
        at=at,
        is_daily=bool(match[1]),
        due=clocks[kind].next(clocks[kind].now, at),
        is_begun=False,
    )


def _why_never(clock: DayClock, at: str, name: str) -> str:
    """The reason why an hour never comes on a clock, with a remedy, or ""."""
    if clock.rate <= 0:
        return "the game's time stands still (TIME_FACTOR); name an hour of the wall's: at 18:30"
    if clock.has(at):
        return ""
    hint = f"; EVENNIA_AI_NAMED_HOURS says when {name} is" if name else ""
    return f"the game's day has {clock.day / clock.hour:g} hours, and no {at}{hint}"


def wanted(named: Mapping[str, str]) -> str:
    """The forms of times that are understood, in words for the writer of another one."""
    return (
        f"times are: at 18:30, at {' or '.join(named)} (of the game's day), at game 20:00, daily "
        "at one of these, in 2 hours, 2026-12-01 18:00"
    )


def _parse_moment(day: str, hour: str, wall: DayClock) -> float:
    at = clock_hour(hour)
    try:
        clock = time.fromisoformat(at)
        moment = datetime.combine(date.fromisoformat(day), clock, wall.zone)
        return moment.astimezone(UTC).timestamp()  # OverflowError: beyond the calendar there
    except (ValueError, OverflowError):
        raise ValueError(f"{day} {hour} is not a day and hour; one is 2026-12-01 18:00") from None


def _once(wall: DayClock, due: float) -> Timing:
    moment = datetime.fromtimestamp(due, wall.zone)
    when = f"on {moment:%Y-%m-%d at %H:%M}"
    if due <= wall.now:
        raise ValueError(
            f"{when} is over; it is {datetime.fromtimestamp(wall.now, wall.zone):%F %R}"
        )
    if due > wall.now + MOST_DAYS_AHEAD * wall.day:
        raise ValueError(f"{when} is more than a year away")
    return Timing(
        when=when, clock=REAL, at=f"{moment:%H:%M}", is_daily=False, due=due, is_begun=False
    )


@dataclass(frozen=True, slots=True)
class Passed:
    """A timing that has come due.

    Attributes:
        timing: its value from here on.
        missed: how often it came while nothing could be done; one that is not daily is over then.
    """

    timing: Timing
    missed: int = 0


def passed(timing: Timing, clock: DayClock, late_seconds: float) -> Passed | None:
    """The outcome if a timing has come due since the last check, else None.

    Args:
        clock: the clock of the timing.
        late_seconds: seconds on the wall clock after which it counts as missed.
    """
    is_over = timing["is_begun"] and not timing["is_daily"]
    if is_over or clock.rate <= 0 or timing["due"] > clock.now:
        return None
    if not timing["is_daily"]:
        is_missed = clock.until(timing) < -late_seconds
        return Passed({**timing, "is_begun": not is_missed}, int(is_missed))
    newest = clock.last(timing["at"])
    times = max(1, round((newest - timing["due"]) / clock.day) + 1)
    is_on_time = (clock.now - newest) / clock.rate <= late_seconds
    due = clock.next(clock.now, timing["at"])
    return Passed({**timing, "due": due, "is_begun": is_on_time}, times - is_on_time)
