"""Who may do what: people as locks see them, and the rights that somebody has over an assistant."""

from evennia_ai.rights.bodies import has_right, lacking, lock_of, locks_for, sort_locks
from evennia_ai.rights.conditions import meets, meets_any
from evennia_ai.rights.game import is_owner, is_staff, wanted
from evennia_ai.rights.naming import knows_key, name_before
from evennia_ai.rights.people import forms_of, lets, seen
from evennia_ai.rights.table import MEANINGS, OF_THE_BODY, RAISES, Right

__all__ = [
    "MEANINGS",
    "OF_THE_BODY",
    "RAISES",
    "Right",
    "forms_of",
    "has_right",
    "is_owner",
    "is_staff",
    "knows_key",
    "lacking",
    "lets",
    "lock_of",
    "locks_for",
    "meets",
    "meets_any",
    "name_before",
    "seen",
    "sort_locks",
    "wanted",
]
