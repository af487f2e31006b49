"""The state that the events of a stream add up to: an assistant's, or the game's, at any version.

Each kind of event is a row of a table, `FOLDS`: the details it is made of, and what it changes. Its
topic ("assistant:GoalCreated") stays what it is wherever this code moves. What people did is in
`by` and `via`, what an event tells besides is in `more`. No event fails to be applied, and no state
grows without end, whatever the details hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from eventsourcing.domain import Aggregate, Snapshot, event
from eventsourcing.utils import register_topic

from evennia_ai.core.safety.audit_events import bounded

MOST_KEPT = 100
LONGEST_KEPT = 2_000
LONGEST_NAME = 200
BEGUN_WITH = (
    "is_stopped", "lockout", "goals", "questions", "usage", "tick_count",
    "tool_count", "tool_stats", "tool_errors",
)  # fmt: skip
NO_USE = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
USAGE = tuple(NO_USE)
NOBODY: dict[str, Any] = {"by": "", "via": "", "more": None}
NOTED, CLOSED = "noted", "question_closed"
# These end a question; one of them that has no number is noted like anything else.
CLOSING = frozenset(
    f"question_{end}"
    for end in ("answered", "discarded", "dropped", "handed_on", "nobody", "timeout", "used")
) | {"question_unused"}
WANTED = object()
Details = Mapping[str, Any]
Change = Callable[[Any, Details], None]


class RecordSnapshot(Snapshot):
    """The state of a stream."""

    TOPIC = "snapshot"


@dataclass(frozen=True)
class Fold:
    """One kind of event: a row of the table.

    Attributes:
        change: what such an event does to the aggregate.
        details: its details and their defaults; without one that is WANTED it is only noted.
    """

    change: Change
    details: Details = field(default_factory=dict)

    @cached_property
    def wanted(self) -> frozenset[str]:
        """The details it cannot be without; which event it is, is always told."""
        found = (name for name, default in self.details.items() if default is WANTED)
        return frozenset(found) - {"event"}

    @cached_property
    def begun(self) -> Details:
        """An event that is told nothing but what it cannot be without."""
        given = {name: value for name, value in self.details.items() if value is not WANTED}
        return {**NOBODY, **given}

    def to_kind(self, aggregate: type[Audited], name: str) -> type[Audited.Event]:
        """The library's class of such events."""
        details = self.details

        def apply(told: Aggregate.Event, state: Audited) -> None:
            self.change(state, {**details, **vars(told)})

        topic = f"{aggregate.TOPIC}:{name}"
        place = {"__module__": __name__, "__qualname__": f"{aggregate.__qualname__}.{name}"}
        fields = {"__annotations__": dict.fromkeys(details, Any)}
        body = {**place, **fields, "TOPIC": topic, "apply": apply}
        made: type[Any] = new_class(name, (aggregate.Event,), {}, lambda names: names.update(body))
        register_topic(topic, made)
        return made


class Audited(Aggregate):
    """The state of anything with an audit log."""

    TOPIC: ClassVar[str]
    FOLDS: ClassVar[Mapping[str, Fold]]
    kinds: ClassVar[Mapping[str, type[Audited.Event]]]
    Snapshot = RecordSnapshot

    class Event(Aggregate.Event):
        """Details that every event has besides its own."""

        by: str
        via: str
        more: dict[str, Any] | None

    def add(self, event: str, details: Details, at: datetime) -> None:
        """Let something happen. Whatever the details hold, this does not fail.

        Args:
            details: as `core.safety.audit_events.storable` makes them.
            at: when; never before the last event.
        """
        name = CLOSED if event in CLOSING else event
        if name not in self.FOLDS or not self.FOLDS[name].wanted.issubset(details):
            name = NOTED
        fold = self.FOLDS[name]
        given = dict(fold.begun)
        rest: dict[str, Any] = {}
        for key, value in details.items():
            is_own = key in fold.wanted or (key in fold.begun and key != "more")
            (given if is_own else rest)[key] = value
        if "event" in fold.details:
            given["event"] = event
        # A clock that was set back must not put events out of order: they are looked for by time.
        given["timestamp"] = max(at, self.modified_on)
        self.trigger_event(self.kinds[name], **{**given, "more": rest or None})

    @property
    def created_at(self) -> str:
        """The time when the audit log began, as ISO 8601."""
        return self.created_on.isoformat()

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        own = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {"created_at": self.created_at, "version": self.version, **own}


# ---- what events change ------------------------------------------------------------------------


def _name(value: object) -> str:
    return str(value)[:LONGEST_NAME]


def _put(table: dict[str, Any], key: object, value: object) -> None:
    """Set an entry; it is the newest then, and the oldest beyond the bound go."""
    name = _name(key)
    table.pop(name, None)
    table[name] = bounded(value, LONGEST_KEPT)
    while len(table) > MOST_KEPT:
        del table[next(iter(table))]


