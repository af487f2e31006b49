"""Before talk is summed up, the facts in it are kept: no summary can lose them then.

Every turn stands in the journal already, so what is done is what the night would do with it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from evennia_ai import state
from evennia_ai.core import compaction as rules
from evennia_ai.core.audit_events import fact
from evennia_ai.core.conversation import Message
from evennia_ai.core.tokens import estimate
from evennia_ai.remembering import indexing
from evennia_ai.sleeping import consolidating
from evennia_ai.sleeping.asking import Asker, fence_of

MOST_BATCHES = 5


async def extract(
    script: Any, messages: list[Message] | None = None, *, asker: Asker | None = None
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
        asker = Asker(script, script.client(), fence_of(script), shares=shares)
    skipped: list[int] = []
    for _ in range(MOST_BATCHES):
        batch = consolidating.next_batch(script, skipped)
        if batch is None:
            return
        ask = partial(asker.ask, purpose=consolidating.PURPOSE)
        await consolidating.sort_out(script, batch, ask, asker.fence)
        asker.fence.check()
        if not batch.is_read:
            skipped += [entry.id for entry in batch.entries]
        elif batch.is_as_it_was:
            told = fact("memories_kept", count=len(batch.new), why="before a summary")
            state.write(script, told, beside=batch.write)
            indexing.soon(script)
