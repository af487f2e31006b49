"""Settings that are stored as a mapping, read into the value that checks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from evennia_ai.errors import ConfigurationError

T = TypeVar("T")


def read_config(kind: type[T], name: str, stored: Any, example: str) -> T:
    """A frozen configuration from what is stored of it.

    Args:
        name: what it is called in an error.
        example: what a right one looks like.

    Raises:
        ConfigurationError: it is no mapping, a key is unknown, or `kind` refuses a value.
    """
    if not isinstance(stored, Mapping):
        raise ConfigurationError(f"{name} is {stored!r}; it must be like {example}")
    known = [entry.name for entry in fields(kind)]  # type: ignore[arg-type]
    unknown = [key for key in stored if key not in known]
    if unknown:
        raise ConfigurationError(f"{name} has no key {unknown[0]!r}; it has {', '.join(known)}")
    return kind(**stored)
