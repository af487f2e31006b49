"""Rights: acts and who may do them, web callers, their access tokens, and private words.

The names that a game's own code may use are re-exported here.
"""

from evennia_ai.operations.rights.acts import (
    ACTS,
    find_all_allowed,
    is_allowed,
    may_control,
    refusal,
    refuse_control,
)
from evennia_ai.runtime.rights import OF_THE_BODY, Right, is_staff, seen

__all__ = [
    "ACTS",
    "OF_THE_BODY",
    "Right",
    "find_all_allowed",
    "is_allowed",
    "is_staff",
    "may_control",
    "refusal",
    "refuse_control",
    "seen",
]
