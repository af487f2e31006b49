"""Goals of one assistant, read and written; each change is stored with what tells of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evennia_ai.core.safety.audit_events import Fact, fact
from evennia_ai.core.turn import goal_times, goals
from evennia_ai.core.turn.goals import Missed, StoredGoal, StoredGoals
from evennia_ai.runtime import day_clocks, state
from evennia_ai.runtime.assistant import Assistant

LOOK_SECONDS = 60.0
_DROPPED_ALONG = "its goal was closed"


def of(script: Assistant) -> StoredGoals:
    """Its goals, open and closed."""
    found: StoredGoals = state.read(script, "current_goals")
    return found


def add(
    script: Assistant,
    text: str,
    priority: int = 5,
    *,
    parent: int | None = None,
    by: str = goals.STAFF,
    when: str = "",
) -> int:
    """Set a goal, and return its number.

    Args:
        when: its time, such as "at dusk" or "daily at 08:00"; "": it has none.

    Raises:
        ValueError: it cannot be set; the text says why.
    """
    timing = None
    if when.strip():
        timing = goal_times.read(when, day_clocks.of(script), day_clocks.named_hours())
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
    """End a goal as reached; a daily one only for this time. As `close`.

    Raises:
        ValueError: no open goal has that number.
    """
    if not is_daily(script, number):
        return close(script, number, goals.COMPLETED, outcome)
    changed = goals.done_today(of(script), number, outcome)
    told = fact("goal_done_today", goal_id=number, outcome=outcome)
    state.write(script, told, current_goals=changed)
    return None


def is_daily(script: Assistant, number: int) -> bool:
    """True for an open goal that comes back every day."""
    timings = {goal["id"]: goals.timing_of(goal) for goal in goals.active(of(script))}
    timing = timings.get(number)
    return timing is not None and timing["is_daily"]


def is_time(script: Assistant) -> bool:
    """True where the time of a goal has come.

    Asked of every idle beat: no statement, but where the game's time was set back.
    """
    stored, autonomy, now = of(script), script.work.autonomy, script.clock.seconds()
    if autonomy.looked_at == stored.get("version", 0) and now < autonomy.look_after:
        return False
    clocks = day_clocks.of(script)
    if (known := goals.in_step(stored, clocks)) is not stored:
        state.write(script, current_goals=known)
    left = goals.waits_for(known, clocks)
    autonomy.looked_at = known.get("version", 0)
    # Game time may be set anew meanwhile.
    autonomy.look_after = math.inf if left is None else now + min(max(left, 0.0), LOOK_SECONDS)
    return left is not None and left <= 0


def come_due(script: Assistant, late_seconds: float) -> list[Missed]:
    """Begin the goals whose time has come, and give up what was missed; returns the latter."""
    before = of(script)
    changed, missed = goals.come_due(before, day_clocks.of(script), late_seconds)
    if changed is before:
        return []
    still = {goal["id"] for goal in goals.active(changed)}
    ended = [goal for goal in goals.active(before) if goal["id"] not in still]
    told = [fact("goal_time_missed", goal_id=each.goal["id"], times=each.times) for each in missed]
    told += [fact("GoalUpdated", goal_id=goal["id"], status=goals.DROPPED) for goal in ended]
    state.write(script, *told, current_goals=changed)
    return missed


def close(script: Assistant, number: int, status: str, outcome: str) -> StoredGoal | None:
    """End a goal, as reached or as given up; what is open of its parts is dropped.

    Returns:
        The goal that it was a part of, where all of that one's parts are closed now.

    Raises:
        ValueError: no open goal has that number.
    """
    before = of(script)
    changed = goals.close(before, number, status, outcome)
    name = "GoalCompleted" if status == goals.COMPLETED else "GoalUpdated"
    along = [
        fact("GoalUpdated", goal_id=part["id"], status=goals.DROPPED, outcome=_DROPPED_ALONG)
        for part in goals.below(before, number)
    ]
    told = fact(name, goal_id=number, status=status, outcome=outcome)
    state.write(script, *along, told, current_goals=changed)
    goal = next(goal for goal in before["goals"] if goal["id"] == number)
    over = [one for one in goals.active(changed) if one["id"] == goal.get("parent")]
    return over[0] if over and not goals.below(changed, over[0]["id"]) else None


def _created(changed: StoredGoals, numbers: Sequence[int]) -> list[Fact]:
    return [
        fact(
            "GoalCreated",
            goal_id=goal["id"],
            description=goal["text"],
            priority=goal["priority"],
            parent_id=goal.get("parent"),
        )
        for goal in changed["goals"]
        if goal["id"] in numbers
    ]
