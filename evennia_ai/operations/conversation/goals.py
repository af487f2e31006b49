"""Goals that people give an assistant, and its notebook, for staff to read."""

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
from evennia_ai.operations.times import iso
from evennia_ai.runtime import goals as stored_goals
from evennia_ai.runtime import state

ANY_TIME, ONCE, DAILY = "any time", "once", "daily"
STATUSES = [goals.ACTIVE, goals.COMPLETED, goals.DROPPED]
SETTERS = [goals.STAFF, goals.SELF]
KINDS = [ANY_TIME, ONCE, DAILY]


class Goal(TypedDict):
    """A goal; `progress` is the share that is reached, 0 to 1, `parent` what it is a part of.

    `when` is its time in words, "" for none, and `next_at` when that comes.
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
    clocks = stored_goals.clocks_of(script)
    rows = [_row(stored, goal, clocks) for goal in goals.active(stored)]
    ended = [_row(stored, goal, clocks) for goal in closed]
    return Result(True, "\n".join(lines), Goals(rows, ended))


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
    """The moment of a time by the clock on the wall; None for one that came for good, or never."""
    left = clocks[timing["clock"]].until(timing)
    if math.isinf(left) or (timing["is_begun"] and not timing["is_daily"]):
        return None
    return iso(clocks[REAL].now + left)


def add_goal(
    script: AssistantScript, text: str, priority: int = 5, parent: int | None = None, when: str = ""
) -> Result[GoalNumber]:
    """Give an assistant a goal. It works on it by itself, as often as `autonomy_config` says.

    Args:
        parent: the number of an open goal that it is a part of; None: of none.
        when: its time, such as "at dusk" or "daily at 08:00"; "": any.
    """
    try:
        number = stored_goals.add(script, text, priority, parent=parent, when=when)
    except ValueError as error:
        of_its_goals = parent is not None or goals.fullness(stored_goals.of(script))
        problem = ProblemKind.CONFLICT if of_its_goals else ProblemKind.INVALID
        return Result(False, f"{script.key} has no new goal: {error}", problem=problem)
    timing = next(
        goals.timing_of(goal)
        for goal in goals.active(stored_goals.of(script))
        if goal["id"] == number
    )
    told = f", {timing['when']}" if timing else ""
    return Result(True, f"{script.key} has goal {number}{told}.", GoalNumber(number))


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
        {"number": note["number"], "at": iso(note["at"])[:10], "text": str(note["text"])}
        for note in shown
    ]
    count = len(kept) - len(shown)
    lines = [f"{row['number']:>4}  {row['at']}  {row['text']}" for row in rows]
    if count:
        lines.append(f"  and {count} of private talks with others")
    told = "\n".join(lines) or "  nothing"
    return Result(True, f"{script.key}'s notebook:\n{told}", Notebook(rows, count))
