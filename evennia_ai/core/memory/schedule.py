"""The hours of sleep and waking. Pure: the hour comes in, no clock is asked.

Hours are those of the wall clock, of a datetime with its time zone; lengths are hours that pass.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from evennia_ai.core.settings.memory import SleepSchedule

AWAKE, ASLEEP = "awake", "sleep"
MINUTE_SECONDS = 60.0
ALREADY = "Already in sleep mode"


class SleepMove(StrEnum):
    """The acts of a beat that concern sleep."""

    CALLED = "somebody speaks to it"
    OVER = "the time to wake has come"
    NIGHT = "it is night"
    REST = "a piece of the night's work"
    FACTS = "a talk is over, or much was said"
    THOUGHT = "it is quiet, and there may be something to think over"


def move_at(
    *,
    is_asleep: bool,
    is_called: bool = False,
    is_over: bool = False,
    is_night: bool = False,
    was_awake: bool = True,
    has_work: bool = False,
) -> SleepMove | None:
    """The act of a beat; None: nothing about sleep. Whoever is called wakes before all else.

    Args:
        is_called: something waits for an answer.
        is_over: the time to wake has come.
        is_night: the schedule says that it is night.
        was_awake: it has been awake long enough to fall asleep by itself.
        has_work: the night's work is not done.
    """
    if not is_asleep:
        return SleepMove.NIGHT if is_night and was_awake and not is_called else None
    if is_called:
        return SleepMove.CALLED
    if is_over:
        return SleepMove.OVER
    return SleepMove.REST if has_work else None


def bedtime_problem(
    schedule: SleepSchedule,
    *,
    is_asleep: bool,
    activity: int,
    awake_seconds: float,
    is_waited_for: bool = False,
    is_stopped: bool = False,
) -> str:
    """The reason against going to sleep by its own wish, or "".

    Args:
        activity: tools it used since it woke.
        awake_seconds: since it woke; infinite when it never slept.
        is_waited_for: somebody else waits for an answer.
        is_stopped: an emergency stop is active.
    """
    if is_asleep:
        return ALREADY
    if is_stopped:
        return "an emergency stop is active"
    if is_waited_for:
        return "somebody waits for your answer; answer first"
    if not was_awake(awake_seconds, schedule):
        return (
            f"you woke {awake_seconds / MINUTE_SECONDS:.0f} minutes ago; "
            f"stay awake for at least {schedule.min_awake_minutes:g}"
        )
    if activity < schedule.min_activity:
        return (
            f"you did {activity} things since you woke; "
            f"there is nothing to sleep on before {schedule.min_activity}"
        )
    return ""


def was_awake(seconds: float, schedule: SleepSchedule) -> bool:
    """True for a time awake that is long enough to fall asleep again."""
    return seconds >= schedule.min_awake_minutes * MINUTE_SECONDS


def _later(when: datetime, hours: float) -> datetime:
    """So many hours on: an hour that a change of the clocks skips does not pass."""
    return (when.astimezone(UTC) + timedelta(hours=hours)).astimezone(when.tzinfo)


def _began(now: datetime, schedule: SleepSchedule) -> datetime:
    # fold=0: of an hour that the clocks go through twice, the first.
    start = now.replace(hour=schedule.sleep_start_hour, minute=0, second=0, microsecond=0, fold=0)
    if start.astimezone(UTC) <= now.astimezone(UTC):
        return start
    return start - timedelta(days=1)


def night_end(now: datetime, schedule: SleepSchedule) -> datetime | None:
    """The end of the present night; None: it is day, or there are no nights."""
    if not schedule.enabled:
        return None
    end = _later(_began(now, schedule), schedule.sleep_duration_hours)
    return end if now.astimezone(UTC) < end.astimezone(UTC) else None


def wake_time(now: datetime, schedule: SleepSchedule, hours: float | None = None) -> datetime:
    """The hour of waking for one that goes to sleep now.

    Args:
        hours: how long it is to sleep; None: until the night's end, or as long as a night is.
    """
    end = night_end(now, schedule) if hours is None else None
    return end or _later(now, schedule.sleep_duration_hours if hours is None else hours)


def is_over(now: datetime, stored: str | None) -> bool:
    """True where a stored time to wake has come; one that is not a time always has."""
    try:
        return now >= datetime.fromisoformat(stored or "")
    except (TypeError, ValueError):
        return True
