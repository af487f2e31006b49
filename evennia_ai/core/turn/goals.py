"""Goals: what an assistant is after by itself. Plain data with a version, kept bounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia_ai.core.text.cleaning import one_line

Goals = dict[str, Any]

MOST_GOALS = 20
LONGEST_GOAL = 300
LONGEST_OUTCOME = 200
ACTIVE, COMPLETED, DROPPED = "active", "completed", "dropped"
PRIORITIES = range(1, 11)


def active(goals: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The goals that are open, the most pressing first; among equals the oldest."""
    found = [goal for goal in goals.get("goals", ()) if goal["status"] == ACTIVE]
    return sorted(found, key=lambda goal: (-goal["priority"], goal["id"]))


def add(goals: Mapping[str, Any], text: str, priority: int = 5) -> tuple[Goals, int]:
    """The goals with one more, and its number.

    Raises:
        ValueError: there is no text, the priority is none, or there are enough goals already.
    """
    line = one_line(text, LONGEST_GOAL)
    if not line:
        raise ValueError("a goal needs words: what is to be reached?")
    if isinstance(priority, bool) or priority not in PRIORITIES:
        raise ValueError(f"priority is {priority!r}; it must be 1 (may wait) to 10 (pressing)")
    if len(active(goals)) >= MOST_GOALS:
        raise ValueError(f"there are {MOST_GOALS} open goals already; complete or drop one first")
    kept = list(goals.get("goals", ()))
    number = int(goals.get("count", 0)) + 1
    kept.append({"id": number, "text": line, "priority": priority, "status": ACTIVE, "outcome": ""})
    return _changed(goals, kept) | {"count": number}, number


def close(goals: Mapping[str, Any], number: int, status: str, outcome: str = "") -> Goals:
    """The goals with one of them closed.

    Raises:
        ValueError: no open goal has that number.
    """
    if number not in [goal["id"] for goal in active(goals)]:
        numbers = ", ".join(str(goal["id"]) for goal in active(goals)) or "none"
        raise ValueError(f"no open goal has the number {number}; open are: {numbers}")
    end = {"status": status, "outcome": one_line(outcome, LONGEST_OUTCOME)}
    kept = [goal | end if goal["id"] == number else goal for goal in goals["goals"]]
    return _changed(goals, kept)


def _changed(goals: Mapping[str, Any], kept: list[dict[str, Any]]) -> Goals:
    """Another version, with no more than the newest of those that are closed."""
    closed = [goal["id"] for goal in kept if goal["status"] != ACTIVE][:-MOST_GOALS]
    left = [goal for goal in kept if goal["id"] not in closed]
    return {**goals, "version": int(goals.get("version", 0)) + 1, "goals": left}
