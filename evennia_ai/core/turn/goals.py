"""Goals: what an assistant is after by itself. A tree, plain data with a version, kept bounded.

A goal may be split into parts, and a part again. Worked on are the goals without open parts; how
far a goal has come follows from its parts. People set goals; an assistant may set a few of its own
and split what is too large for a step. A goal is split once, so that splitting always ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict

from evennia_ai.core.text.cleaning import one_line

MOST_GOALS = 50  # that are open
MOST_OWN = 5  # open ones at the top that an assistant set itself
MOST_DEPTH = 4
PARTS = range(2, 8)  # that a goal is split into
MOST_CLOSED = 20  # that are kept, beside those of a tree that is open
LONGEST_GOAL = 300
LONGEST_OUTCOME = 200
ACTIVE, COMPLETED, DROPPED = "active", "completed", "dropped"
PRIORITIES = range(1, 11)
STAFF, SELF = "staff", "self"


class Goal(TypedDict, total=False):
    """A goal as it is stored. One of an older version has neither `parent` nor `by`.

    Attributes:
        parent: number of the goal that it is a part of, or None.
        by: who set it, STAFF or SELF.
    """

    id: int
    text: str
    priority: int
    status: str
    outcome: str
    parent: int | None
    by: str


class Goals(TypedDict, total=False):
    """All goals of an assistant. Each change is another version; a number is used once."""

    version: int
    count: int
    goals: list[Goal]


def active(goals: Goals) -> list[Goal]:
    """The goals that are open, the most pressing first; among equals the oldest."""
    found = [goal for goal in goals.get("goals", ()) if goal["status"] == ACTIVE]
    return sorted(found, key=lambda goal: (-goal["priority"], goal["id"]))


def top(goals: Goals) -> list[Goal]:
    """The open goals that are a part of no open one, the most pressing first."""
    numbers = {goal["id"] for goal in active(goals)}
    return [goal for goal in active(goals) if goal.get("parent") not in numbers]


def next_step(goals: Goals) -> Goal | None:
    """The goal to work on: of the most pressing one at the top the most pressing last part."""
    found = next(iter(top(goals)), None)
    while found and (parts := _open_parts(goals, found["id"])):
        found = parts[0]
    return found


def parts_of(goals: Goals, number: int) -> list[Goal]:
    """The goals that one was split into, the closed ones too, in their order."""
    return [goal for goal in goals.get("goals", ()) if goal.get("parent") == number]


def below(goals: Goals, number: int) -> list[Goal]:
    """The open parts of a goal, and theirs, and so on down."""
    found = _open_parts(goals, number)
    return [goal for part in found for goal in (part, *below(goals, part["id"]))]


def progress(goals: Goals, number: int) -> float:
    """The share of a goal that is reached, 0 to 1: the mean of its parts, without dropped ones."""
    goal = _find(goals, number)
    parts = [part for part in parts_of(goals, number) if part["status"] != DROPPED]
    if goal is None or goal["status"] == COMPLETED or not parts:
        return float(goal is not None and goal["status"] == COMPLETED)
    return sum(progress(goals, part["id"]) for part in parts) / len(parts)


def lines(goals: Goals) -> list[str]:
    """The open goals as a tree, a line each."""
    return [line for goal in top(goals) for line in _lines(goals, goal, 0)]


def add(
    goals: Goals, text: str, priority: int = 5, *, parent: int | None = None, by: str = STAFF
) -> tuple[Goals, int]:
    """The goals with one more, and its number.

    Raises:
        ValueError: there is no text, the priority is none, the parent is not open or too far down,
            or there are enough goals already.
    """
    line = one_line(text, LONGEST_GOAL)
    if not line:
        raise ValueError("a goal needs words: what is to be reached?")
    if isinstance(priority, bool) or priority not in PRIORITIES:
        raise ValueError(f"priority is {priority!r}; it must be 1 (may wait) to 10 (pressing)")
    if problem := fullness(goals, by if parent is None else ""):
        raise ValueError(problem)
    if parent is not None and _depth(goals, _require(goals, parent)) >= MOST_DEPTH:
        raise ValueError(f"goal {parent} is {MOST_DEPTH} deep already, and has no parts")
    number = goals.get("count", 0) + 1
    made: Goal = {
        "id": number,
        "text": line,
        "priority": priority,
        "status": ACTIVE,
        "outcome": "",
        "parent": parent,
        "by": by,
    }
    return {**_changed(goals, [*_all(goals), made]), "count": number}, number


def fullness(goals: Goals, by: str = "") -> str:
    """The reason why there can be no further goal; "" where there can.

    Args:
        by: SELF for one at the top that the assistant sets itself.
    """
    if len(active(goals)) >= MOST_GOALS:
        return f"there are {MOST_GOALS} open goals already; complete or drop one first"
    own = [goal for goal in top(goals) if goal.get("by") == SELF]
    if by == SELF and len(own) >= MOST_OWN:
        return f"there are {MOST_OWN} open goals of your own already; complete one first"
    return ""


def split(goals: Goals, number: int, texts: Sequence[str]) -> tuple[Goals, list[int]]:
    """The goals with one of them split into parts, and the numbers of these; all or none.

    Raises:
        ValueError: it is not open, was split before, is too far down, or the parts are too few,
            too many, or as good as the goal itself.
    """
    goal = _require(goals, number)
    if parts_of(goals, number):
        raise ValueError(f"goal {number} has parts already; a goal is split once")
    if len(texts) not in PARTS:
        few, many = PARTS.start, PARTS.stop - 1
        raise ValueError(f"a goal is split into {few} to {many} parts, not {len(texts)}")
    told = [one_line(text, LONGEST_GOAL).casefold() for text in texts]
    if len({*told, goal["text"].casefold()}) <= len(told):
        raise ValueError("each part has to be something else than the goal and the other parts")
    numbers = []
    for text in texts:
        goals, made = add(goals, text, goal["priority"], parent=number, by=SELF)
        numbers.append(made)
    return goals, numbers


def close(goals: Goals, number: int, status: str, outcome: str = "") -> Goals:
    """The goals with one of them closed; what was still open of its parts is dropped.

    Raises:
        ValueError: no open goal has that number.
    """
    _require(goals, number)
    ends = {goal["id"]: (DROPPED, f"part of goal {number}") for goal in below(goals, number)}
    ends[number] = (status, one_line(outcome, LONGEST_OUTCOME))
    kept = [_ended(goal, *ends[goal["id"]]) if goal["id"] in ends else goal for goal in _all(goals)]
    return _changed(goals, kept)


def _ended(goal: Goal, status: str, outcome: str) -> Goal:
    return {**goal, "status": status, "outcome": outcome}


def _all(goals: Goals) -> list[Goal]:
    return list(goals.get("goals", ()))


def _find(goals: Goals, number: int | None) -> Goal | None:
    return next((goal for goal in goals.get("goals", ()) if goal["id"] == number), None)


def _open_parts(goals: Goals, number: int) -> list[Goal]:
    return [goal for goal in active(goals) if goal.get("parent") == number]


def _require(goals: Goals, number: int) -> Goal:
    found = _find(goals, number)
    if found is None or found["status"] != ACTIVE:
        numbers = ", ".join(str(goal["id"]) for goal in active(goals)) or "none"
        raise ValueError(f"no open goal has the number {number}; open are: {numbers}")
    return found


def _above(goals: Goals, goal: Goal) -> Iterator[Goal]:
    """A goal, the one that it is a part of, and so on up."""
    found: Goal | None = goal
    while found is not None:
        yield found
        found = _find(goals, found.get("parent"))


def _depth(goals: Goals, goal: Goal) -> int:
    return sum(1 for _ in _above(goals, goal))


def _lines(goals: Goals, goal: Goal, depth: int) -> Iterator[str]:
    parts = parts_of(goals, goal["id"])
    reached = sum(part["status"] == COMPLETED for part in parts)
    told = f", {reached} of {len(parts)} parts reached" if parts else ""
    yield f"{'  ' * depth}{goal['id']}. {goal['text']} (priority {goal['priority']}{told})"
    for part in _open_parts(goals, goal["id"]):
        yield from _lines(goals, part, depth + 1)


def _changed(goals: Goals, kept: list[Goal]) -> Goals:
    """Another version, with no more than the newest of those that are closed.

    The closed parts of a goal that is open stay, for they tell how far it has come.
    """
    whole: Goals = {"goals": kept}
    closed = [
        goal["id"] for goal in kept if all(up["status"] != ACTIVE for up in _above(whole, goal))
    ][:-MOST_CLOSED]
    left = [goal for goal in kept if goal["id"] not in closed]
    return {
        "version": goals.get("version", 0) + 1,
        "count": goals.get("count", 0),
        "goals": left,
    }
