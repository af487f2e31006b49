"""Extraction of facts while awake: before a conversation is summarised, or in a pause.

It does what the night would do with the same journal entries, only earlier: before a summary, so
that facts are known when the words are no longer in the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

from evennia_ai.consolidation import consolidating
from evennia_ai.consolidation.night import MemoryWork
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn import compaction as rules
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.tokens import estimate
from evennia_ai.memory import indexing
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.tools.inner_calls import Asker

MOST_BATCHES = 5


async def extract(
    script: Assistant, messages: list[Message] | None = None, *, work: MemoryWork | None = None
) -> None:
    """Extract facts from pending journal entries, at most five batches.

    The rest, and batches whose answer cannot be parsed, wait for the night.

    Args:
        messages: the conversation about to be summarised; its people share the cost.
        work: the night that it is a part of; None: it is done while awake.

    Raises:
        AssistantError: the model failed, or must not be asked now.
        StaleEpochError: the assistant was stopped or reset in the meantime.
    """
    if not state.memory_config(script).enabled:
        return
    if work is None:
        shares, fence = rules.shares(messages or (), estimate), Fence.of(script)
        work = MemoryWork(script, fence, Asker(script, script.client(), fence, shares=shares))
    await draw(
        work,
        ContextType.PRE_COMPACTION,
        Purpose.CONSOLIDATION,
        why="before a summary",
        batches=MOST_BATCHES,
    )


async def draw(
    work: MemoryWork,
    context_type: ContextType,
    purpose: Purpose,
    *,
    why: str,
    batches: int,
    skipped: Sequence[int] = (),
) -> list[int]:
    """Extract facts from some batches, each stored in one transaction.

    Returns:
        The ids to leave out from now on, with those whose answer could not be parsed.
    """
    skipped_ids = list(skipped)
    for _ in range(batches):
        batch = consolidating.next_batch(work.script, skipped_ids)
        if batch is None:
            break
        await consolidating.sort_out(work, batch, context_type, purpose)
        work.fence.check()
        if not batch.is_read:
            skipped_ids += [entry.id for entry in batch.entries]
        # Otherwise an entry was corrected or forgotten during the call: it stays pending.
        elif batch.is_unchanged:
            event = audit_event("memories_kept", count=len(batch.new), why=why)
            state.write(work.script, event, extra_writes=batch.write)
            indexing.soon(work.script)
    return skipped_ids
