"""Goals that people give an assistant, and its notebook, for staff to read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.audit_events import fact
from evennia_ai.core.turn import goals
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages import incoming
from evennia_ai.operations.result import Problem, Result, one_of
from evennia_ai.runtime import state

STATUSES = [goals.ACTIVE, goals.COMPLETED, goals.DROPPED]


class Goal(TypedDict):
    """A goal."""

    id: int
    text: str
    priority: int
    status: Annotated[str, one_of(STATUSES)]
    outcome: str


@dataclass(frozen=True, slots=True)
class Goals:
    """The open goals of an assistant, and those that ended."""

    goals: list[Goal]
    closed: list[Goal]


@dataclass(frozen=True, slots=True)
class GoalNumber:
    """The number of a new goal."""

    id: int


def list_goals(script: AssistantScript) -> Result[Goals]:
    """The open goals, the most pressing first, and how those ended that are closed."""
    stored = state.read(script, "current_goals")
    rows: list[Any] = goals.active(stored)
    closed = [goal for goal in stored.get("goals", ()) if goal["status"] != goals.ACTIVE]
    lines = [f"{goal['id']:>4}  priority {goal['priority']}: {goal['text']}" for goal in rows]
    for goal in closed[-5:]:
        end = f": {goal['outcome']}" if goal["outcome"] else ""
        lines.append(f"{goal['id']:>4}  {goal['status']}: {goal['text']}{end}")
    if not lines:
        name = script.key
        lines = [f"{name} has no goal, and does nothing unasked. assistant goal {name} = <text>"]
    return Result(True, "\n".join(lines), Goals(rows, closed))


def add_goal(script: AssistantScript, text: str, priority: int = 5) -> Result[GoalNumber]:
    """Give an assistant a goal. It works on it by itself, as often as `autonomy_config` says."""
    known = state.read(script, "current_goals")
    try:
        stored, number = goals.add(known, text, priority)
    except ValueError as error:
        is_full = len(goals.active(known)) >= goals.MOST_GOALS
        problem = Problem.CONFLICT if is_full else Problem.INVALID
        return Result(False, f"{script.key} has no new goal: {error}", problem=problem)
    line = next(goal["text"] for goal in stored["goals"] if goal["id"] == number)
    told = fact("GoalCreated", goal_id=number, description=line, priority=priority)
    state.write(script, told, current_goals=stored)
    return Result(True, f"{script.key} has goal {number}.", GoalNumber(number))


def close_goal(script: AssistantScript, number: int, *, is_completed: bool) -> Result:
    """End a goal, as reached or as given up."""
    status = goals.COMPLETED if is_completed else goals.DROPPED
    try:
        stored = goals.close(state.read(script, "current_goals"), number, status, "ended by staff")
    except ValueError as error:
        return Result(False, f"{script.key}: {error}")
    name = "GoalCompleted" if is_completed else "GoalUpdated"
    told = fact(name, goal_id=number, status=status, outcome="ended by staff")
    state.write(script, told, current_goals=stored)
    return Result(True, f"{script.key}: goal {number} is {status}.")


def show_notes(script: AssistantScript, being: Being) -> Result:
    """The notes of an assistant, the oldest first.

    Args:
        being: whoever looks: notes of a private talk are shown to whom that talk was with, and of
            the others only that there are some.

    Returns:
        data: "notes": [{"number", "at", "text"}], and "private": how many are left out.
    """
    person = incoming.person_of(being)
    kept = state.read(script, "notes")
    shown = [note for note in kept if not note["is_private"] or note["person"] == person]
    rows = [
        {"number": note["number"], "at": _when(note["at"]), "text": str(note["text"])}
        for note in shown
    ]
    count = len(kept) - len(shown)
    lines = [f"{row['number']:>4}  {row['at']}  {row['text']}" for row in rows]
    if count:
        lines.append(f"  and {count} of private talks with others")
    told = "\n".join(lines) or "  nothing"
    return Result(True, f"{script.key}'s notebook:\n{told}", {"notes": rows, "private": count})


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"
