"""Conditions on people, as owners write them: a permission ("Builder") or a lock string.

A lock string is told from a permission by its brackets: `perm(Builder) or id(5)`.
"""

from __future__ import annotations

from collections.abc import Iterable

from evennia.locks.lockhandler import LockException

from evennia_ai.core.typed_objects import Being, TypedObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime.rights.people import seen

_ACCESS = "ai_condition"


def meets(being: Being, condition: str, judge: TypedObject) -> bool:
    """True where a being meets one condition.

    Args:
        judge: the object whose lock handler works a lock string out: the assistant's body.

    Raises:
        ConfigurationError: the condition is no lock string.
    """
    being = seen(being)
    if "(" not in condition:
        return bool(being.check_permstring(condition))
    try:
        locks = f"{_ACCESS}:{condition}"
        # Named, because Evennia takes a lock string of which nothing is left as passed.
        return bool(judge.locks.check_lockstring(being, locks, access_type=_ACCESS))
    except LockException as error:
        raise ConfigurationError(f"{condition!r} is no lock string: {error}") from error


def meets_any(being: Being, conditions: Iterable[str], judge: TypedObject) -> bool:
    """True where a being meets one of several conditions."""
    return any(meets(being, condition, judge) for condition in conditions)
