"""How the record of an assistant begins: with all that it is by then.

One that is made now is nothing yet but its settings. One from before there were records has used
tokens, has goals, may be stopped: without that, the record would never tell what is stored.
"""

from __future__ import annotations

from typing import Any

from evennia_ai import audit, state
from evennia_ai.core import goals
from evennia_ai.core.audit_events import fact

_USED = ("calls", "prompt_tokens", "completion_tokens")


def begin_record(script: Any) -> None:
    """Begin the record of an assistant that has none."""
    if not audit.is_begun(script):
        told = fact("AssistantCreated", assistant_key=script.key, begun_with=_standing(script))
        state.write(script, told)


def _standing(script: Any) -> dict[str, Any]:
    """What differs from an assistant that did nothing yet."""
    usage, metrics = state.read(script, "usage"), state.read(script, "metrics")
    lockout = dict(state.read(script, "lockout"))
    lockout.pop("at", None)
    calls = dict(metrics.get("tool_calls", {}))
    found = {
        "is_stopped": bool(state.read(script, "emergency_stop")),
        "lockout": lockout,
        "goals": {str(goal["id"]): _goal(goal) for goal in _active(script)},
        "questions": {str(item["number"]): _question(item) for item in _open(script)},
        "usage": {name: usage.get(name, 0) for name in _USED} if usage else {},
        "tick_count": usage.get("ticks", 0),
        "tool_count": sum(calls.values()),
        "tool_stats": calls,
        "tool_errors": dict(metrics.get("tool_errors", {})),
    }
    return {name: value for name, value in found.items() if value}


def _active(script: Any) -> list[dict[str, Any]]:
    return goals.active(state.read(script, "current_goals"))


def _goal(goal: dict[str, Any]) -> dict[str, Any]:
    told = {"description": goal["text"], "priority": goal["priority"], "parent_id": None}
    return {**told, "status": "active"}


def _open(script: Any) -> list[dict[str, Any]]:
    return [item for item in state.read(script, "questions") if not item.get("choice")]


def _question(item: dict[str, Any]) -> dict[str, Any]:
    return {name: item.get(name) for name in ("kind", "key", "people")}
