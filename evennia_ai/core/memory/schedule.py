"""Hours of sleep and waking, computed from a given time.

Hours of the day are those of the wall clock in a datetime's time zone; durations are elapsed time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from evennia_ai.core.settings.memory import SleepSchedule

AWAKE, ASLEEP = "awake", "sleep"
MINUTE_SECONDS = 60.0
ALREADY = "Already in sleep mode"


class SleepMove(StrEnum):
    """Acts of a scheduler beat that concern sleep."""

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
    """The act of a beat that concerns sleep, or None. Being called wakes it before all else.

    Args:
        is_called: whether an event waits for an answer.
        was_awake: whether it was awake long enough to fall asleep by itself.
        has_work: whether the night's work is unfinished.
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
    """The reason why it may not go to sleep of its own accord, or "".

    Args:
        activity: tool calls since it woke.
        awake_seconds: seconds since it woke; infinite if it never slept.
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
    """True if it was awake long enough to fall asleep again."""
    return seconds >= schedule.min_awake_minutes * MINUTE_SECONDS


def _later(when: datetime, hours: float) -> datetime:
    """A time so many elapsed hours later; computed in UTC, since clock changes do not count."""
    return (when.astimezone(UTC) + timedelta(hours=hours)).astimezone(when.tzinfo)


def _night_start(now: datetime, schedule: SleepSchedule) -> datetime:
    # fold=0: when clocks go back the hour occurs twice, and the night begins with the first.
    start = now.replace(hour=schedule.sleep_start_hour, minute=0, second=0, microsecond=0, fold=0)
    if start.astimezone(UTC) <= now.astimezone(UTC):
        return start
    return start - timedelta(days=1)


def night_end(now: datetime, schedule: SleepSchedule) -> datetime | None:
    """The end of the current night; None by day, or without a schedule."""
    if not schedule.enabled:
        return None
    end = _later(_night_start(now, schedule), schedule.sleep_duration_hours)
    return end if now.astimezone(UTC) < end.astimezone(UTC) else None


def wake_time(now: datetime, schedule: SleepSchedule, hours: float | None = None) -> datetime:
    """The time to wake for an assistant that goes to sleep now.

    Args:
        hours: duration; None for until the night's end, or by day for as long as a night.
    """
    end = night_end(now, schedule) if hours is None else None
    return end or _later(now, schedule.sleep_duration_hours if hours is None else hours)


def is_over(now: datetime, stored: str | None) -> bool:
    """True if a stored time to wake has come, or is not a valid time."""
    try:
        return now >= datetime.fromisoformat(stored or "")
    except (TypeError, ValueError):
        return True
