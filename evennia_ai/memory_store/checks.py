"""Validation of audiences, keys and ids before they reach any store.

A filter built from text that a player typed could expose the secrets of others, so only validated
values become filters; others raise ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from evennia_ai.core.memory.recollection import is_audience
from evennia_ai.memory_store.port import Item, MemoryQuery

_KEY = re.compile(r"[0-9a-f]{32}")


def checked_audiences(audiences: Sequence[str]) -> list[str]:
    """Validate audiences and remove duplicates, keeping the order."""
    # A string is a sequence of strings too, and would be checked letter by letter.
    if isinstance(audiences, (str, bytes)):
        raise ValueError(f"{audiences!r} is one text; a search needs a list of audiences")
    for audience in audiences:
        if not isinstance(audience, str) or not is_audience(audience):
            raise ValueError(f"{audience!r} is not an audience; it must be like 'room:object-2'")
    return list(dict.fromkeys(audiences))


def is_key(key: object) -> bool:
    """True for a memory's key: 32 lower-case hexadecimal digits."""
    return isinstance(key, str) and _KEY.fullmatch(key) is not None


def checked_items(items: Iterable[Item]) -> list[Item]:
    """Validate memories. If a key occurs more than once, its last memory is used."""
    by_key: dict[str, Item] = {}
    for item in items:
        if not is_key(item.key):
            raise ValueError(f"{item.key!r} is not the key of a memory; it must be 32 hex digits")
        checked_audiences([item.audience])
        if not 0.0 <= item.trust <= 1.0:
            raise ValueError(f"a trust of {item.trust!r} cannot be; it must be from 0 to 1")
        by_key[item.key] = item
    return list(by_key.values())


def checked_collection(collection: int) -> int:
    """Validate the id of an assistant."""
    # bool is a subclass of int: True would be the collection of assistant 1.
    is_number = isinstance(collection, int) and not isinstance(collection, bool)
    if not is_number or collection < 1:
        raise ValueError(
            f"{collection!r} is not an assistant's id; it must be a whole number above 0"
        )
    return collection


def filters_of(query: MemoryQuery) -> dict[str, Any]:
    """Build mem0's filter: an assistant's id, validated audiences and a minimum trust."""
    filters: dict[str, Any] = {
        "agent_id": str(query.collection),
        "audience": {"in": checked_audiences(query.audiences)},
    }
    if query.min_trust > 0.0:
        filters["trust"] = {"gte": float(query.min_trust)}
    return filters
