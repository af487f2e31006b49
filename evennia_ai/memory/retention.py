"""Retention: memories are kept by their age, their number, and what they matter.

Each question is answered from an index, and a portion at a time: it is asked in the game's thread.
"""

from __future__ import annotations

from functools import partial

from evennia_ai.core.memory.recollection import DAY_SECONDS, MemoryKind
from evennia_ai.core.safety.audit_events import fact
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.memory_store import rows
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

# What matters no more than this is let go with time.
UNIMPORTANT = 3
# Of the oldest memories, so many for each that has to leave are compared.
COMPARED = 4
LEAST_COMPARED = 100
MOST_AT_ONCE = 200


def overdue(script: Assistant, now: float) -> list[str]:
    """The keys of memories that need not be kept any longer, at most 200; [] when none is left.

    What is too old, and unimportant entries of the journal after a while, unless facts were drawn
    from them. Once these are gone, of more entries than are kept as they were written, those that
    facts were drawn from. Then, where there are too many memories, the least important of the
    oldest.
    """
    config = state.memory_config(script)
    return (
        _aged(script.pk, config, now)
        or _written_out(script.pk, config.journal_entries)
        or _least(script.pk, _excess(script.pk, config.max_memories))
    )


def prune(script: Assistant, now: float) -> int:
    """Forget what is overdue. Returns how many that were; the caller lets the store know."""
    keys = overdue(script, now)
    if keys:
        told = fact("memories_forgotten", count=len(keys), why="age and number")
        state.write(script, told, extra_writes=partial(rows.remove, script.pk, keys))
    return len(keys)


def _excess(assistant: int, most: int) -> int:
    """Number of memories above the most that are kept, counted no further than it matters."""
    # To compare the kind of each row takes twice as long.
    lore = rows.of(assistant, kind=MemoryKind.LORE).count()
    return int(rows.of(assistant)[most + lore : most + lore + MOST_AT_ONCE].count())


def _aged(assistant: int, config: MemoryConfig, now: float) -> list[str]:
    found: list[str] = []
    if config.retention_days:
        before = now - config.retention_days * DAY_SECONDS
        old = rows.of(assistant, kind__in=rows.SEARCHED, at__lt=before)
        found += old.values_list("key", flat=True)[:MOST_AT_ONCE]
    unimportant = rows.of(
        assistant,
        kind=MemoryKind.JOURNAL,
        at__lt=now - config.journal_days * DAY_SECONDS,
        importance__lte=UNIMPORTANT,
        is_consolidated=False,
    )
    found += unimportant.values_list("key", flat=True)[:MOST_AT_ONCE]
    return list(dict.fromkeys(found))[:MOST_AT_ONCE]


def _written_out(assistant: int, kept: int) -> list[str]:
    """Of more entries than are kept, those that facts were drawn from and that matter least."""
    entries = rows.of(assistant, kind=MemoryKind.JOURNAL)
    # Counted no further than it matters: all entries may be a hundred thousand.
    excess = entries.order_by("-at")[kept : kept + MOST_AT_ONCE].count()
    done = entries.filter(is_consolidated=True).order_by("importance", "at", "id")
    return list(done.values_list("key", flat=True)[:excess]) if excess else []


def _least(assistant: int, count: int) -> list[str]:
    """Of the oldest, those that matter least."""
    if count < 1:
        return []
    compared = max(LEAST_COMPARED, COMPARED * count)
    found: list[tuple[float, int, int, str]] = []
    for kind in rows.SEARCHED:
        oldest = rows.of(assistant, kind=kind).order_by("at", "id")
        if len(found) == compared:  # what came later than all of these is not looked at
            oldest = oldest.filter(at__lte=found[-1][0])
        found += oldest.values_list("at", "id", "importance", "key")[:compared]
        found = sorted(found)[:compared]
    least = sorted((importance, at, key) for at, _, importance, key in found)
    return [key for _, _, key in least[:count]]
