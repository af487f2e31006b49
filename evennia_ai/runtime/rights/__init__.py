"""Rights: people as locks see them, and the rights that somebody has over an assistant."""

from evennia_ai.runtime.rights.bodies import (
    OF_ASSISTANTS,
    decides,
    has_right,
    kinds_of_locks,
    lacking,
    lock_of,
    locks_for,
    own_locks,
    sort_locks,
)
from evennia_ai.runtime.rights.conditions import meets, meets_any
from evennia_ai.runtime.rights.game import is_owner, is_staff, wanted
from evennia_ai.runtime.rights.naming import knows_key, name_before
from evennia_ai.runtime.rights.people import forms_of, lets, seen
from evennia_ai.runtime.rights.table import MEANINGS, OF_THE_BODY, RAISES, Right

__all__ = [
    "MEANINGS",
    "OF_ASSISTANTS",
    "OF_THE_BODY",
    "RAISES",
    "Right",
    "decides",
    "forms_of",
    "has_right",
    "is_owner",
    "is_staff",
    "kinds_of_locks",
    "knows_key",
    "lacking",
    "lets",
    "lock_of",
    "locks_for",
    "meets",
    "meets_any",
    "name_before",
    "own_locks",
    "seen",
    "sort_locks",
    "wanted",
]
