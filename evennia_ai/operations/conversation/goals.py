"""Goals that people give an assistant, and its notebook as people may read it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.turn import goals
from evennia_ai.core.turn.goal_times import REAL, Clocks, Timing
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages import incoming
from evennia_ai.operations.result import ProblemKind, Result, one_of
from evennia_ai.operations.times import day_of, iso
from evennia_ai.runtime import goals as stored_goals
from evennia_ai.runtime import state

ANY_TIME, ONCE, DAILY = "any time", "once", "daily"
STATUSES = [goals.ACTIVE, goals.COMPLETED, goals.DROPPED]
SETTERS = [goals.STAFF, goals.SELF]
KINDS = [ANY_TIME, ONCE, DAILY]


class Goal(TypedDict):
    """A goal; `progress` is the share reached, 0 to 1; `parent` the goal that it is a part of.

    `when` is its time in words, "" for none, and `next_at` the next moment of that time.
    """

    id: int
    text: str
    priority: int
    status: Annotated[str, one_of(STATUSES)]
    outcome: str
    parent: int | None
    by: Annotated[str, one_of(SETTERS)]
    progress: float
    kind: Annotated[str, one_of(KINDS)]
    when: str
    next_at: str | None


@dataclass(frozen=True, slots=True)
class Goals:
    """The open and the closed goals of an assistant."""

    goals: list[Goal]
    closed: list[Goal]


@dataclass(frozen=True, slots=True)
class GoalNumber:
    """The number of a new goal."""

    id: int


def list_goals(script: AssistantScript) -> Result[Goals]:
    """List the open goals as a tree, by priority, and the outcome of the last closed ones."""
    stored = stored_goals.of(script)
    lines = [f"  {line}" for line in goals.lines(stored)]
    closed = [goal for goal in stored.get("goals", ()) if goal["status"] != goals.ACTIVE]
    for goal in closed[-5:]:  # the newest; the data have all of them
        end = f": {goal['outcome']}" if goal["outcome"] else ""
        lines.append(f"  {goal['id']}. {goal['status']}: {goal['text']}{end}")
    if not lines:
        name = script.key
        lines = [
            f"{name} has no goal, and does nothing unasked. To give it one: "
            f"assistant goal {name} = <text>"
        ]
    clocks = stored_goals.clocks_of(script)
    rows = [_row(stored, goal, clocks) for goal in goals.active(stored)]
    closed_rows = [_row(stored, goal, clocks) for goal in closed]
    return Result(True, "\n".join(lines), Goals(rows, closed_rows))


def _row(stored: goals.StoredGoals, goal: goals.StoredGoal, clocks: Clocks) -> Goal:
    timing = goals.timing_of(goal)
    return Goal(
        id=goal["id"],
        text=goal["text"],
        priority=goal["priority"],
        status=goal["status"],
        outcome=goal["outcome"],
        parent=goal.get("parent"),
        by=goal.get("by", goals.STAFF),
        progress=round(goals.progress(stored, goal["id"]), 3),
        kind=ANY_TIME if timing is None else DAILY if timing["is_daily"] else ONCE,
        when=timing["when"] if timing else "",
        next_at=_next_at(timing, clocks) if timing and goal["status"] == goals.ACTIVE else None,
    )


def _next_at(timing: Timing, clocks: Clocks) -> str | None:
    # In real time; None for a time that is past for good, or never comes.
    seconds = clocks[timing["clock"]].until(timing)
    if math.isinf(seconds) or (timing["is_begun"] and not timing["is_daily"]):
        return None
    return iso(clocks[REAL].now + seconds)


def add_goal(
    script: AssistantScript, text: str, priority: int = 5, parent: int | None = None, when: str = ""
) -> Result[GoalNumber]:
    """Give an assistant a goal, on which it works by itself as often as `autonomy_config` says.

    Args:
        parent: number of an open goal that it is a part of.
        when: its time, such as "at dusk" or "daily at 08:00"; "": any time.
    """
    try:
        number = stored_goals.add(script, text, priority, parent=parent, when=when)
    except ValueError as error:
        # Either the present goals do not allow it, or the input is wrong in itself.
        is_about_goals = parent is not None or goals.fullness(stored_goals.of(script))
        problem = ProblemKind.CONFLICT if is_about_goals else ProblemKind.INVALID
        return Result(False, f"{script.key} has no new goal: {error}", problem=problem)
    timing = next(
        goals.timing_of(goal)
        for goal in goals.active(stored_goals.of(script))
        if goal["id"] == number
    )
    time = f", {timing['when']}" if timing else ""
    return Result(True, f"{script.key} has goal {number}{time}.", GoalNumber(number))


def close_goal(script: AssistantScript, number: int, *, is_completed: bool) -> Result:
    """Close a goal as completed or dropped; its open parts are dropped."""
    status = goals.COMPLETED if is_completed else goals.DROPPED
    try:
        stored_goals.close(script, number, status, "ended by staff")
    except ValueError as error:
        return Result.invalid(f"{script.key}: {error}")
    return Result(True, f"{script.key}: goal {number} is {status}.")


class NotebookEntry(TypedDict):
    """A note of an assistant, with the day on which it was made."""

    number: int
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Notebook:
    """The notes that the reader may see, the oldest first, and the number of the others."""

    notes: list[NotebookEntry]
    private: int


def show_notes(script: AssistantScript, being: Being) -> Result[Notebook]:
    """Show the notes of an assistant, the oldest first.

    Args:
        being: the reader; notes of a private talk are shown only to the person the talk was with,
            and to others only counted.
    """
    person = incoming.person_of(being)
    stored = state.read(script, "notes")
    notes = [note for note in stored if not note["is_private"] or note["person"] == person]
    rows: list[NotebookEntry] = [
        {"number": note["number"], "at": day_of(iso(note["at"])), "text": str(note["text"])}
        for note in notes
    ]
    count = len(stored) - len(notes)
    lines = [f"{row['number']:>4}  {row['at']}  {row['text']}" for row in rows]
    if count:
        lines.append(f"  and {count} of private talks with others")
    text = "\n".join(lines) or "  nothing"
    return Result(True, f"{script.key}'s notebook:\n{text}", Notebook(rows, count))
