"""Retention: selects memories to forget by age, number and importance.

Queries run in the game's thread, so each is answered from an index and returns one batch.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from django.db import connection

from evennia_ai.core.memory.recollection import DAY_SECONDS, MemoryKind
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.models.statements import quoted
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

# Journal entries up to this importance, 1 to 10, are forgotten after `journal_days`.
UNIMPORTANT = 3
# Candidates per memory to forget: the least important of so many oldest ones is taken.
COMPARED = 4
LEAST_COMPARED = 100
MOST_AT_ONCE = 200


def overdue(script: Assistant, now: float) -> list[str]:
    """Keys of memories to forget, at most 200; [] if there are none left.

    First those that are too old, and unimportant journal entries without derived facts after a
    while. Once these are gone, consolidated entries above the limit of entries. Then, if there are
    still too many memories, the least important of the oldest.
    """
    config = state.memory_config(script)
    return (
        _aged(script.pk, config, now)
        or _consolidated_excess(script.pk, config.journal_entries)
        or _least_important(script.pk, _excess(script.pk, config.max_memories))
    )


def prune(script: Assistant, now: float) -> int:
    """Forget one batch. Returns its size; the caller schedules indexing."""
    keys = overdue(script, now)
    if keys:
        event = audit_event("memories_forgotten", count=len(keys), why="age and number")
        state.write(script, event, extra_writes=partial(rows.remove, script.pk, keys))
    return len(keys)


def _excess(assistant: int, most: int) -> int:
    """Number of memories above the limit, counting at most one batch."""
    # Lore does not count. Subtracting it is twice as fast as comparing the kind of each row.
    lore = _query(_LORE, assistant)[0][0]
    return int(_query(_BEYOND, assistant, MOST_AT_ONCE, most + lore)[0][0])


def _aged(assistant: int, config: MemoryConfig, now: float) -> list[str]:
    keys: list[tuple[str]] = []
    if config.retention_days:
        keys += _query(_OLD, assistant, now - config.retention_days * DAY_SECONDS)
    keys += _query(_TRIFLES, assistant, now - config.journal_days * DAY_SECONDS)
    return list(dict.fromkeys(key for (key,) in keys))[:MOST_AT_ONCE]


def _consolidated_excess(assistant: int, most: int) -> list[str]:
    """The least important consolidated entries, as many as exceed the limit of entries."""
    # Counting stops after one batch: there may be a hundred thousand entries.
    excess = _query(_ENTRIES_BEYOND, assistant, MOST_AT_ONCE, most)[0][0]
    return [key for (key,) in _query(_DONE, assistant, excess)] if excess else []


def _least_important(assistant: int, count: int) -> list[str]:
    """The least important of the oldest memories."""
    if count < 1:
        return []
    compared = max(LEAST_COMPARED, COMPARED * count)
    candidates: list[tuple[float, int, int, str]] = []
    for kind in rows.SEARCHED:
        # Rows newer than the last candidate so far cannot be among the oldest.
        last = candidates[-1][0] if len(candidates) == compared else sys.float_info.max
        candidates += _query(_OLDEST, assistant, kind, last, compared)
        candidates = sorted(candidates)[:compared]
    least = sorted((importance, at, key) for at, _, importance, key in candidates)
    return [key for _, _, key in least[:count]]


# Plain SQL, each query with an index: Django's ORM takes longer to compile them than they run.
_SEARCHED = ", ".join(f"'{kind}'" for kind in rows.SEARCHED)
_ENTRIES = f"kind = '{MemoryKind.JOURNAL}'"
_LORE = f"SELECT COUNT(*) FROM {{kept}} AND kind = '{MemoryKind.LORE}'"
_BEYOND = "SELECT COUNT(*) FROM (SELECT 1 FROM {kept} LIMIT %s OFFSET %s) AS beyond"
_OLD = f"SELECT {{key}} FROM {{kept}} AND kind IN ({_SEARCHED}) AND at < %s LIMIT {MOST_AT_ONCE}"
_TRIFLES = (
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


def _query(sql: str, *values: object) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql.format(kept=_KEPT, key=quoted(("key",))), values)
        return list(cursor.fetchall())
