"""Goals of one assistant, read and written; each change is stored with what tells of it."""

from __future__ import annotations

from collections.abc import Sequence

from evennia_ai.core.safety.audit_events import Fact, fact
from evennia_ai.core.turn import goals
from evennia_ai.core.turn.goals import Goal, Goals
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

_DROPPED_ALONG = "its goal was closed"


def of(script: Assistant) -> Goals:
    """Its goals, open and closed."""
    found: Goals = state.read(script, "current_goals")
    return found


def add(
    script: Assistant,
    text: str,
    priority: int = 5,
    *,
    parent: int | None = None,
    by: str = goals.STAFF,
) -> int:
    """Set a goal, and return its number.

    Raises:
        ValueError: it cannot be set; the text says why.
    """
    changed, number = goals.add(of(script), text, priority, parent=parent, by=by)
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


def close(script: Assistant, number: int, status: str, outcome: str) -> Goal | None:
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


def _created(changed: Goals, numbers: Sequence[int]) -> list[Fact]:
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
