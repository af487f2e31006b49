"""Retention: memories are kept by their age, their number, and what they matter.

Each question is answered from an index, and a portion at a time: it is asked in the game's thread.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from django.db import connection

from evennia_ai.core.memory.recollection import DAY_SECONDS, MemoryKind
from evennia_ai.core.safety.audit_events import fact
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.models.statements import quoted
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
    lore = _ask(_LORE, assistant)[0][0]
    return int(_ask(_BEYOND, assistant, MOST_AT_ONCE, most + lore)[0][0])


def _aged(assistant: int, config: MemoryConfig, now: float) -> list[str]:
    found: list[tuple[str]] = []
    if config.retention_days:
        found += _ask(_OLD, assistant, now - config.retention_days * DAY_SECONDS)
    found += _ask(_DULL, assistant, now - config.journal_days * DAY_SECONDS)
    return list(dict.fromkeys(key for (key,) in found))[:MOST_AT_ONCE]


def _written_out(assistant: int, kept: int) -> list[str]:
    """Of more entries than are kept, those that facts were drawn from and that matter least."""
    # Counted no further than it matters: all entries may be a hundred thousand.
    excess = _ask(_ENTRIES_BEYOND, assistant, MOST_AT_ONCE, kept)[0][0]
    return [key for (key,) in _ask(_DONE, assistant, excess)] if excess else []


def _least(assistant: int, count: int) -> list[str]:
    """Of the oldest, those that matter least."""
    if count < 1:
        return []
    compared = max(LEAST_COMPARED, COMPARED * count)
    found: list[tuple[float, int, int, str]] = []
    for kind in rows.SEARCHED:
        # What came later than as many of another kind is not looked at.
        last = found[-1][0] if len(found) == compared else sys.float_info.max
        found += _ask(_OLDEST, assistant, kind, last, compared)
        found = sorted(found)[:compared]
    least = sorted((importance, at, key) for at, _, importance, key in found)
    return [key for _, _, key in least[:count]]


# Each of these finds its rows by an index. Django would take longer to make one than to run it.
_SEARCHED = ", ".join(f"'{kind}'" for kind in rows.SEARCHED)
_ENTRIES = f"kind = '{MemoryKind.JOURNAL}'"
_LORE = f"SELECT COUNT(*) FROM {{kept}} AND kind = '{MemoryKind.LORE}'"
_BEYOND = "SELECT COUNT(*) FROM (SELECT 1 FROM {kept} LIMIT %s OFFSET %s) AS beyond"
_OLD = f"SELECT {{key}} FROM {{kept}} AND kind IN ({_SEARCHED}) AND at < %s LIMIT {MOST_AT_ONCE}"
_DULL = (
    f"SELECT {{key}} FROM {{kept}} AND {_ENTRIES} AND NOT is_consolidated AND at < %s"
    f" AND importance <= {UNIMPORTANT} LIMIT {MOST_AT_ONCE}"
)
_ENTRIES_BEYOND = (
    f"SELECT COUNT(*) FROM (SELECT 1 FROM {{kept}} AND {_ENTRIES} ORDER BY at DESC"
    " LIMIT %s OFFSET %s) AS beyond"
)
_DONE = (
    f"SELECT {{key}} FROM {{kept}} AND {_ENTRIES} AND is_consolidated"
    " ORDER BY importance, at, id LIMIT %s"
)
_OLDEST = (
    "SELECT at, id, importance, {key} FROM {kept} AND kind = %s AND at <= %s"
    " ORDER BY at, id LIMIT %s"
)
_KEPT = f"{Memory._meta.db_table} WHERE assistant = %s AND NOT is_removed"


def _ask(sql: str, *values: object) -> list[Any]:
    """The rows of a question about the memories of an assistant that are not forgotten."""
    with connection.cursor() as cursor:
        cursor.execute(sql.format(kept=_KEPT, key=quoted(("key",))), values)
        return list(cursor.fetchall())
