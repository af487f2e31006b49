"""Whether an assistant sleeps, and putting it to sleep or waking it by hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.consolidation import beats
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.memory import modes
from evennia_ai.operations.configuring import signed
from evennia_ai.operations.result import Problem, Result, note
from evennia_ai.runtime import state
from evennia_ai.runtime.pronouns import wording

MOST_HOURS = 24.0


@dataclass(frozen=True, slots=True)
class Sleep:
    """An assistant asleep or awake, and what its nights are like."""

    mode: Annotated[str, note("`awake` or `sleep`.")]
    phase: Annotated[str | None, note("What it is at in its sleep.")]
    until: Annotated[str | None, note("When it wakes by itself (ISO 8601).")]
    schedule: dict[str, object]
    night: Annotated[dict[str, object], note("How far this night has come.")]
    last_night: dict[str, object]


@dataclass(frozen=True, slots=True)
class Asleep:
    """The end of a sleep."""

    until: Annotated[str, note("When it wakes by itself (ISO 8601).")]


def sleep_status(script: AssistantScript) -> Result[Sleep]:
    """Sleep and nights of an assistant: until when, and what the last one came to."""
    data = Sleep(
        state.read(script, "operating_mode"),
        state.read(script, "sleep_phase"),
        state.read(script, "scheduled_wake_time"),
        modes.nights(script).model_dump(),
        state.read(script, "consolidation_progress"),
        state.read(script, "last_night"),
    )
    asleep = modes.is_asleep(script)
    until = str(data.until)[:16].replace("T", " ")
    told = f"{script.key} sleeps until {until} ({data.phase})." if asleep else _awake(script)
    night = ", ".join(f"{name} {value}" for name, value in data.last_night.items())
    last = f"The last night: {one_line(night, 300)}" if night else "There was no night yet."
    return Result(True, f"{told} {last}", data)


def _awake(script: AssistantScript) -> str:
    nights = modes.nights(script)
    if not nights.enabled:
        return f"{script.key} is awake, and has no bedtime (sleep_schedule.enabled)."
    hour, hours = nights.sleep_start_hour, nights.sleep_duration_hours
    return f"{script.key} is awake, and sleeps from {hour}:00 on for {hours:g} hours."


def put_to_sleep(
    script: AssistantScript, *, hours: float | None = None, by: str = ""
) -> Result[Asleep]:
    """Put an assistant to sleep.

    Args:
        hours: for how long, up to 24; None: as its schedule says.
    """
    if script.work is None:
        return Result(False, f"{script.key} is not running.", problem=Problem.UNAVAILABLE)
    if hours is not None and not (0 < hours <= MOST_HOURS):
        return Result(False, f"{hours:g} hours cannot be; a night is up to {MOST_HOURS:g} hours.")
    if state.read(script, "emergency_stop"):
        told = f"{script.key} is stopped: assistant emergency clear {script.key}"
        return Result(False, told, problem=Problem.CONFLICT)
    until = modes.hour(script) + timedelta(hours=hours) if hours is not None else None
    with signed(by):
        wakes = beats.put_to_sleep(script, "somebody put it to sleep", until=until, by=by)
    script.beat_soon()
    them = wording(script).them
    told = f"{script.key} sleeps until {wakes:%Y-%m-%d %H:%M}, or until somebody speaks to {them}."
    return Result(True, told, Asleep(wakes.isoformat()))


def wake_up(script: AssistantScript, *, by: str = "") -> Result:
    """Wake an assistant. What its night has not done yet, the next one does."""
    if script.work is None:
        return Result(False, f"{script.key} is not running.", problem=Problem.UNAVAILABLE)
    with signed(by):
        slept = beats.wake_up(script, "somebody woke it", by=by)
    if not slept:
        return Result(False, f"{script.key} is awake already.", problem=Problem.CONFLICT)
    script.beat_soon()
    return Result(True, f"{script.key} is awake.")
