"""Plain values in the cache: the key of a tool call, and copies that nobody else can change."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Set
from enum import Enum
from typing import Any

DIGEST_BYTES = 6
# The longest numbers have no decimal text in Python, so whole ones are written in hexadecimal.
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
    """`tool:` and twelve hexadecimal digits, the same for the same arguments in any order.

    Arguments differ when their values or their types do: 1, True, 1.0 and "1" are four.

    Raises:
        TypeError: an argument is no plain value, so that nothing tells it from another for certain.
    """
    try:
        text = canonical(args)
    except TypeError as error:
        raise TypeError(f"no cache key for {tool}: {error}") from None
    digest = hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES)
    return f"{tool}:{digest.hexdigest()}"


def canonical(value: object) -> str:
    """A text that only equal values of the same types share.

    Raises:
        TypeError: the value is of a kind that has no such text.
    """
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    write = next((WRITERS[plain] for plain in kind.__mro__ if plain in WRITERS), None)
    if write is not None:
        return f"{name}({write(value)})"
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
    """True where nothing in the value can be changed, so that it needs no copy."""
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
