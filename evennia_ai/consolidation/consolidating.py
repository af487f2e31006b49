"""Step "consolidate": extracts lasting facts from the journal, separately for each audience."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from django.db.models import QuerySet

from evennia_ai.consolidation import superseding
from evennia_ai.consolidation.derive_memories import memories_of, without_known
from evennia_ai.consolidation.night import MemoryWork, NightWork
from evennia_ai.consolidation.superseding import Pair
from evennia_ai.core.memory.extraction import facts_request, of_one_audience, read_derived
from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn.contexts import ContextType, PromptPart
from evennia_ai.memory import indexing
from evennia_ai.memory.episodes import exchange_of
from evennia_ai.memory.evidence import KNOWN_FACTS, ShownMemories, dated_memories, nearest, newest
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.tools.inner_calls import config_of

BATCH = 20
# Rows read for a batch of one audience, between which are entries of others.
SCANNED = 400
# Known facts shown to the model: nearest ones per entry, and in total.
NEAR_EACH, MOST_KNOWN = 4, 24


@dataclass(slots=True)
class Batch:
    """A batch of entries of one audience, and the facts extracted from it.

    Attributes:
        new: extracted facts, including those that another of them supersedes.
        superseded: known or new facts that no longer hold, each with its replacement.
    """

    assistant: int
    entries: list[Memory]
    is_read: bool = False
    new: list[Recollection] = field(default_factory=list)
    superseded: list[Pair] = field(default_factory=list)

    @property
    def is_unchanged(self) -> bool:
        """True if no entry was corrected, forgotten or consolidated in the meantime."""
        texts = {entry.id: entry.text for entry in self.entries}
        stored = rows.of(self.assistant, id__in=[*texts], is_consolidated=False)
        return texts == dict(stored.values_list("id", "text"))

    def write(self) -> None:
        """Store the facts and mark the entries as consolidated, in the caller's transaction."""
        rows.insert(self.assistant, self.new)
        rows.note_consolidated(self.assistant, [entry.key for entry in self.entries])
        superseding.mark(self.assistant, self.superseded)

    @property
    def counted(self) -> dict[str, int]:
        """The counts, for people."""
        return {
            "entries sorted": len(self.entries),
            "facts": len(self.new),
            "facts replaced": len(self.superseded),
        }


def next_batch(script: Assistant, skipped: Collection[int]) -> Batch | None:
    """The oldest pending entries of one audience, as a batch."""
    waiting = list(_pending(script, skipped).order_by("id")[:SCANNED])
    same = of_one_audience(waiting, BATCH)
    return Batch(script.pk, same) if same else None


def count_pending(script: Assistant, skipped: Collection[int] = ()) -> int:
    """Number of pending entries, without skipped ones."""
    return int(_pending(script, skipped).count())


def _pending(script: Assistant, skipped: Collection[int]) -> QuerySet[Memory]:
    pending = rows.of(script.pk, kind=MemoryKind.JOURNAL, is_consolidated=False)
    return pending.exclude(id__in=skipped)


async def sort_out(
    work: MemoryWork, batch: Batch, context_type: ContextType, purpose: Purpose
) -> None:
    """Let the model extract facts from a batch."""
    script, fence = work.script, work.fence
    sources, audience = rows.values(batch.entries), batch.entries[0].audience
    context = config_of(script, context_type)
    is_told = context.shows(PromptPart.MEMORIES)
    known = await _known(script, sources, audience, fence) if is_told else []
    request = facts_request(dated_memories(script, sources), dated_memories(script, known))
    evidence = ShownMemories(script, fence, audience, known, KNOWN_FACTS)
    reply = await work.ask(request, context_type, purpose, evidence)
    drawn = read_derived(reply, len(sources), len(known))
    if drawn is None:
        return
    batch.is_read = True
    memories = memories_of(script, MemoryKind.FACT, drawn, sources)
    fit = [
        (item, memory) for item, memory in zip(drawn, memories, strict=True) if memory is not None
    ]
    batch.superseded = superseding.superseded(script, fit, known)
    over = [old.key for old, _ in batch.superseded]
    # Superseded facts do not count as known: the same statement may hold again.
    batch.new = without_known(script, [memory for _, memory in fit], over)


async def _known(
    script: Assistant, sources: Sequence[Recollection], audience: str, fence: Fence
) -> list[Recollection]:
    """Known facts that the entries may contradict: the nearest ones of each, round-robin."""
    kinds, near = (MemoryKind.FACT,), []
    if not newest(script, audience, kinds, 1):
        return []  # without a search for each entry
    for source in sources:
        # Without the answer, which is similar in all entries and would dominate the search.
        text = exchange_of(source)[0] or source.text
        near.append(
            await nearest(script, text, audience, kinds=kinds, limit=NEAR_EACH, fence=fence)
        )
    by_turns = (fact for facts in zip_longest(*near) for fact in facts if fact is not None)
    return list({fact.key: fact for fact in by_turns}.values())[:MOST_KNOWN]


async def consolidate(night: NightWork) -> bool:
    """Process one batch. If the answer cannot be parsed, its entries wait for another night."""
    batch = next_batch(night.script, night.skipped)
    if batch is None:
        return False
    await sort_out(night, batch, ContextType.SLEEP_CONSOLIDATE, Purpose.CONSOLIDATION)
    if not batch.is_read:
        night.save(skipped=[entry.id for entry in batch.entries])
    elif batch.is_unchanged:
        keys = [memory.key for memory in batch.new]
        why = "sorted out of the journal"
        event = audit_event("memories_kept", count=len(keys), why=why, keys=keys)
        night.save(event, extra_writes=batch.write, counted=batch.counted)
        indexing.soon(night.script)
    else:
        # Stores the tokens used. The entries are read again.
        night.save()
    return True
