"""The modes awake and asleep: switching between them, and conditions for it."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from django.utils import timezone

from evennia_ai.core.memory import night, schedule
from evennia_ai.core.memory.schedule import ASLEEP, AWAKE
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.settings.memory import SleepSchedule
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

# Silence after which a talk does not keep the assistant awake.
TALK_SECONDS = 300.0
PAUSED = "paused"
FALLS_ASLEEP = "{name}'s eyes fall shut, and sleep comes."
WAKES = "{name} wakes."


def sleep_schedule_of(script: Assistant) -> SleepSchedule:
    """The assistant's sleep schedule, or the default if the stored one is invalid."""
    try:
        return SleepSchedule.from_stored(state.read(script, "sleep_schedule"))
    except ConfigurationError:
        # Owners can set the attribute by hand, to anything.
        return SleepSchedule()


def now(script: Assistant) -> datetime:
    """The current time in the game's time zone."""
    return datetime.fromtimestamp(script.clock.seconds(), timezone.get_default_timezone())


def is_asleep(script: Assistant) -> bool:
    """True if the assistant sleeps."""
    return bool(state.read(script, "operating_mode") == ASLEEP)


def is_paused(script: Assistant) -> bool:
    """True if code of the game paused or stopped its timer: what it is asked waits."""
    return not script.db_is_active or (script.work is not None and script.work.is_closing)


def mood(script: Assistant) -> str:
    """The word for people: paused, asleep, or awake."""
    if is_paused(script):
        return PAUSED
    return "asleep" if is_asleep(script) else "awake"


def is_over(script: Assistant) -> bool:
    """True if it is time to wake up."""
    return schedule.is_over(now(script), state.read(script, "scheduled_wake_time"))


def is_talking(script: Assistant) -> bool:
    """True if somebody talked with it recently, so that it must not fall asleep."""
    since = script.clock.seconds() - TALK_SECONDS
    return any(talk.last_at > since for talk in script.work.talks.values())


def was_awake(script: Assistant) -> bool:
    """True if it has been awake long enough to fall asleep by itself."""
    return schedule.was_awake(awake_seconds(script), sleep_schedule_of(script))


def awake_seconds(script: Assistant) -> float:
    """Seconds since it woke; infinite if it never slept."""
    woke_at: float | None = state.read(script, "last_night").get("woke_at")
    return math.inf if woke_at is None else max(0.0, script.clock.seconds() - woke_at)


def activity(script: Assistant) -> int:
    """Number of tool calls since it woke."""
    before = int(state.read(script, "last_night").get("tools_used", 0))
    return max(0, _tools_used(script) - before)


def _tools_used(script: Assistant) -> int:
    return sum(script.work.metrics.get("tool_calls", {}).values())


def bedtime_problem(script: Assistant) -> str:
    """The reason why it may not go to sleep by its own choice, or ""."""
    busy = script.work.busy
    # A message being answered right now is busy, not waiting: the wish comes from that turn.
    return schedule.bedtime_problem(
        sleep_schedule_of(script),
        is_asleep=is_asleep(script),
        activity=activity(script),
        awake_seconds=awake_seconds(script),
        is_waited_for=any(item["id"] not in busy for item in script.work.inbox),
        is_stopped=state.is_stopped(script),
    )


def fall_asleep(
    script: Assistant, reason: str, *, until: datetime | None = None, by: str = ""
) -> datetime:
    """Put the assistant to sleep until the time returned; if it sleeps already, only that changes.

    Args:
        reason: for the audit log; must not contain a player's words.
        until: time to wake, as an aware datetime; None: according to the schedule.
        by: who asked for it; "" for the assistant itself.
    """
    begun_at = now(script)
    until = until or schedule.wake_time(begun_at, sleep_schedule_of(script))
    values: dict[str, Any] = {"scheduled_wake_time": until.isoformat()}
    if not is_asleep(script):
        progress = night.begun(state.read(script, "consolidation_progress"), begun_at, until)
        phase = night.STEPS[0].phase
        values |= {"operating_mode": ASLEEP, "sleep_phase": phase}
        values["consolidation_progress"] = progress
    event = audit_event("fell_asleep", until=until.isoformat(), reason=reason, by=by)
    state.write(script, event, **values)
    _reset_for_mode(script)
    return until


def wake(script: Assistant, reason: str, *, by: str = "") -> bool:
    """Wake the assistant. Unfinished steps of the night are left to the next one.

    A step that is running is completed first, and no message is answered before.

    Returns:
        Whether it was asleep.
    """
    if not is_asleep(script):
        return False
    waking = {"woke_at": script.clock.seconds(), "tools_used": _tools_used(script)}
    state.write(
        script,
        audit_event("woke_up", reason=reason, by=by),
        operating_mode=AWAKE,
        sleep_phase="",
        scheduled_wake_time=None,
        last_night=state.read(script, "last_night") | waking,
    )
    _reset_for_mode(script)
    return True


def _reset_for_mode(script: Assistant) -> None:
    script.work.tool_cache.clear_session()
    # Conversations end: people have to address it by name again.
    script.work.conversations.by_place.clear()
    script.apply_tick_rate()