def _count(table: dict[str, int], key: object) -> None:
    _put(table, key, table.get(_name(key), 0) + 1)


def _note(name: str) -> Change:
    """A count of events of which nothing else is kept."""
    return lambda now, told: _count(now.noted, name)


def _raise(name: str) -> Change:
    """One more in a number."""
    return lambda now, told: setattr(now, name, getattr(now, name) + 1)


def _set(**values: object) -> Change:
    """Other values, whatever the details are."""
    return lambda now, told: now.__dict__.update(values)


def _use(now: AssistantAggregate, told: Details) -> None:
    for name in USAGE:
        amount = told[name]
        is_number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
        now.usage[name] += int(amount) if is_number and math.isfinite(amount) else 0


def _tool(now: AssistantAggregate, told: Details) -> None:
    now.tool_count += 1
    now.last_tool = _name(told["tool_name"])
    _count(now.tool_stats, told["tool_name"])
    if not told["success"]:
        _count(now.tool_errors, told["tool_name"])


def _tick(now: AssistantAggregate, told: Details) -> None:
    now.tick_count += 1
    _use(now, told)


def _goal_created(now: AssistantAggregate, told: Details) -> None:
    rest = {name: told[name] for name in ("description", "priority", "parent_id")}
    _put(now.goals, told["goal_id"], {**rest, "status": "active"})


def _goal_updated(now: AssistantAggregate, told: Details) -> None:
    changed = {name: told[name] for name in ("priority", "metadata") if told[name] is not None}
    if told["status"]:
        changed["status"] = told["status"]
    _set_goal(now, told["goal_id"], changed)


def _goal_completed(now: AssistantAggregate, told: Details) -> None:
    _set_goal(now, told["goal_id"], {"status": "completed", "outcome": told["outcome"]})


def _set_goal(now: AssistantAggregate, goal_id: object, changed: Details) -> None:
    """Change a goal, which is open no longer where it ends."""
    known = now.goals.get(_name(goal_id))
    goal = {**(known if isinstance(known, dict) else {}), **changed}
    if changed.get("status") not in ("dropped", "completed"):
        _put(now.goals, goal_id, goal)
        return
    now.goals.pop(_name(goal_id), None)
    if goal["status"] == "completed":
        closed = bounded({"goal_id": goal_id, **goal}, LONGEST_KEPT)
        now.completed_goals = [*now.completed_goals, closed][-MOST_KEPT:]


def _setting(now: AssistantAggregate, told: Details) -> None:
    now.settings[_name(told["key"])] = told["new_value"]
    while len(now.settings) > 2 * MOST_KEPT:
        del now.settings[next(iter(now.settings))]


def _stopped(now: AssistantAggregate, told: Details) -> None:
    now.is_stopped = True
    lockout = {name: told[name] for name in ("cause", "reason", "by")}
    now.lockout = bounded(lockout, LONGEST_KEPT)


def _asked(now: AssistantAggregate, told: Details) -> None:
    question = {name: told[name] for name in ("kind", "key", "people")}
    _put(now.questions, told["number"], question)


def _closed(now: AssistantAggregate, told: Details) -> None:
    now.questions.pop(_name(told["number"]), None)
    _count(now.noted, told["event"])


def _raised(now: GameAggregate, told: Details) -> None:
    cap = {name: told[name] for name in ("account", "amount", "by")}
    _put(now.caps, told["cap"], cap)


ANYTHING = Fold(lambda now, told: _count(now.noted, told["event"]), {"event": WANTED})
RAISED: Details = {"cap": "", "account": "", "amount": 0}
ASSISTANT_FOLDS: dict[str, Fold] = {
    "ToolExecuted": Fold(
        _tool,
        {"tool_name": WANTED, "parameters": None, "reasoning": "", "success": True, "error": ""},
    ),
    "TickCompleted": Fold(
        _tick, {"tick_number": 0, "duration_ms": 0, "action_taken": "", **NO_USE}
    ),
    "UsageCounted": Fold(_use, {"purpose": "", **NO_USE}),
    "ReflectionRecorded": Fold(
        _raise("reflection_count"), {"content": "", "tags": None, "context": ""}
    ),
    "GoalCreated": Fold(
        _goal_created, {"goal_id": WANTED, "description": "", "priority": 5, "parent_id": None}
    ),
    "GoalUpdated": Fold(
        _goal_updated, {"goal_id": WANTED, "status": "", "priority": None, "metadata": None}
    ),
    "GoalCompleted": Fold(_goal_completed, {"goal_id": WANTED, "outcome": ""}),
    "ConfigurationChanged": Fold(_setting, {"key": WANTED, "old_value": None, "new_value": None}),
    "EmergencyStopTriggered": Fold(
        _stopped, {"reason": "", "consecutive_errors": 0, "cause": "", "by": ""}
    ),
    "EmergencyStopCleared": Fold(
        _set(is_stopped=False, lockout={}), {"cleared_by": "", "cause": ""}
    ),
    "HistoryReset": Fold(_note("HistoryReset")),
    "limit_denied": Fold(lambda now, told: _count(now.limits, told["kind"]), {"kind": ""}),
    "budget_raised": Fold(_note("budget_raised"), RAISED),
    "question_asked": Fold(_asked, {"number": WANTED, "kind": "", "key": "", "people": None}),
    CLOSED: Fold(_closed, {"event": WANTED, "number": WANTED, "choice": None}),
    "AssistantArchived": Fold(
        _set(is_archived=True), {"reason": "", "archive_path": "", "final_stats": None}
    ),
    NOTED: ANYTHING,
}
GAME_FOLDS: dict[str, Fold] = {
    "budget_raised": Fold(_raised, {**RAISED, "by": ""}),
    "control_refused": Fold(_raise("refusals"), {"act": ""}),
    NOTED: ANYTHING,
}


