"""The aggregates of event sourcing: the state of an assistant, or of the game, at any version.

Each kind of event is a row of a table, `FOLDS`: its details, and the change it makes. Topics like
"assistant:GoalCreated" do not depend on module names. `by` and `via` say who acted; `more` has
unknown details. Whatever the details hold, applying an event never fails and the state is bounded.
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

# Bounds of the state, which every snapshot holds: entries of a table, and characters.
MOST_KEPT = 100
LONGEST_KEPT, LONGEST_NAME = 2_000, 200
# Attributes that a log may start with, for an assistant that is older than its log.
BEGUN_WITH = (
    "is_stopped", "lockout", "goals", "questions", "usage", "tick_count",
    "tool_count", "tool_stats", "tool_errors",
)  # fmt: skip
NO_USE = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
USAGE = tuple(NO_USE)
NOBODY: dict[str, Any] = {"by": "", "via": "", "more": None}
NOTED, CLOSED = "noted", "question_closed"
# Events that close a question. One without the question's number is only counted.
CLOSING = frozenset(
    f"question_{end}"
    for end in ("answered", "discarded", "dropped", "handed_on", "nobody", "timeout", "used")
) | {"question_unused"}
WANTED = object()  # in place of a default: the event must have this detail
Details = Mapping[str, Any]
Change = Callable[[Any, Details], None]


class RecordSnapshot(Snapshot):
    """A snapshot of an aggregate's state."""

    TOPIC = "snapshot"


@dataclass(frozen=True)
class Fold:
    """One kind of event: a row of the table.

    Attributes:
        details: its details with their defaults; an event without a WANTED one is only counted.
    """

    change: Change
    details: Details = field(default_factory=dict)

    @cached_property
    def wanted(self) -> frozenset[str]:
        """The required details, apart from the event's name, which `add` fills in."""
        return frozenset(n for n, default in self.details.items() if default is WANTED) - {"event"}

    @cached_property
    def begun(self) -> Details:
        """The defaults of all optional details."""
        return {**NOBODY, **{n: v for n, v in self.details.items() if v is not WANTED}}

    def to_kind(self, aggregate: type[Audited], name: str) -> type[Audited.Event]:
        """A new event class of the `eventsourcing` library for this kind."""
        defaults = self.details

        # Defaults first: an event stored by an older version may lack a detail.
        def apply(event: Aggregate.Event, state: Audited) -> None:
            self.change(state, {**defaults, **vars(event)})

        topic = f"{aggregate.TOPIC}:{name}"
        place = {"__module__": __name__, "__qualname__": f"{aggregate.__qualname__}.{name}"}
        fields = {"__annotations__": dict.fromkeys(defaults, Any)}
        body = {**place, **fields, "TOPIC": topic, "apply": apply}
        new: type[Any] = new_class(name, (aggregate.Event,), {}, lambda names: names.update(body))
        register_topic(topic, new)
        return new


class Audited(Aggregate):
    """The state of anything with an audit log."""

    TOPIC: ClassVar[str]
    FOLDS: ClassVar[Mapping[str, Fold]]
    kinds: ClassVar[Mapping[str, type[Audited.Event]]]
    Snapshot = RecordSnapshot

    class Event(Aggregate.Event):
        """Details of every event."""

        by: str
        via: str
        more: dict[str, Any] | None

    def add(self, event: str, details: Details, at: datetime) -> None:
        """Add an event. Never fails, whatever the details hold.

        Args:
            details: the result of `core.safety.audit_events.storable`.
        """
        name = CLOSED if event in CLOSING else event
        if name not in self.FOLDS or not self.FOLDS[name].wanted.issubset(details):
            name = NOTED
        fold = self.FOLDS[name]
        fields = dict(fold.begun)
        rest: dict[str, Any] = {}
        for key, value in details.items():
            is_own = key in fold.wanted or (key in fold.begun and key != "more")
            (fields if is_own else rest)[key] = value
        if "event" in fold.details:
            fields["event"] = event
        # The log is searched by time, so a clock that was set back must not reorder events.
        fields["timestamp"] = max(at, self.modified_on)
        self.trigger_event(self.kinds[name], **{**fields, "more": rest or None})

    @property
    def created_at(self) -> str:
        """The start of the audit log, as ISO 8601."""
        return self.created_on.isoformat()

    def as_data(self) -> dict[str, Any]:
        """The whole state as plain data."""
        own = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {"created_at": self.created_at, "version": self.version, **own}


# ---- what events change ------------------------------------------------------------------------


def _name(value: object) -> str:
    return str(value)[:LONGEST_NAME]


def _put(table: dict[str, Any], key: object, value: object) -> None:
    """Set an entry as the newest one, and drop the oldest ones beyond the bound."""
    name = _name(key)
    table.pop(name, None)  # a dict keeps the position of a key that is set again
    table[name] = bounded(value, LONGEST_KEPT)
    while len(table) > MOST_KEPT:
        del table[next(iter(table))]


def _count(table: dict[str, int], key: object) -> None:
    _put(table, key, table.get(_name(key), 0) + 1)


def _counting(name: str) -> Change:
    """A change that only counts the event."""
    return lambda state, details: _count(state.noted, name)


def _incrementing(name: str) -> Change:
    """A change that increments an attribute."""
    return lambda state, details: setattr(state, name, getattr(state, name) + 1)


def _assigning(**values: object) -> Change:
    """A change that sets attributes, whatever the details are."""
    return lambda state, details: state.__dict__.update(values)


def _use(state: AssistantAggregate, details: Details) -> None:
    for name in USAGE:
        amount = details[name]
        # Details are not validated: a provider may have reported anything.
        is_number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
        state.usage[name] += int(amount) if is_number and math.isfinite(amount) else 0


