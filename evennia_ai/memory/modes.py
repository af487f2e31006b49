"""Awake or asleep: how an assistant changes from one to the other, and since when it is awake."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from django.utils import timezone

from evennia_ai.core.memory import night, schedule
from evennia_ai.core.memory.schedule import ASLEEP, AWAKE
from evennia_ai.core.safety.audit_events import fact
from evennia_ai.core.settings.memory import SleepSchedule
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

TALK_SECONDS = 300.0
FALLS_ASLEEP = "{name}'s eyes fall shut, and sleep comes."
WAKES = "{name} wakes."


def nights(script: Assistant) -> SleepSchedule:
    """Its nights; what is set and makes no sense counts as not set."""
    try:
        return SleepSchedule.from_stored(state.read(script, "sleep_schedule"))
    except (ConfigurationError, TypeError):
        return SleepSchedule()


def hour(script: Assistant) -> datetime:
    """The time on the wall, in the game's time zone."""
    return datetime.fromtimestamp(script.clock.seconds(), timezone.get_default_timezone())


def is_asleep(script: Assistant) -> bool:
    """True where it sleeps."""
    return bool(state.read(script, "operating_mode") == ASLEEP)


def is_over(script: Assistant) -> bool:
    """True where the time to wake has come."""
    return schedule.is_over(hour(script), state.read(script, "scheduled_wake_time"))


def is_talking(script: Assistant) -> bool:
    """True where somebody talked with it just now; nobody falls asleep in the middle of a talk."""
    since = script.clock.seconds() - TALK_SECONDS
    return any(talk.last_at > since for talk in script.work.talks.values())


def was_awake(script: Assistant) -> bool:
    """True where it has been awake long enough to fall asleep by itself."""
    return schedule.was_awake(awake_seconds(script), nights(script))


def awake_seconds(script: Assistant) -> float:
    """Since when it is awake; infinite when it never slept."""
    woke_at: float | None = state.read(script, "last_night").get("woke_at")
    return math.inf if woke_at is None else max(0.0, script.clock.seconds() - woke_at)


def activity(script: Assistant) -> int:
    """Number of tools it used since it woke."""
    before = int(state.read(script, "last_night").get("tools_used", 0))
    return max(0, _tools_used(script) - before)


def _tools_used(script: Assistant) -> int:
    return sum(script.work.metrics.get("tool_calls", {}).values())


def bedtime_problem(script: Assistant) -> str:
    """The reason it may not go to sleep by its own wish, or "".

    Whoever it is answering just now does not wait.
    """
    work = script.work
    return schedule.bedtime_problem(
        nights(script),
        is_asleep=is_asleep(script),
        activity=activity(script),
        awake_seconds=awake_seconds(script),
        is_waited_for=any(item["id"] not in work.busy for item in work.inbox),
        is_stopped=state.is_stopped(script),
    )


def fall_asleep(
    script: Assistant, reason: str, *, until: datetime | None = None, by: str = ""
) -> datetime:
    """Put it to sleep. Of one that sleeps already nothing changes but when it wakes.

    Args:
        reason: for the record, in words that nobody said.
        until: when it wakes, a datetime with its time zone; None: as its schedule says.
        by: who wanted it; "" for itself.

    Returns:
        When it wakes.
    """
    now, wanted = hour(script), nights(script)
    until = until or schedule.wake_time(now, wanted)
    values: dict[str, Any] = {"scheduled_wake_time": until.isoformat()}
    if not is_asleep(script):
        progress = night.begun(state.read(script, "consolidation_progress"), now, until)
        phase = night.STEPS[0].phase
        values |= {"operating_mode": ASLEEP, "sleep_phase": phase}
        values["consolidation_progress"] = progress
    told = fact("fell_asleep", until=until.isoformat(), reason=reason, by=by)
    state.write(script, told, **values)
    _follow(script)
    return until


def wake(script: Assistant, reason: str, *, by: str = "") -> bool:
    """Wake it. What the night has not done by then, another one does.

    A piece of the night's work that is under way is not broken off; it answers nobody before that
    is done.

    Returns:
        Whether it slept.
    """
    if not is_asleep(script):
        return False
    waking = {"woke_at": script.clock.seconds(), "tools_used": _tools_used(script)}
    state.write(
        script,
        fact("woke_up", reason=reason, by=by),
        operating_mode=AWAKE,
        sleep_phase="",
        scheduled_wake_time=None,
        last_night=state.read(script, "last_night") | waking,
    )
    _follow(script)
    return True


def _follow(script: Assistant) -> None:
    """End what holds for the other mode alone."""
    script.work.tool_cache.clear_session()
    # Whoever talked with it has to call it by name again.
    script.work.conversations.by_place.clear()
    script.keep_pace()
