"""The state that the events of a stream add up to: an assistant's, or the game's, at any version.

Every event has a topic of its own ("assistant:GoalCreated") that stays what it is wherever this
code moves. What people did is in `by` and `via`, what an event tells besides is in `more`. No event
fails to be applied, and no state grows without end, whatever the details hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from eventsourcing.domain import Aggregate, Snapshot, event

from evennia_ai.core.safety.audit_events import bounded

MOST_KEPT = 100
LONGEST_KEPT = 2_000
LONGEST_NAME = 200
BEGUN_WITH = (
    "is_stopped", "lockout", "goals", "questions", "usage", "tick_count",
    "tool_count", "tool_stats", "tool_errors",
)  # fmt: skip
USAGE = ("calls", "prompt_tokens", "completion_tokens")
More = dict[str, Any] | None
NOBODY: dict[str, Any] = {"by": "", "via": "", "more": None}


class RecordSnapshot(Snapshot):
    """The state of a stream."""

    TOPIC = "snapshot"


def _number(value: Any) -> int:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and math.isfinite(value) else 0


def _name(value: Any) -> str:
    return str(value)[:LONGEST_NAME]


def put(table: dict[str, Any], key: Any, value: Any) -> None:
    """Set an entry; it is the newest then, and the oldest beyond what is kept go."""
    name = _name(key)
    table.pop(name, None)
    table[name] = bounded(value, LONGEST_KEPT)
    while len(table) > MOST_KEPT:
        del table[next(iter(table))]


def count(table: dict[str, int], key: Any) -> None:
    """Count one more."""
    put(table, key, table.get(_name(key), 0) + 1)


class AssistantAggregate(Aggregate):
    """An assistant, as its record tells of it.

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
    Snapshot = RecordSnapshot
    if TYPE_CHECKING:  # the library makes it
        AssistantCreated: type[Aggregate.Created]

    class Event(Aggregate.Event):
        """Details that every event has besides its own."""

        by: str
        via: str
        more: More

    class Created(Event, Aggregate.Created):
        """The library's own; an assistant begins with AssistantCreated."""

        TOPIC = "assistant:Created"

    @event("AssistantCreated", topic="assistant:AssistantCreated")
    def __init__(
        self,
        assistant_key: str,
        config: dict[str, Any],
        begun_with: dict[str, Any] | None = None,
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
        self.usage = dict.fromkeys(USAGE, 0)
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
        config: Mapping[str, Any],
        timestamp: datetime | None = None,
        begun_with: Mapping[str, Any] | None = None,
        **rest: Any,
    ) -> AssistantAggregate:
        """A new record, which begins with the settings as they are.

        Args:
            id: of the stream.
            timestamp: when it begins; None: now.
            begun_with: what it had come to before there were records; names in BEGUN_WITH.
            rest: `by`, `via` and `more`.
        """
        told = {"assistant_key": assistant_key, "config": dict(config), **NOBODY, **rest}
        told["begun_with"] = dict(begun_with) if isinstance(begun_with, Mapping) else None
        return cls._create(cls.AssistantCreated, id=id, timestamp=timestamp, **told)

    def trigger_event(self, event_class: type[Any], **kwargs: Any) -> None:
        """Let something happen, by nobody in particular unless somebody is named."""
        super().trigger_event(event_class, **{**NOBODY, **kwargs})

    @property
    def created_at(self) -> str:
        """The time when the audit log began, as ISO 8601."""
        return self.created_on.isoformat()

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        own = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {"created_at": self.created_at, "version": self.version, **own}

    # ---- work ------------------------------------------------------------------------------

    @event("ToolExecuted", topic="assistant:ToolExecuted")
    def execute_tool(
        self,
        tool_name: str,
        parameters: Any = None,
        reasoning: str = "",
        success: bool = True,
        error: str = "",
    ) -> None:
        """A tool was called."""
        self.tool_count += 1
        self.last_tool = _name(tool_name)
        count(self.tool_stats, tool_name)
        if not success:
            count(self.tool_errors, tool_name)

    @event("TickCompleted", topic="assistant:TickCompleted")
    def complete_tick(
        self,
        tick_number: int = 0,
        duration_ms: int = 0,
        action_taken: str = "",
        calls: int = 0,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
    ) -> None:
        """A tick is over, and used this much."""
        self.tick_count += 1
        self._use(calls, prompt_tokens, completion_tokens)

    @event("UsageCounted", topic="assistant:UsageCounted")
    def count_usage(
        self,
        purpose: str = "",
        calls: int = 0,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
    ) -> None:
        """Model calls were made beside a tick, for a summary say."""
        self._use(calls, prompt_tokens, completion_tokens)

    def _use(self, *amounts: Any) -> None:
        for name, amount in zip(USAGE, amounts, strict=True):
            self.usage[name] += _number(amount)

    @event("ReflectionRecorded", topic="assistant:ReflectionRecorded")
    def record_reflection(
        self,
        content: str = "",
        tags: Any = None,
        context: str = "",
    ) -> None:
        """It thought about itself."""
        self.reflection_count += 1

    # ---- goals -----------------------------------------------------------------------------

    @event("GoalCreated", topic="assistant:GoalCreated")
    def create_goal(
        self,
        goal_id: Any,
        description: str = "",
        priority: int = 5,
        parent_id: Any = None,
    ) -> None:
        """It is after something."""
        told = {"description": description, "priority": priority, "parent_id": parent_id}
        put(self.goals, goal_id, {**told, "status": "active"})

    @event("GoalUpdated", topic="assistant:GoalUpdated")
    def update_goal(
        self, goal_id: Any, status: str = "", priority: Any = None, metadata: Any = None
    ) -> None:
        """A goal is changed, or given up."""
        goal = self._goal(goal_id)
        told = {"status": status or None, "priority": priority, "metadata": metadata}
        changed = {name: value for name, value in told.items() if value is not None}
        if status in ("dropped", "completed"):
            self._close(goal_id, {**goal, **changed})
        else:
            put(self.goals, goal_id, {**goal, **changed})

    @event("GoalCompleted", topic="assistant:GoalCompleted")
    def complete_goal(self, goal_id: Any, outcome: str = "") -> None:
        """A goal is reached."""
        self._close(goal_id, {**self._goal(goal_id), "status": "completed", "outcome": outcome})

    def _goal(self, goal_id: Any) -> dict[str, Any]:
        found = self.goals.get(_name(goal_id))
        return dict(found) if isinstance(found, dict) else {}

    def _close(self, goal_id: Any, goal: dict[str, Any]) -> None:
        self.goals.pop(_name(goal_id), None)
        if goal.get("status") == "completed":
            closed = bounded({"goal_id": goal_id, **goal}, LONGEST_KEPT)
            self.completed_goals = [*self.completed_goals, closed][-MOST_KEPT:]

    # ---- what it may do --------------------------------------------------------------------

    @event("ConfigurationChanged", topic="assistant:ConfigurationChanged")
    def change_configuration(self, key: str, old_value: Any = None, new_value: Any = None) -> None:
        """A setting is another."""
        self.settings[_name(key)] = new_value
        while len(self.settings) > 2 * MOST_KEPT:
            del self.settings[next(iter(self.settings))]

    @event("EmergencyStopTriggered", topic="assistant:EmergencyStopTriggered")
    def trigger_emergency_stop(
        self,
        reason: str = "",
        consecutive_errors: int = 0,
        cause: str = "",
        by: str = "",
    ) -> None:
        """It is stopped, or locks itself."""
        self.is_stopped = True
        self.lockout = bounded({"cause": cause, "reason": reason, "by": by}, LONGEST_KEPT)

    @event("EmergencyStopCleared", topic="assistant:EmergencyStopCleared")
    def clear_emergency_stop(
        self,
        cleared_by: str = "",
        cause: str = "",
    ) -> None:
        """Somebody lets it go on."""
        self.is_stopped = False
        self.lockout = {}

    @event("HistoryReset", topic="assistant:HistoryReset")
    def reset_history(self) -> None:
        """Its conversation begins anew."""
        count(self.noted, "HistoryReset")

    @event("LimitDenied", topic="assistant:limit_denied")
    def deny_limit(self, kind: str = "") -> None:
        """It reached a limit, and may not go on."""
        count(self.limits, kind)

    @event("BudgetRaised", topic="assistant:budget_raised")
    def raise_budget(
        self,
        cap: str = "",
        account: str = "",
        amount: Any = 0,
    ) -> None:
        """Somebody added to one of its caps."""
        count(self.noted, "budget_raised")

    # ---- questions -------------------------------------------------------------------------

    @event("QuestionAsked", topic="assistant:question_asked")
    def ask_question(
        self,
        number: Any,
        kind: str = "",
        key: str = "",
        people: Any = None,
    ) -> None:
        """It asks people something."""
        put(self.questions, number, {"kind": kind, "key": key, "people": people})

    @event("QuestionClosed", topic="assistant:question_closed")
    def close_question(
        self,
        event: str,
        number: Any,
        choice: Any = None,
    ) -> None:
        """A question is open no longer, however that came."""
        self.questions.pop(_name(number), None)
        count(self.noted, event)

    # ---- its end, and all else -------------------------------------------------------------

    @event("AssistantArchived", topic="assistant:AssistantArchived")
    def archive(
        self,
        reason: str = "",
        archive_path: str = "",
        final_stats: Any = None,
    ) -> None:
        """Its record is put away."""
        self.is_archived = True

    @event("Noted", topic="assistant:noted")
    def note(self, event: str) -> None:
        """Anything else, and what a game has of its own."""
        count(self.noted, event)
