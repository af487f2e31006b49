"""Who may do what: one table, asked by commands and by the API alike."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.conf import settings
from evennia.locks.lockhandler import LockHandler

from evennia_ai import audit
from evennia_ai.operations.result import Problem, Result
from evennia_ai.operations.running import may_control, refuse_control

STAFF_LOCK, OWNER_LOCK = "EVENNIA_AI_STAFF_LOCK", "EVENNIA_AI_OWNER_LOCK"
DEFAULTS = {STAFF_LOCK: "perm(Builder)", OWNER_LOCK: "perm(Admin)"}


class Right(StrEnum):
    """What an act needs."""

    STAFF = "staff"  # the lock EVENNIA_AI_STAFF_LOCK: looking at what assistants do, making one
    CONTROL = "control"  # the lock `control` of the assistant's body: changing it
    OWNER = "owner"  # the lock EVENNIA_AI_OWNER_LOCK: what concerns the whole game


# What anybody may do for himself (why, mute, questions, answer, hush, and what is remembered of
# him) stands in its operation.
ACTS: dict[str, Right] = {
    "list": Right.STAFF,
    "status": Right.STAFF,
    "create": Right.STAFF,
    "check": Right.STAFF,
    "usage": Right.STAFF,
    "events": Right.STAFF,
    "audit": Right.STAFF,
    "show configuration": Right.STAFF,
    "show history": Right.STAFF,
    "show prompts": Right.STAFF,
    "show tools": Right.STAFF,
    "show breakers": Right.STAFF,
    "show memories": Right.STAFF,
    "clone": Right.CONTROL,
    "delete": Right.CONTROL,
    "update": Right.CONTROL,
    "start": Right.CONTROL,
    "stop": Right.CONTROL,
    "emergency stop": Right.CONTROL,
    "emergency clear": Right.CONTROL,
    "configure": Right.CONTROL,
    "configure powers": Right.OWNER,  # command_allowlist, attribute_allowlist
    "reset history": Right.CONTROL,
    "export history": Right.CONTROL,
    "tell": Right.CONTROL,
    "execute tool": Right.CONTROL,
    "reset breaker": Right.CONTROL,
    "goal": Right.CONTROL,
    "channel": Right.CONTROL,
    "account": Right.CONTROL,
    "raise budget": Right.CONTROL,
    "export audit": Right.CONTROL,
    "archive audit": Right.CONTROL,
    "change memories": Right.CONTROL,
    "sleep": Right.CONTROL,
    "change lore": Right.OWNER,
    "raise budget of the game": Right.OWNER,
    "reset breaker of the game": Right.OWNER,
}


def is_staff(person: Any) -> bool:
    """Whether a person (a character or an account) is staff."""
    return _passes(person, STAFF_LOCK)


def is_owner(person: Any) -> bool:
    """Whether a person may change what concerns the whole game."""
    return _passes(person, OWNER_LOCK)


def _passes(person: Any, name: str) -> bool:
    locks: LockHandler = person.locks
    lock = getattr(settings, name, DEFAULTS[name])
    return bool(locks.check_lockstring(person, f"ai_right:{lock}", access_type="ai_right"))


def refusal(
    act: str, person: Any, script: Any = None, *, counts_as_staff: bool | None = None
) -> Result | None:
    """None where a person may do an act; else what is missing.

    To try what changes something, and be refused, is recorded.

    Args:
        act: a name in ACTS.
        script: the assistant it is done to; None for what is done to none.
        counts_as_staff: by a lock of the command's own; None: as the game's setting says.
    """
    right = ACTS[act]
    staff = is_staff(person) if counts_as_staff is None else counts_as_staff
    if right is Right.CONTROL:
        if may_control(script, person, is_staff=staff):
            return None
        return refuse_control(script, person, act)
    if staff if right is Right.STAFF else is_owner(person):
        return None
    if right is Right.OWNER:
        audit.record("control_refused", script or audit.GAME, act=act, by=str(person.key))
    wanted = getattr(settings, lock := f"EVENNIA_AI_{right.name}_LOCK", DEFAULTS[lock])
    return Result(False, f"You may not do that: {act} needs {wanted}.", problem=Problem.FORBIDDEN)
