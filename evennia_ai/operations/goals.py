"""Goals that people give an assistant, and its notebook, for staff to read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.turn import goals
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages import incoming
from evennia_ai.operations.result import Problem, Result, one_of
from evennia_ai.runtime import goals as stored_goals
from evennia_ai.runtime import state

STATUSES = [goals.ACTIVE, goals.COMPLETED, goals.DROPPED]
SETTERS = [goals.STAFF, goals.SELF]


class Goal(TypedDict):
    """A goal; `progress` is the share that is reached, 0 to 1, `parent` what it is a part of."""

    id: int
    text: str
    priority: int
    status: Annotated[str, one_of(STATUSES)]
    outcome: str
    parent: int | None
    by: Annotated[str, one_of(SETTERS)]
    progress: float


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
    """The open goals as a tree, the most pressing first, and how those ended that are closed."""
    stored = stored_goals.of(script)
    lines = [f"  {line}" for line in goals.lines(stored)]
    closed = [goal for goal in stored.get("goals", ()) if goal["status"] != goals.ACTIVE]
    for goal in closed[-5:]:
        end = f": {goal['outcome']}" if goal["outcome"] else ""
        lines.append(f"  {goal['id']}. {goal['status']}: {goal['text']}{end}")
    if not lines:
        name = script.key
        lines = [f"{name} has no goal, and does nothing unasked. assistant goal {name} = <text>"]
    rows = [_row(stored, goal) for goal in goals.active(stored)]
    return Result(True, "\n".join(lines), Goals(rows, [_row(stored, goal) for goal in closed]))


def _row(stored: goals.Goals, goal: goals.Goal) -> Goal:
    return Goal(
        id=goal["id"],
        text=goal["text"],
        priority=goal["priority"],
        status=goal["status"],
        outcome=goal["outcome"],
        parent=goal.get("parent"),
        by=goal.get("by", goals.STAFF),
        progress=round(goals.progress(stored, goal["id"]), 3),
    )


def add_goal(
    script: AssistantScript, text: str, priority: int = 5, parent: int | None = None
) -> Result[GoalNumber]:
    """Give an assistant a goal. It works on it by itself, as often as `autonomy_config` says.

    Args:
        parent: the number of an open goal that it is a part of; None: of none.
    """
    try:
        number = stored_goals.add(script, text, priority, parent=parent)
    except ValueError as error:
        of_its_goals = parent is not None or goals.fullness(stored_goals.of(script))
        problem = Problem.CONFLICT if of_its_goals else Problem.INVALID
        return Result(False, f"{script.key} has no new goal: {error}", problem=problem)
    return Result(True, f"{script.key} has goal {number}.", GoalNumber(number))


def close_goal(script: AssistantScript, number: int, *, is_completed: bool) -> Result:
    """End a goal, as reached or as given up; what is open of its parts is given up."""
    status = goals.COMPLETED if is_completed else goals.DROPPED
    try:
        stored_goals.close(script, number, status, "ended by staff")
    except ValueError as error:
        return Result.invalid(f"{script.key}: {error}")
    return Result(True, f"{script.key}: goal {number} is {status}.")


class NotebookEntry(TypedDict):
    """A note of an assistant's, with the day on which it was made."""

    number: int
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Notebook:
    """The notes that somebody may read, the oldest first; `private`: how many they may not."""

    notes: list[NotebookEntry]
    private: int


def show_notes(script: AssistantScript, being: Being) -> Result[Notebook]:
    """The notes of an assistant, the oldest first.

    Args:
        being: whoever looks: notes of a private talk are shown to whom that talk was with, and of
            the others only that there are some.
    """
    person = incoming.person_of(being)
    kept = state.read(script, "notes")
    shown = [note for note in kept if not note["is_private"] or note["person"] == person]
    rows: list[NotebookEntry] = [
        {"number": note["number"], "at": _when(note["at"]), "text": str(note["text"])}
        for note in shown
    ]
    count = len(kept) - len(shown)
    lines = [f"{row['number']:>4}  {row['at']}  {row['text']}" for row in rows]
    if count:
        lines.append(f"  and {count} of private talks with others")
    told = "\n".join(lines) or "  nothing"
    return Result(True, f"{script.key}'s notebook:\n{told}", Notebook(rows, count))


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"
