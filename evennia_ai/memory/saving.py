"""Storing memories together with state in one transaction, and then indexing them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from evennia_ai.core.memory.recollection import Recollection
from evennia_ai.core.safety.audit_events import AuditEvent
from evennia_ai.memory import indexing
from evennia_ai.memory_store import rows
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant


def save(
    script: Assistant, memories: Iterable[Recollection], *audit_events: AuditEvent, **values: Any
) -> None:
    """Store memories with audit events and state in one transaction.

    Idempotent: a memory whose key exists already is left unchanged.
    """
    all_memories = list(memories)
    state.write(
        script, *audit_events, extra_writes=partial(rows.insert, script.pk, all_memories), **values
    )
    indexing.soon(script)
