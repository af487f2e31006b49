"""The first start of an assistant in this version: its audit log, and locks that older games lack.

A new assistant's audit log begins with its settings alone. One from before there was a log has used
tokens, has goals and may be stopped: all that is written as the log's first event, or replaying the
log would never yield what is stored.
"""

from __future__ import annotations

from typing import Any

from evennia.utils import logger

from evennia_ai import approvals, audit
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.safety.questions import Question
from evennia_ai.core.settings.game import POWERS
from evennia_ai.core.turn import goals
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import Right, sort_locks
from evennia_ai.runtime.rights.bodies import OF_EVENNIA, has_lock

_CHANGED = "[assistant] {name}: its lock {old!r} is {new!r} now, and Evennia's own is {own!r}"
_USED = ("calls", "prompt_tokens", "completion_tokens")


def begin_audit_log(script: Assistant) -> None:
    """Begin the audit log of an assistant that has none."""
    if not audit.is_begun(script):
        told = audit_event(
            "AssistantCreated", assistant_key=script.key, begun_with=_standing(script)
        )
        state.write(script, told)


def separate_control_lock(script: Assistant) -> None:
    """Give a body from an older game the lock `ai_control`, so that the same people control it."""
    body = script.obj
    # The locks of an adopted body are the game's own affair.
    if state.read(script, "adopted"):
        return
    if body is None or has_lock(body, Right.CONTROL):
        return
    old = body.locks.get(OF_EVENNIA)
    if sort_locks(body):
        new, own = (body.locks.get(kind) for kind in (Right.CONTROL, OF_EVENNIA))
        logger.log_info(_CHANGED.format(name=script.key, old=old, new=new, own=own))


def _standing(script: Assistant) -> dict[str, Any]:
    """The state in which it differs from a new assistant."""
    usage, metrics = state.read(script, "usage"), state.read(script, "metrics")
    lockout = dict(state.read(script, "lockout"))
    lockout.pop("at", None)
    calls = dict(metrics.get("tool_calls", {}))
    active = goals.active(state.read(script, "current_goals"))
    found = {
        "is_stopped": bool(state.read(script, "emergency_stop")),
        "lockout": lockout,
        "goals": {str(goal["id"]): _goal(goal) for goal in active},
        "questions": {
            str(asked.number): _question(asked)
            for asked in approvals.stored(script)
            if not asked.choice
        },
        "usage": {name: usage.get(name, 0) for name in _USED} if usage else {},
        "tick_count": usage.get("ticks", 0),
        "tool_count": sum(calls.values()),
        "tool_stats": calls,
        "tool_errors": dict(metrics.get("tool_errors", {})),
        "powers": _powers(script),
        "permissions": sorted(script.obj.permissions.all()) if script.obj is not None else [],
    }
    return {name: value for name, value in found.items() if value}


def _powers(script: Assistant) -> dict[str, Any]:
    """Its powers over the game itself, as its owner set them."""
    values = {name: state.read(script, name) for name in POWERS}
    return {n: value for n, value in values.items() if value and value != state.DEFAULTS[n]}


def _goal(goal: goals.StoredGoal) -> dict[str, Any]:
    told = {"description": goal["text"], "priority": goal["priority"], "status": "active"}
    return {**told, "parent_id": goal.get("parent")}


def _question(asked: Question) -> dict[str, Any]:
    return {"kind": asked.asking.kind, "key": asked.asking.key, "people": list(asked.people)}