def _tool(state: AssistantAggregate, details: Details) -> None:
    state.tool_count += 1
    state.last_tool = _name(details["tool_name"])
    _count(state.tool_stats, details["tool_name"])
    if not details["success"]:
        _count(state.tool_errors, details["tool_name"])


def _tick(state: AssistantAggregate, details: Details) -> None:
    state.tick_count += 1
    _use(state, details)


def _goal_created(state: AssistantAggregate, details: Details) -> None:
    rest = {name: details[name] for name in ("description", "priority", "parent_id")}
    _put(state.goals, details["goal_id"], {**rest, "status": "active"})


def _goal_updated(state: AssistantAggregate, details: Details) -> None:
    changed = {k: details[k] for k in ("priority", "metadata") if details[k] is not None}
    if details["status"]:
        changed["status"] = details["status"]
    _set_goal(state, details["goal_id"], changed)


def _goal_completed(state: AssistantAggregate, details: Details) -> None:
    _set_goal(state, details["goal_id"], {"status": "completed", "outcome": details["outcome"]})


def _set_goal(state: AssistantAggregate, goal_id: object, changed: Details) -> None:
    """Change a goal; one that has ended leaves the open goals."""
    known = state.goals.get(_name(goal_id))
    goal = {**(known if isinstance(known, dict) else {}), **changed}
    if changed.get("status") not in ("dropped", "completed"):
        _put(state.goals, goal_id, goal)
        return
    state.goals.pop(_name(goal_id), None)
    if goal["status"] == "completed":
        closed = bounded({"goal_id": goal_id, **goal}, LONGEST_KEPT)
        state.completed_goals = [*state.completed_goals, closed][-MOST_KEPT:]


def _setting(state: AssistantAggregate, details: Details) -> None:
    state.settings[_name(details["key"])] = details["new_value"]
    while len(state.settings) > 2 * MOST_KEPT:
        del state.settings[next(iter(state.settings))]


def _stopped(state: AssistantAggregate, details: Details) -> None:
    state.is_stopped = True
    lockout = {name: details[name] for name in ("cause", "reason", "by")}
    state.lockout = bounded(lockout, LONGEST_KEPT)


def _asked(state: AssistantAggregate, details: Details) -> None:
    _put(state.questions, details["number"], {k: details[k] for k in ("kind", "key", "people")})


def _closed(state: AssistantAggregate, details: Details) -> None:
    state.questions.pop(_name(details["number"]), None)
    _count(state.noted, details["event"])


def _raised(state: GameAggregate, details: Details) -> None:
    cap = {name: details[name] for name in ("account", "amount", "by")}
    _put(state.caps, details["cap"], cap)


ANYTHING = Fold(lambda state, details: _count(state.noted, details["event"]), {"event": WANTED})
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
        _incrementing("reflection_count"), {"content": "", "tags": None, "context": ""}
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
        _assigning(is_stopped=False, lockout={}), {"cleared_by": "", "cause": ""}
    ),
    "HistoryReset": Fold(_counting("HistoryReset")),
    "limit_denied": Fold(
        lambda state, details: _count(state.limits, details["kind"]), {"kind": ""}
    ),
    "budget_raised": Fold(_counting("budget_raised"), RAISED),
    "question_asked": Fold(_asked, {"number": WANTED, "kind": "", "key": "", "people": None}),
    CLOSED: Fold(_closed, {"event": WANTED, "number": WANTED, "choice": None}),
    "AssistantArchived": Fold(
        _assigning(is_archived=True), {"reason": "", "archive_path": "", "final_stats": None}
    ),
    NOTED: ANYTHING,
}
GAME_FOLDS: dict[str, Fold] = {
    "budget_raised": Fold(_raised, {**RAISED, "by": ""}),
    "control_refused": Fold(_incrementing("refusals"), {"act": ""}),
    NOTED: ANYTHING,
}


class AssistantAggregate(Audited):
    """The state of an assistant, derived from its audit log.

    Attributes:
        settings: by name; secrets are masked, and very long values replaced by a fingerprint.
        lockout: `cause`, `reason` and `by` while it is stopped, else empty.
        goals: open goals by number.
        tool_count: number of tool calls; `tool_stats` and `tool_errors` count by name.
        questions: open questions by number.
        noted: number of all other events by name.
    """

    TOPIC = "assistant"
    FOLDS = ASSISTANT_FOLDS
    if TYPE_CHECKING:  # `@event` creates the class
        AssistantCreated: type[Aggregate.Created]

    class Created(Audited.Event, Aggregate.Created):
        """Required by the library; an assistant's log begins with AssistantCreated."""

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
        for name, value in (begun_with or {}).items():
            if name in BEGUN_WITH and isinstance(value, type(getattr(self, name))):
                setattr(self, name, value)

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
        """A new audit log, which begins with the present settings.

        Args:
            timestamp: of the first event; None: now.
            begun_with: state from before there was a log, with names in BEGUN_WITH.
            rest: `by`, `via` and `more`.
        """
        values = {"assistant_key": assistant_key, "config": dict(config), **NOBODY, **rest}
        values["begun_with"] = dict(begun_with) if isinstance(begun_with, Mapping) else None
        return cls._create(cls.AssistantCreated, id=id, timestamp=timestamp, **values)


class GameAggregate(Audited):
    """The state of the game, derived from its audit log.

    Attributes:
        caps: the last raise of each cap, by name.
        noted: number of all other events by name.
    """

    TOPIC = "game"
    FOLDS = GAME_FOLDS
    if TYPE_CHECKING:  # `@event` creates the class
        GameBegun: type[Aggregate.Created]

    class Created(Audited.Event, Aggregate.Created):
        """Required by the library; the game's log begins with GameBegun."""

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
