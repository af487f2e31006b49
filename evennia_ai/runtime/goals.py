"""Goals of one assistant, read and written, and the clocks that their times refer to.

Each change is stored together with its audit events. The clocks are real time, and game time with
the game's own calendar.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import evennia
from django.conf import settings
from django.utils import timezone

from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.core.turn import goal_times, goals
from evennia_ai.core.turn.goal_times import GAME, NAMED_HOURS, REAL, Clocks, DayClock, clock_hour
from evennia_ai.core.turn.goals import Missed, StoredGoal, StoredGoals
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

HOURS = "EVENNIA_AI_NAMED_HOURS"
LONGEST_CHECK_SECONDS = 60.0  # between two looks at the game's clock
# `outcome` of the open parts of a goal that is closed.
_DROPPED_ALONG = "its goal was closed"


def of(script: Assistant) -> StoredGoals:
    """Its goals, open and closed."""
    stored_goals: StoredGoals = state.read(script, "current_goals")
    return stored_goals


def add(
    script: Assistant,
    text: str,
    priority: int = 5,
    *,
    parent: int | None = None,
    by: str = goals.STAFF,
    when: str = "",
) -> int:
    """Add a goal and return its number.

    Args:
        when: its time, such as "at dusk" or "daily at 08:00"; "": none.

    Raises:
        ValueError: it cannot be added; the text says why.
    """
    timing = None
    if when.strip():
        timing = goal_times.read(when, clocks_of(script), named_hours())
    changed, number = goals.add(of(script), text, priority, parent=parent, by=by, timing=timing)
    state.write(script, *_created(changed, [number]), current_goals=changed)
    return number


def split(script: Assistant, number: int, texts: Sequence[str]) -> list[int]:
    """Split a goal into parts, all or none, and return their numbers.

    Raises:
        ValueError: it cannot be split so; the text says why.
    """
    changed, numbers = goals.split(of(script), number, texts)
    state.write(script, *_created(changed, numbers), current_goals=changed)
    return numbers


def complete(script: Assistant, number: int, outcome: str) -> StoredGoal | None:
    """Close a goal as reached, a daily one only for today. Returns what `close` does.

    Raises:
        ValueError: no open goal has that number.
    """
    if not is_daily(script, number):
        return close(script, number, goals.COMPLETED, outcome)
    changed = goals.done_today(of(script), number, outcome)
    event = audit_event("goal_done_today", goal_id=number, outcome=outcome)
    state.write(script, event, current_goals=changed)
    return None


def is_daily(script: Assistant, number: int) -> bool:
    """True for an open goal that recurs every day."""
    timings = {goal["id"]: goals.timing_of(goal) for goal in goals.active(of(script))}
    timing = timings.get(number)
    return timing is not None and timing["is_daily"]


def is_time(script: Assistant) -> bool:
    """True where a goal's time has come."""
    # Asked at every idle beat, so it writes only where game time was set back.
    stored, autonomy, now = of(script), script.work.autonomy, script.clock.seconds()
    if autonomy.looked_at == stored.get("version", 0) and now < autonomy.look_after:
        return False
    clocks = clocks_of(script)
    if (known := goals.in_step(stored, clocks)) is not stored:
        state.write(script, current_goals=known)
    seconds = goals.waits_for(known, clocks)
    autonomy.looked_at = known.get("version", 0)
    # Not until the time itself: staff may change the game's clock meanwhile.
    autonomy.look_after = (
        math.inf if seconds is None else now + min(max(seconds, 0.0), LONGEST_CHECK_SECONDS)
    )
    return seconds is not None and seconds <= 0


def come_due(script: Assistant, late_seconds: float) -> list[Missed]:
    """Begin the goals whose time has come, and drop missed ones. Returns the missed ones."""
    before = of(script)
    changed, missed = goals.come_due(before, clocks_of(script), late_seconds)
    if changed is before:
        return []
    still = {goal["id"] for goal in goals.active(changed)}
    dropped = [goal for goal in goals.active(before) if goal["id"] not in still]
    events = [
        audit_event("goal_time_missed", goal_id=each.goal["id"], times=each.times)
        for each in missed
    ]
    events += [
        audit_event("GoalUpdated", goal_id=goal["id"], status=goals.DROPPED) for goal in dropped
    ]
    state.write(script, *events, current_goals=changed)
    return missed


def close(script: Assistant, number: int, status: str, outcome: str) -> StoredGoal | None:
    """Close a goal as reached or dropped; its open parts are dropped with it.

    Returns:
        The goal it was a part of, if all parts of that one are closed now.

    Raises:
        ValueError: no open goal has that number.
    """
    before = of(script)
    changed = goals.close(before, number, status, outcome)
    name = "GoalCompleted" if status == goals.COMPLETED else "GoalUpdated"
    along = [
        audit_event("GoalUpdated", goal_id=part["id"], status=goals.DROPPED, outcome=_DROPPED_ALONG)
        for part in goals.below(before, number)
    ]
    event = audit_event(name, goal_id=number, status=status, outcome=outcome)
    state.write(script, *along, event, current_goals=changed)
    # The goal as it was before: `close` has already refused a number that is not open.
    goal = next(goal for goal in before["goals"] if goal["id"] == number)
    over = [one for one in goals.active(changed) if one["id"] == goal.get("parent")]
    return over[0] if over and not goals.below(changed, over[0]["id"]) else None


def _created(changed: StoredGoals, numbers: Sequence[int]) -> list[AuditEvent]:
    return [
        audit_event(
            "GoalCreated",
            goal_id=goal["id"],
            description=goal["text"],
            priority=goal["priority"],
            parent_id=goal.get("parent"),
        )
        for goal in changed["goals"]
        if goal["id"] in numbers
    ]


def clocks_of(script: Assistant) -> Clocks:
    """Both clocks as they stand; without TIME_GAME_EPOCH the first call costs a query."""
    zone = timezone.get_default_timezone()
    return {REAL: DayClock(script.clock.seconds(), zone), GAME: _game_clock()}


def _game_clock() -> DayClock:
    """The game's clock; `TIME_UNITS` is the calendar of Evennia's contrib custom_gametime."""
    # Through `evennia`, which imports gametime once there is a database; before, it logs errors.
    now, rate = evennia.gametime.gametime(absolute=True), float(settings.TIME_FACTOR)
    units: Mapping[str, float] = getattr(settings, "TIME_UNITS", None) or {}
    if not units:
        return DayClock(now, timezone.get_default_timezone(), rate=rate)
    return DayClock(
        now,
        day=units.get("day", 86_400),
        hour=units.get("hour", units.get("hr", 3600)),
        minute=units.get("min", 60),
        rate=rate,
    )


def named_hours() -> dict[str, str]:
    """The named hours of the game's day, by name in lower case.

    Raises:
        ConfigurationError: the game sets one that is not an hour.
    """
    own = getattr(settings, HOURS, {})
    if not isinstance(own, Mapping):
        raise ConfigurationError(f"{HOURS} is {own!r}; it must be like {{'dusk': '18:00'}}")
    hours = dict(NAMED_HOURS)
    for name, hour in own.items():
        at = clock_hour(hour) if isinstance(hour, str) else ""
        if not at or not str(name).isidentifier():
            raise ConfigurationError(
                f"{HOURS}[{name!r}] is {hour!r}; it must be a name and an hour, {{'dusk': '18:00'}}"
            )
        hours[str(name).casefold()] = at
    return hours
