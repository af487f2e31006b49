"""Extraction of facts while awake: before a conversation is summarised, or in a pause.

It does what the night would do with the same journal entries, only earlier: before a summary, so
that facts are known when the words are no longer in the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

from evennia_ai.consolidation import consolidating
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn import compaction as rules
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.tokens import estimate
from evennia_ai.errors import ModelStatusError
from evennia_ai.memory import indexing
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.tools.inner_calls import Asker

MOST_BATCHES = 5


async def extract(
    script: Assistant, messages: list[Message] | None = None, *, asker: Asker | None = None
) -> None:
    """Extract facts from pending journal entries, at most five batches.

    The rest, and batches whose answer cannot be parsed, wait for the night.

    Args:
        messages: the conversation about to be summarised; its people share the cost.
        asker: the model to ask; None: the assistant's own.

    Raises:
        AssistantError: the model failed, or must not be asked now.
        StaleEpochError: the assistant was stopped or reset in the meantime.
    """
    if not state.memory_config(script).enabled:
        return
    if asker is None:
        shares = rules.shares(messages or (), estimate)
        asker = Asker(script, script.client(), Fence.of(script), shares=shares)
    await draw(
        script,
        asker,
        ContextType.PRE_COMPACTION,
        Purpose.CONSOLIDATION,
        why="before a summary",
        batches=MOST_BATCHES,
    )


async def draw(
    script: Assistant,
    asker: Asker,
    context_type: ContextType,
    purpose: Purpose,
    *,
    why: str,
    batches: int,
    skipped: Sequence[int] = (),
) -> list[int]:
    """Extract facts from some batches, each stored in one transaction.

    Args:
        context_type, purpose: for the model calls.
        why: for the audit log.
        skipped: ids of entries to leave out.

    Returns:
        The ids to leave out from now on, with those whose answer could not be parsed.

    Raises:
        AssistantError: see `extract`.
        StaleEpochError: see `extract`.
    """
    left = list(skipped)
    for _ in range(batches):
        batch = consolidating.next_batch(script, left)
        if batch is None:
            break
        try:
            await consolidating.sort_out(asker, batch, context_type, purpose)
        except ModelStatusError as error:
            # Refused for what is in it, as an answer that cannot be read: the others go on.
            if not error.is_of_request:
                raise
        asker.fence.check()
        if not batch.is_read:
            left += [entry.id for entry in batch.entries]
        # Otherwise an entry was corrected or forgotten during the call: it stays pending.
        elif batch.is_unchanged:
            event = audit_event("memories_kept", count=len(batch.new), why=why)
            state.write(script, event, extra_writes=batch.write)
            indexing.soon(script)
    return left
