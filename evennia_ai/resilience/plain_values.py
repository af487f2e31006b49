"""Plain values for the cache: keys of tool calls, and independent copies."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Set
from enum import Enum
from typing import Any

# 48 bits: ample for the 1,000 entries of a cache.
DIGEST_BYTES = 6
# int as hexadecimal: Python refuses to convert very long integers to decimal text.
WRITERS: dict[type, Callable[[Any], str]] = {
    bool: repr,
    int: hex,
    float: float.__repr__,
    complex: complex.__repr__,
    str: str.__repr__,
    bytes: bytes.__repr__,
    bytearray: bytearray.__repr__,
    type(None): repr,
}


def get_cache_key(tool: str, /, **args: Any) -> str:
    """A key of the form `tool:` and twelve hexadecimal digits, independent of argument order.

    Values of different types differ: 1, True, 1.0 and "1" give four keys.

    Raises:
        TypeError: an argument is not a plain value, so equal arguments cannot be recognized.
    """
    try:
        text = canonical(args)
    except TypeError as error:
        raise TypeError(f"no cache key for {tool}: {error}") from None
    digest = hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES)
    return f"{tool}:{digest.hexdigest()}"


def canonical(value: object) -> str:
    """A text that is the same only for equal values of the same types.

    Raises:
        TypeError: the value is not a plain value.
    """
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    write = next((WRITERS[plain] for plain in kind.__mro__ if plain in WRITERS), None)
    if write is not None:
        return f"{name}({write(value)})"
    # Mappings and sets are sorted, as equal ones may be iterated in different orders.
    if isinstance(value, Mapping):
        parts = sorted(f"{canonical(key)}:{canonical(item)}" for key, item in value.items())
    elif isinstance(value, Set):
        parts = sorted(map(canonical, value))
    elif isinstance(value, (list, tuple)):
        parts = list(map(canonical, value))
    else:
        raise TypeError(f"an argument is a {kind.__name__}; numbers, texts, lists and dicts can be")
    return f"{name}({','.join(parts)})"


SCALARS = frozenset((str, bool, int, float, complex, bytes, type(None)))


def is_frozen(value: object) -> bool:
    """True if the value is deeply immutable, so that it needs no copy."""
    kind = type(value)
    if kind in SCALARS or isinstance(value, Enum):
        return True
    if kind in (tuple, frozenset) and isinstance(value, (tuple, frozenset)):
        return all(map(is_frozen, value))
    parameters = getattr(kind, "__dataclass_params__", None)
    if not getattr(parameters, "frozen", False) or not dataclasses.is_dataclass(value):
        return False
    return all(is_frozen(getattr(value, field.name)) for field in dataclasses.fields(value))


def own_copy(value: Any) -> Any:
    """A copy that shares no mutable object with the value.

    Raises:
        TypeError: the value is or contains an object that is neither immutable nor plain.
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
