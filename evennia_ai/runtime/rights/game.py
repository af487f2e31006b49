"""Rights over the game: two settings of it, each a lock string."""

from __future__ import annotations

from django.conf import settings
from evennia.locks.lockhandler import LockHandler

from evennia_ai.core.typed_objects import Being
from evennia_ai.runtime.rights.people import seen
from evennia_ai.runtime.rights.table import Right

STAFF_LOCK, OWNER_LOCK = "EVENNIA_AI_STAFF_LOCK", "EVENNIA_AI_OWNER_LOCK"
DEFAULTS = {STAFF_LOCK: "perm(Builder)", OWNER_LOCK: "perm(Admin)"}


def is_staff(person: Being) -> bool:
    """True where a person (a character or an account) is staff."""
    return _passes(person, STAFF_LOCK)


def is_owner(person: Being) -> bool:
    """True where a person may change what concerns the whole game."""
    return _passes(person, OWNER_LOCK)


def wanted(right: Right) -> str:
    """The lock string of the game that a right asks for: of STAFF or of OWNER."""
    lock = STAFF_LOCK if right is Right.STAFF else OWNER_LOCK
    return str(getattr(settings, lock, DEFAULTS[lock]))


def _passes(person: Being, name: str) -> bool:
    locks: LockHandler = person.locks
    lock = getattr(settings, name, DEFAULTS[name])
    return bool(locks.check_lockstring(seen(person), f"ai_right:{lock}", access_type="ai_right"))