class AssistantAggregate(Audited):
    """An assistant, as its audit log tells of it.

    Attributes:
        settings: by name, as they are kept: secrets masked, what is very long as a fingerprint.
        lockout: cause, reason and by whom, while it is stopped.
        goals: the open ones, by number.
        completed_goals: the newest that were reached.
        tool_count: calls of all tools; `tool_stats` and `tool_errors` by name.
        usage: model calls and tokens.
        questions: the open ones, by number.
        limits: how often each kind was denied.
        noted: how often each other event happened.
    """

    TOPIC = "assistant"
    FOLDS = ASSISTANT_FOLDS
    if TYPE_CHECKING:  # the library makes it
        AssistantCreated: type[Aggregate.Created]

    class Created(Audited.Event, Aggregate.Created):
        """The library's own; an assistant begins with AssistantCreated."""

        TOPIC = "assistant:Created"

    @event("AssistantCreated", topic="assistant:AssistantCreated")
    def __init__(
        self, assistant_key: str, config: object, begun_with: Mapping[str, object] | None = None
    ) -> None:
        self.assistant_key = _name(assistant_key)
        self.settings: dict[str, Any] = dict(config) if isinstance(config, Mapping) else {}
        self.is_stopped = self.is_archived = False
        self.lockout: dict[str, Any] = {}
        self.goals: dict[str, Any] = {}
        self.completed_goals: list[Any] = []
        self.tool_count = self.tick_count = self.reflection_count = 0
        self.tool_stats: dict[str, int] = {}
        self.tool_errors: dict[str, int] = {}
        self.last_tool = ""
        self.usage = dict(NO_USE)
        self.questions: dict[str, Any] = {}
        self.limits: dict[str, int] = {}
        self.noted: dict[str, int] = {}
        for name, told in (begun_with or {}).items():
            if name in BEGUN_WITH and isinstance(told, type(getattr(self, name))):
                setattr(self, name, told)

    @classmethod
    def create(
        cls,
        id: UUID,  # noqa: A002  (as the library calls it)
        assistant_key: str,
        config: Details,
        timestamp: datetime | None = None,
        begun_with: object = None,
        **rest: Any,
    ) -> AssistantAggregate:
        """A new audit log, which begins with the settings as they are.

        Args:
            id: of the stream.
            timestamp: when it begins; None: now.
            begun_with: its state before there was a log, a mapping of names in BEGUN_WITH.
            rest: `by`, `via` and `more`.
        """
        told = {"assistant_key": assistant_key, "config": dict(config), **NOBODY, **rest}
        told["begun_with"] = dict(begun_with) if isinstance(begun_with, Mapping) else None
        return cls._create(cls.AssistantCreated, id=id, timestamp=timestamp, **told)


class GameAggregate(Audited):
    """The whole game, as its audit log tells of it.

    Attributes:
        caps: what was last added to each cap, by name.
        refusals: how often somebody was refused.
        noted: how often each other event happened.
    """

    TOPIC = "game"
    FOLDS = GAME_FOLDS
    if TYPE_CHECKING:  # the library makes it
        GameBegun: type[Aggregate.Created]

    class Created(Audited.Event, Aggregate.Created):
        """The library's own; the game begins with GameBegun."""

        TOPIC = "game:Created"

    @event("GameBegun", topic="game:GameBegun")
    def __init__(self) -> None:
        self.caps: dict[str, Any] = {}
        self.refusals = 0
        self.noted: dict[str, int] = {}

    @classmethod
    def create(cls, id: UUID, timestamp: datetime | None = None) -> GameAggregate:  # noqa: A002
        """A new audit log."""
        return cls._create(cls.GameBegun, id=id, timestamp=timestamp, **NOBODY)


for _aggregate in (AssistantAggregate, GameAggregate):
    _aggregate.kinds = {
        _kind: _fold.to_kind(_aggregate, _kind) for _kind, _fold in _aggregate.FOLDS.items()
    }
