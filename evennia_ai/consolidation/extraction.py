"""Facts drawn awake: before talk is summed up, so that no summary loses them, or in a pause.

Every turn stands in the journal already, so what is done is what the night would do with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from evennia_ai.consolidation import consolidating
from evennia_ai.core.safety.audit_events import fact
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
    script: Assistant, messages: list[Message] | None = None, *, asker: Asker | None = None
) -> None:
    """Draw facts from what the journal holds and nothing was drawn from yet.

    What the model answers unreadably stays in the journal for the night, and so does what is more
    than five batches.

    Args:
        messages: what is about to be summed up; those whose talk it is pay for this as well.
        asker: whom to ask; None: its own model.

    Raises:
        AssistantError: the model failed, or may not be asked now.
        StaleEpochError: it was stopped or reset meanwhile.
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
    """Draw facts from some batches, each of which is stored whole.

    Args:
        context_type, purpose: of the model calls.
        why: for the audit log.
        skipped: numbers of entries that are left out.

    Returns:
        The numbers of those that are left out from now on: of them the answer was unreadable.

    Raises:
        AssistantError: as of `extract`.
        StaleEpochError: as of `extract`.
    """
    left = list(skipped)
    for _ in range(batches):
        batch = consolidating.next_batch(script, left)
        if batch is None:
            break
        await consolidating.sort_out(asker, batch, context_type, purpose)
        asker.fence.check()
        if not batch.is_read:
            left += [entry.id for entry in batch.entries]
        # Else an entry was corrected or forgotten while the model read: it is read anew.
        elif batch.is_as_it_was:
            told = fact("memories_kept", count=len(batch.new), why=why)
            state.write(script, told, extra_writes=batch.write)
            indexing.soon(script)
    return left
