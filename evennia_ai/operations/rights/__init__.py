"""Rights: acts and who may do them, callers from the web, their tokens, and private words.

What a game's own code asks is given on here.
"""

from evennia_ai.operations.rights.acts import (
    ACTS,
    OF_THE_BODY,
    Right,
    is_allowed,
    is_staff,
    may_control,
    refusal,
    refuse_control,
    seen,
)

__all__ = [
    "ACTS",
    "OF_THE_BODY",
    "Right",
    "is_allowed",
    "is_staff",
    "may_control",
    "refusal",
    "refuse_control",
    "seen",
]
