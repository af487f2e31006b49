"""Keeping memories: rows and state in one transaction, and the store of vectors told soon after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from evennia_ai.core.memory.recollection import Recollection
from evennia_ai.core.safety.audit_events import Fact
from evennia_ai.memory import indexing
from evennia_ai.memory_store import rows
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant


def keep(script: Assistant, memories: Iterable[Recollection], *facts: Fact, **values: Any) -> None:
    """Store memories together with facts and state, all or none of it.

    A memory whose key is there already stays as it is, so doing it twice is doing it once.
    """
    kept = list(memories)
    state.write(script, *facts, extra_writes=partial(rows.insert, script.pk, kept), **values)
    indexing.soon(script)


def remove(script: Assistant, keys: Sequence[str], *facts: Fact, **values: Any) -> None:
    """Forget memories together with facts and state, all or none of it."""

    def forget() -> None:
        rows.remove(script.pk, keys)

    state.write(script, *facts, extra_writes=forget, **values)
    indexing.soon(script)


def change(script: Assistant, key: str, *facts: Fact, **columns: Any) -> bool:
    """Change a memory, as `memory_store.rows.change`. Returns whether there was one of that key."""
    # Asked before: a write that finds no row would be recorded as a change all the same.
    if not rows.of(script.pk, key=key).exists():
        return False

    def alter() -> None:
        rows.change(script.pk, key, **columns)

    state.write(script, *facts, extra_writes=alter)
    indexing.soon(script)
    return True
