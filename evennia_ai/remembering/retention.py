"""How long memories are kept: by their age, their number, and what they matter."""

from __future__ import annotations

from functools import partial
from typing import Any

from evennia_ai import state
from evennia_ai.core.audit_events import fact
from evennia_ai.core.memory_config import MemoryConfig
from evennia_ai.core.recollection import DAY_SECONDS, MemoryKind
from evennia_ai.memory import rows

# What matters no more than this is let go with time.
UNIMPORTANT = 3
# Of the oldest memories, so many for each that has to leave are compared.
COMPARED = 4
LEAST_COMPARED = 100


def overdue(script: Any, now: float) -> list[str]:
    """The keys of memories that need not be kept any longer.

    What is too old; unimportant entries of the journal after a while, unless facts were drawn from
    them; of more entries than are kept as they were written, those that facts were drawn from; and
    where there are too many memories, the least important of the oldest.
    """
    config = state.memory_config(script)
    leaving = [*_aged(script.pk, config, now)]
    seen = set(leaving)
    leaving += (key for key in _written_out(script.pk, config) if key not in seen)
    count = rows.of(script.pk).exclude(kind=MemoryKind.LORE).count()
    excess = count - len(leaving) - config.max_memories
    if excess > 0:
        leaving += _least(script.pk, excess, set(leaving))
    return leaving


def prune(script: Any, now: float) -> int:
    """Forget what is overdue. Returns how many that were; the caller lets the store know."""
    keys = overdue(script, now)
    if keys:
        told = fact("memories_forgotten", count=len(keys), why="age and number")
        state.write(script, told, beside=partial(rows.remove, script.pk, keys))
    return len(keys)


def _aged(assistant: int, config: MemoryConfig, now: float) -> list[str]:
    found: list[str] = []
    if config.retention_days:
        before = now - config.retention_days * DAY_SECONDS
        old = rows.of(assistant, at__lt=before).exclude(kind=MemoryKind.LORE)
        found += old.values_list("key", flat=True)
    unimportant = rows.of(
        assistant,
        kind=MemoryKind.JOURNAL,
        at__lt=now - config.journal_days * DAY_SECONDS,
        importance__lte=UNIMPORTANT,
        is_consolidated=False,
    )
    found += unimportant.values_list("key", flat=True)
    return list(dict.fromkeys(found))


def _written_out(assistant: int, config: MemoryConfig) -> list[str]:
    journal = rows.of(assistant, kind=MemoryKind.JOURNAL)
    excess = journal.count() - config.journal_entries
    if excess <= 0:
        return []
    done = journal.filter(is_consolidated=True).order_by("importance", "at", "id")
    return list(done.values_list("key", flat=True)[:excess])


def _least(assistant: int, count: int, leaving: set[str]) -> list[str]:
    """Of the oldest, those that matter least."""
    compared = max(LEAST_COMPARED, COMPARED * count) + len(leaving)
    oldest = rows.of(assistant).exclude(kind=MemoryKind.LORE).order_by("at", "id")
    found = [
        (importance, at, key)
        for key, importance, at in oldest.values_list("key", "importance", "at")[:compared]
        if key not in leaving
    ]
    return [key for _, _, key in sorted(found)[:count]]
