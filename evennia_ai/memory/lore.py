"""Lore: what a game's staff wrote down of its world, found by words and places, without a model.

It is a memory like others but that no store reads it. `assistant` is 0 for lore of all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from evennia_ai.core.memory.recollection import MemoryKind, Recollection, Seeker
from evennia_ai.core.text.characters import few_marks
from evennia_ai.memory_store import rows
from evennia_ai.runtime.assistant import Assistant

MOST_TOLD = 4
# What another process of the game changed is seen after this.
FRESH_SECONDS = 60.0
_WORD = re.compile(r"\w+")
_changes = 0


@dataclass(frozen=True, slots=True)
class _Read:
    """Lore as it was read: each entry with its keywords as they are looked for."""

    at: float
    changes: int
    entries: tuple[tuple[Recollection, tuple[str, ...]], ...]


def matching(script: Assistant, text: str, seeker: Seeker) -> list[Recollection]:
    """The lore that belongs to what is said, or to the place, and may be known there.

    Those with a keyword in the words come first, then by importance; four at most.
    """
    said, audiences = _folded(text), set(seeker.audiences)
    found: list[tuple[bool, Recollection]] = []
    for entry, keywords in _entries(script):
        if entry.audience in audiences:
            is_named = any(keyword in said for keyword in keywords)
            if is_named or entry.audience.startswith("room:"):
                found.append((is_named, entry))
    found.sort(key=lambda item: (not item[0], -item[1].importance))
    return [entry for _, entry in found[:MOST_TOLD]]


def known(script: Assistant, seeker: Seeker) -> list[Recollection]:
    """All lore that may be known where somebody asks, whatever is said."""
    audiences = set(seeker.audiences)
    return [entry for entry, _ in _entries(script) if entry.audience in audiences]


def entries(assistant: int = rows.SHARED) -> list[tuple[int, Recollection]]:
    """All lore of an assistant, or of all, by number, the most important first."""
    found = list(rows.of(assistant, kind=MemoryKind.LORE).order_by("-importance", "id"))
    return [(row.pk, value) for row, value in zip(found, rows.values(found), strict=True)]


def add(
    text: str,
    *,
    keywords: Sequence[str],
    audience: str,
    at: float,
    assistant: int = rows.SHARED,
    importance: int = 5,
) -> str:
    """Write down lore. Returns its key.

    Args:
        audience: as `core.memory.recollection.is_audience` takes it: the world's, a room's, a
        faction's.
    """
    entry = Recollection(
        rows.new_key(),
        MemoryKind.LORE,
        text,
        audience,
        trust=1.0,
        importance=importance,
        importance_by="manual",
        at=at,
        tags=tuple(keywords),
    )
    rows.insert(assistant, [entry])
    _changed()
    return entry.key


def change(key: str, *, assistant: int = rows.SHARED, **columns: Any) -> bool:
    """Change lore, such as its `text` or `tags`. Returns whether there was any of that key."""
    is_there = bool(rows.of(assistant, key=key, kind=MemoryKind.LORE).exists())
    if is_there:
        rows.change(assistant, key, **columns)
        _changed()
    return is_there


def remove(key: str, *, assistant: int = rows.SHARED) -> bool:
    """Remove lore. Returns whether there was any of that key."""
    count, _ = rows.of(assistant, key=key, kind=MemoryKind.LORE).delete()
    _changed()
    return bool(count)


def _changed() -> None:
    """Drop the lore that is kept in memory: now, and once more when the change is stored."""
    _count_change()
    transaction.on_commit(_count_change)


def _count_change() -> None:
    global _changes
    _changes += 1


def _entries(script: Assistant) -> Iterable[tuple[Recollection, tuple[str, ...]]]:
    work, now = script.work, script.clock.seconds()
    kept: _Read | None = work.lore
    if kept is None or kept.changes != _changes or now - kept.at >= FRESH_SECONDS:
        shared, own = (rows.of(each, kind=MemoryKind.LORE) for each in (rows.SHARED, script.pk))
        read = ((entry, _keywords(entry)) for entry in rows.values((shared | own).order_by("id")))
        kept = work.lore = _Read(now, _changes, tuple(read))
    return kept.entries


def _keywords(entry: Recollection) -> tuple[str, ...]:
    return tuple(folded for folded in map(_folded, entry.tags) if folded.strip())


def _folded(text: str) -> str:
    """The words of a text, each between two blanks, in any case: what whole words are found in."""
    words = _WORD.findall(unicodedata.normalize("NFKC", few_marks(text)).casefold())
    return f" {' '.join(words)} "
