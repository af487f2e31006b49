"""Values that nobody else can change: frozen as they are, or copied to the ground."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any

SCALARS = frozenset((str, bool, int, float, complex, bytes, type(None)))


def is_frozen(value: Any) -> bool:
    """True where nothing in the value can be changed, so that it needs no copy."""
    kind = type(value)
    if kind in SCALARS or isinstance(value, Enum):
        return True
    if kind is tuple or kind is frozenset:
        return all(map(is_frozen, value))
    parameters = getattr(kind, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return False
    return all(is_frozen(getattr(value, field.name)) for field in dataclasses.fields(kind))


def own_copy(value: Any) -> Any:
    """A copy that shares nothing changeable with the value.

    Raises:
        TypeError: the value is, or holds, something that is neither frozen nor plain.
    """
    if is_frozen(value):
        return value
    kind = type(value)
    if kind is dict:
        return {own_copy(key): own_copy(item) for key, item in value.items()}
    if kind in (list, tuple, set, frozenset):
        return kind(map(own_copy, value))
    raise TypeError(
        f"a {kind.__name__} cannot be kept; texts, numbers, lists, dicts and frozen dataclasses can"
    )
