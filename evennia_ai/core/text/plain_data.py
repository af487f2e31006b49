"""Plain data as it is stored: text, finite numbers, lists and mappings, and nothing else.

`to_stored` turns a dataclass into such data, and `from_stored` reads it back.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ConfigurationError

T = TypeVar("T")
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}

# Characters of a value written as JSON.
LONGEST_VALUE = 20_000
# Integers up to here are exact as a double, which other readers of JSON make of every number.
LARGEST_NUMBER = 2**53
DEEPEST = 8


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    # Building a TypeAdapter takes longer than a thousand validations, so each is built once.
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def to_stored(value: object) -> dict[str, Any]:
    """A dataclass as plain data, with enums as text and tuples as lists."""
    stored: dict[str, Any] = _adapter(type(value)).dump_python(value, mode="json")
    return stored


def from_stored(kind: type[T], stored: Mapping[str, object]) -> T:
    """The dataclass that `to_stored` was given. Keys that other versions stored are ignored.

    Raises:
        ValueError: a field without a default is missing, or a value has the wrong type.
    """
    return _adapter(kind).validate_python(dict(stored))


def plain(value: object, path: str) -> Any:
    """A value as plain data.

    Raises:
        ConfigurationError: it holds something that is not plain data, or is too long; the text
            begins with `path`.
    """
    data = _plain(value, path, DEEPEST)
    size = len(json.dumps(data, ensure_ascii=False))
    if size > LONGEST_VALUE:
        raise ConfigurationError(
            f"{path} has {size:,} characters; it must have at most {LONGEST_VALUE:,}"
        )
    return data


def _plain(value: object, path: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        # Comparison handles integers of any size, and NaN fails it; float() or isfinite() would
        # not.
        if -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
            return value
        raise ConfigurationError(f"{path} is not a number of ordinary size; it must be one")
    if isinstance(value, str):
        return _plain_text(value, path)
    if not depth:
        raise ConfigurationError(f"{path} holds things in things; at most {DEEPEST} deep is taken")
    if isinstance(value, Mapping):
        return {
            _plain_key(key, path): _plain(item, f"{path}.{one_line(str(key), 40)}", depth - 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, path, depth - 1) for item in value]
    raise ConfigurationError(
        f"{path} holds something of type {type(value).__name__}; texts, numbers, lists and "
        "mappings can be kept"
    )


def _plain_text(value: str, path: str) -> str:
    odd = (ch for ch in value if ch not in "\n\t\r" and unicodedata.category(ch) in ("Cc", "Cs"))
    if (character := next(odd, None)) is not None:
        raise ConfigurationError(f"{path} holds the character {character!a}, which cannot be shown")
    return value


def _plain_key(key: object, path: str) -> Any:
    if isinstance(key, str):
        return _plain_text(str(key), path)
    if isinstance(key, int) and not isinstance(key, bool) and abs(key) <= LARGEST_NUMBER:
        return key
    raise ConfigurationError(f"{path} has a key of type {type(key).__name__}; it must be text")
