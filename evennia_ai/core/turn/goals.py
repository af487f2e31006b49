"""Goals of an assistant: a bounded tree of plain data with a version.

A goal may be split into parts, and these again. The assistant works on goals without open parts;
progress of a goal is computed from its parts. People set goals; an assistant may set a few itself
and split what is too large for one step. A goal is split only once, so that splitting always ends.

A goal may have a time (`core.turn.goal_times`): it waits until then, and so do its parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

from evennia_ai.core.memory.extraction import DATA, Request, Shown
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.goal_times import Clocks, Timing, passed

MOST_GOALS = 50  # open ones
MOST_OWN = 5  # open top-level ones that an assistant set itself
MOST_DEPTH = 4
PARTS = range(2, 8)  # into which a goal may be split
MOST_CLOSED = 20  # that are kept, besides those within an open tree
LONGEST_GOAL = 300
LONGEST_OUTCOME = 200
ACTIVE, COMPLETED, DROPPED = "active", "completed", "dropped"
PRIORITIES = range(1, 11)
STAFF, SELF = "staff", "self"


class StoredGoal(TypedDict, total=False):
    """A goal as stored. Goals stored by older versions have neither `parent` nor `by`.

    Attributes:
        parent: number of the goal it is a part of, or None.
        by: STAFF or SELF, whoever set it.
        timing: when to work on it; None for any time.
    """

    id: int
    text: str
    priority: int
    status: str
    outcome: str
    parent: int | None
    by: str
    timing: Timing | None


class StoredGoals(TypedDict, total=False):
    """All goals of an assistant. Each change increases the version; numbers are never reused."""

    version: int
    count: int
    goals: list[StoredGoal]


def active(goals: StoredGoals) -> list[StoredGoal]:
    """The open goals by priority, the most pressing first; among equals the oldest first."""
    active_goals = [goal for goal in goals.get("goals", ()) if goal["status"] == ACTIVE]
    return sorted(active_goals, key=lambda goal: (-goal["priority"], goal["id"]))


def top(goals: StoredGoals) -> list[StoredGoal]:
    """The open goals without an open parent, the most pressing first."""
    numbers = {goal["id"] for goal in active(goals)}
    return [goal for goal in active(goals) if goal.get("parent") not in numbers]


def timing_of(goal: StoredGoal) -> Timing | None:
    """The time of a goal, or None."""
    return goal.get("timing")


def is_waiting(goal: StoredGoal) -> bool:
    """True for a goal whose time has not come yet."""
    timing = timing_of(goal)
    return timing is not None and not timing["is_begun"]


def next_step(goals: StoredGoals) -> StoredGoal | None:
    """The goal to work on: the most pressing leaf below the most pressing top-level goal.

    Goals whose time has come go first; those that wait are skipped, with their parts.
    """
    return _next_among(goals, top(goals))


def _next_among(goals: StoredGoals, among: Sequence[StoredGoal]) -> StoredGoal | None:
    # sorted() is stable: goals with a time move to the front, and otherwise priority decides.
    for goal in sorted(among, key=lambda goal: timing_of(goal) is None):
        if is_waiting(goal):
            continue
        parts = _open_parts(goals, goal["id"])
        if following := _next_among(goals, parts) if parts else goal:
            return following
    return None


def parts_of(goals: StoredGoals, number: int) -> list[StoredGoal]:
    """The parts that a goal was split into, closed ones included, in order."""
    return [goal for goal in goals.get("goals", ()) if goal.get("parent") == number]


def below(goals: StoredGoals, number: int) -> list[StoredGoal]:
    """The open parts of a goal and, recursively, their open parts."""
    parts = _open_parts(goals, number)
    return [goal for part in parts for goal in (part, *below(goals, part["id"]))]


def progress(goals: StoredGoals, number: int) -> float:
    """Progress of a goal from 0 to 1: the mean of its parts, without dropped ones."""
    goal = _find(goals, number)
    parts = [part for part in parts_of(goals, number) if part["status"] != DROPPED]
    if goal is None or goal["status"] == COMPLETED or not parts:
        return float(goal is not None and goal["status"] == COMPLETED)
    return sum(progress(goals, part["id"]) for part in parts) / len(parts)


def lines(goals: StoredGoals) -> list[str]:
    """The open goals as an indented tree, one per line."""
    return [line for goal in top(goals) for line in _lines(goals, goal, 0)]


def add(
    goals: StoredGoals,
    text: str,
    priority: int = 5,
    *,
    parent: int | None = None,
    by: str = STAFF,
    timing: Timing | None = None,
) -> tuple[StoredGoals, int]:
    """The goals with one more, and its number.

    Raises:
        ValueError: the text is empty, the priority is out of range, the parent is not open, daily
            or too deep, or there are too many goals.
    """
    line = one_line(text, LONGEST_GOAL)
    if not line:
        raise ValueError("a goal needs words: what is to be reached?")
    if isinstance(priority, bool) or priority not in PRIORITIES:
        raise ValueError(f"priority is {priority!r}; it must be 1 (may wait) to 10 (pressing)")
    if problem := fullness(goals, by if parent is None else ""):
        raise ValueError(problem)
    if parent is not None:
        _require_room(goals, parent)
    number = goals.get("count", 0) + 1
    goal: StoredGoal = {
        "id": number,
        "text": line,
        "priority": priority,
        "status": ACTIVE,
        "outcome": "",
        "parent": parent,
        "by": by,
        "timing": timing,
    }
    return {**_next_version(goals, [*_goal_list(goals), goal]), "count": number}, number


def _require_room(goals: StoredGoals, number: int) -> None:
    goal = _require_open(goals, number)
    if sum(1 for _ in _ancestry(goals, goal)) >= MOST_DEPTH:
        raise ValueError(f"goal {number} is {MOST_DEPTH} deep already, and has no parts")
    if (timing := timing_of(goal)) and timing["is_daily"]:
        raise ValueError(f"goal {number} comes back every day, and has no parts")


def fullness(goals: StoredGoals, by: str = "", *, more: int = 1) -> str:
    """The reason why no more goals can be added; "" if they can.

    Args:
        by: SELF for a top-level goal that the assistant sets itself.
    """
    if (count := len(active(goals))) + more > MOST_GOALS:
        most = "" if count == MOST_GOALS else f", and {MOST_GOALS} at most"
        return f"there are {count} open goals already{most}; complete or drop one first"
    own = [goal for goal in top(goals) if goal.get("by") == SELF]
    if by == SELF and len(own) >= MOST_OWN:
        return f"there are {MOST_OWN} open goals of your own already; complete one first"
    return ""


def require_splittable(goals: StoredGoals, number: int) -> StoredGoal:
    """The goal with this number, if it may be split.

    Raises:
        ValueError: it is not open, was split before, is daily or too deep, or there are too many
            open goals.
    """
    goal = _require_open(goals, number)
    if parts_of(goals, number):
        raise ValueError(f"goal {number} has parts already; a goal is split once")
    _require_room(goals, number)
    if problem := fullness(goals, more=PARTS.start):
        raise ValueError(problem)
    return goal


def split(goals: StoredGoals, number: int, texts: Sequence[str]) -> tuple[StoredGoals, list[int]]:
    """The goals with one of them split into parts, and the numbers of the parts; all or none.

    Raises:
        ValueError: as in `require_splittable`, or there are too few or too many parts, or one
            repeats another or the goal itself.
    """
    goal = require_splittable(goals, number)
    if len(texts) not in PARTS:
        few, many = PARTS.start, PARTS.stop - 1
        raise ValueError(f"a goal is split into {few} to {many} parts, not {len(texts)}")
    parts = [one_line(text, LONGEST_GOAL).casefold() for text in texts]
    if len({*parts, goal["text"].casefold()}) <= len(parts):
        raise ValueError("each part has to be something else than the goal and the other parts")
    numbers = []
    for text in texts:
        goals, part = add(goals, text, goal["priority"], parent=number, by=SELF)
        numbers.append(part)
    return goals, numbers


def close(goals: StoredGoals, number: int, status: str, outcome: str = "") -> StoredGoals:
    """The goals with one of them closed; its open parts are dropped.

    Raises:
        ValueError: no open goal has that number.
    """
    _require_open(goals, number)
    ends = {goal["id"]: (DROPPED, f"part of goal {number}") for goal in below(goals, number)}
    ends[number] = (status, one_line(outcome, LONGEST_OUTCOME))
    updated = [
        _closed(goal, *ends[goal["id"]]) if goal["id"] in ends else goal
        for goal in _goal_list(goals)
    ]
    return _next_version(goals, updated)


def done_today(goals: StoredGoals, number: int, outcome: str = "") -> StoredGoals:
    """The goals with a daily one done for today; it waits for its next time.

    Raises:
        ValueError: no open goal has that number, or it is not daily.
    """
    goal = _require_open(goals, number)
    timing = timing_of(goal)
    if timing is None or not timing["is_daily"]:
        raise ValueError(f"goal {number} comes once, and is closed when it is done")
    done: StoredGoal = {
        **goal,
        "outcome": one_line(outcome, LONGEST_OUTCOME),
        "timing": {**timing, "is_begun": False},
    }
    return _replaced(goals, done)


@dataclass(frozen=True, slots=True)
class Missed:
    """A goal whose time passed while nothing could be done, and how often."""

    goal: StoredGoal
    times: int


def come_due(
    goals: StoredGoals, clocks: Clocks, late_seconds: float
) -> tuple[StoredGoals, list[Missed]]:
    """The goals after time has passed, and those whose time was missed.

    A goal that is on time is begun. A missed one is not caught up on: a daily goal waits for its
    next time, any other is dropped with its parts.
    """
    missed = []
    for goal in active(goals):
        timing = timing_of(goal)
        now = timing and passed(timing, clocks[timing["clock"]], late_seconds)
        if not (timing and now) or goal not in active(goals):  # its parent was dropped in this loop
            continue
        if now.missed:
            missed.append(Missed(goal, now.missed))
        if now.missed and not timing["is_daily"]:
            goals = close(goals, goal["id"], DROPPED, f"missed: it was to be {timing['when']}")
            continue
        goals = _replaced(goals, {**goal, "timing": now.timing})
    return goals, missed


def _replaced(goals: StoredGoals, changed: StoredGoal) -> StoredGoals:
    return _next_version(
        goals, [changed if each["id"] == changed["id"] else each for each in _goal_list(goals)]
    )


def in_step(goals: StoredGoals, clocks: Clocks) -> StoredGoals:
    """The goals with due times corrected for a clock that was set back; usually unchanged."""
    for goal in active(goals):
        timing = timing_of(goal)
        if timing and (due := clocks[timing["clock"]].due(timing)) != timing["due"]:
            goals = _replaced(goals, {**goal, "timing": {**timing, "due": due}})
    return goals


def waits_for(goals: StoredGoals, clocks: Clocks) -> float | None:
    """Seconds on the wall clock until the next goal comes due; None if no goal has a time."""
    timings = [timing for goal in active(goals) if (timing := timing_of(goal))]
    coming = [each for each in timings if each["is_daily"] or not each["is_begun"]]
    return min((clocks[each["clock"]].until(each) for each in coming), default=None)


def as_prompt(goal: StoredGoal) -> str:
    """A goal as a prompt shows it, with its time."""
    timing = timing_of(goal)
    return f"{goal['text']} ({timing['when']})" if timing else goal["text"]


def _closed(goal: StoredGoal, status: str, outcome: str) -> StoredGoal:
    return {**goal, "status": status, "outcome": outcome}


def _goal_list(goals: StoredGoals) -> list[StoredGoal]:
    return list(goals.get("goals", ()))


def _find(goals: StoredGoals, number: int | None) -> StoredGoal | None:
    return next((goal for goal in goals.get("goals", ()) if goal["id"] == number), None)


def _open_parts(goals: StoredGoals, number: int) -> list[StoredGoal]:
    return [goal for goal in active(goals) if goal.get("parent") == number]


def _require_open(goals: StoredGoals, number: int) -> StoredGoal:
    open_goal = _find(goals, number)
    if open_goal is None or open_goal["status"] != ACTIVE:
        numbers = ", ".join(str(goal["id"]) for goal in active(goals)) or "none"
        raise ValueError(f"no open goal has the number {number}; open are: {numbers}")
    return open_goal


def _ancestry(goals: StoredGoals, goal: StoredGoal) -> Iterator[StoredGoal]:
    """A goal, its parent, and so on to the top."""
    ancestor: StoredGoal | None = goal
    while ancestor is not None:
        yield ancestor
        ancestor = _find(goals, ancestor.get("parent"))


def _lines(goals: StoredGoals, goal: StoredGoal, depth: int) -> Iterator[str]:
    parts = parts_of(goals, goal["id"])
    reached = sum(part["status"] == COMPLETED for part in parts)
    more = f", {reached} of {counted(len(parts), 'parts')} reached" if parts else ""
    if timing := timing_of(goal):
        more += f", {timing['when']}{', now' * timing['is_begun']}"
    yield f"{'  ' * depth}{goal['id']}. {goal['text']} (priority {goal['priority']}{more})"
    for part in _open_parts(goals, goal["id"]):
        yield from _lines(goals, part, depth + 1)


def _next_version(goals: StoredGoals, all_goals: list[StoredGoal]) -> StoredGoals:
    """The next version, with only the newest of the closed goals.

    Closed parts of an open goal stay, because its progress is computed from them.
    """
    whole: StoredGoals = {"goals": all_goals}
    closed = [
        goal["id"]
        for goal in all_goals
        if all(up["status"] != ACTIVE for up in _ancestry(whole, goal))
    ][:-MOST_CLOSED]
    left = [goal for goal in all_goals if goal["id"] not in closed]
    return {"version": goals.get("version", 0) + 1, "count": goals.get("count", 0), "goals": left}


# ---- splitting ---------------------------------------------------------------------------------

SPLITTING = f"""You plan for a character in a text game. Below are a goal, and all that the \
character is after. Split the goal into {PARTS.start} to \
{PARTS.stop - 1} parts that together reach it, the first to be done first. Each is one short \
sentence that says what is to be reached, can be told apart from the others, and is less than the \
goal itself.

{DATA}

Answer with one JSON list of sentences and nothing else: ["...", ...]"""


def split_request(goal: str, others: Sequence[str]) -> Request:
    """The request for the parts of a goal.

    Args:
        others: its parent and the other goals, one per line.
    """
    beside = [Shown(line.strip()) for line in others]
    return Request(SPLITTING, (("The goal", [Shown(goal)]), ("All goals", beside)))
