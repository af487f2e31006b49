"""Step "consolidate": lasting facts are drawn from the journal, each audience's apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from django.db.models import QuerySet

from evennia_ai.consolidation import superseding
from evennia_ai.consolidation.derive_memories import memories_of, unknown
from evennia_ai.consolidation.night import MemoryWork, NightWork
from evennia_ai.consolidation.superseding import Pair
from evennia_ai.core.memory.extraction import facts_request, of_one_audience, read_derived
from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.core.safety.audit_events import fact
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn.contexts import ContextType, PromptPart
from evennia_ai.memory import indexing
from evennia_ai.memory.episodes import exchange_of
from evennia_ai.memory.evidence import KNOWN_FACTS, ShownMemories, nearest, shown
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.tools.inner_calls import Asker, config_of

AT_ONCE = 20
# Far more than are shown at once: entries of other audiences stand between.
LOOKED_AT = 400
# Of what is known, so many facts for each entry, and so many in all.
NEAR_EACH, MOST_KNOWN = 4, 24


@dataclass(slots=True)
class Batch:
    """Entries of one audience, and what became of them.

    Attributes:
        is_read: the model's answer could be read.
        new: facts drawn from them, also such as hold no more by what another of them says.
        superseded: facts that hold no more, known or new, with what takes their place.
    """

    assistant: int
    entries: list[Memory]
    is_read: bool = False
    new: list[Recollection] = field(default_factory=list)
    superseded: list[Pair] = field(default_factory=list)

    @property
    def is_as_it_was(self) -> bool:
        """True where nobody corrected or forgot an entry meanwhile."""
        texts = dict(self._stored.filter(is_consolidated=False).values_list("id", "text"))
        return texts == {entry.id: entry.text for entry in self.entries}

    def write(self) -> None:
        """Put the facts in, and note that the entries are done; within a transaction."""
        rows.insert(self.assistant, self.new)
        rows.note_consolidated(self.assistant, [entry.key for entry in self.entries])
        superseding.mark(self.assistant, self.superseded)

    @property
    def _stored(self) -> QuerySet[Memory]:
        """The entries' rows as they are by now, those that were not forgotten."""
        return rows.of(self.assistant, id__in=[entry.id for entry in self.entries])

    @property
    def counted(self) -> dict[str, int]:
        """The result in words, for people."""
        return {
            "entries sorted": len(self.entries),
            "facts": len(self.new),
            "facts replaced": len(self.superseded),
        }


def next_batch(script: Assistant, skipped: Collection[int]) -> Batch | None:
    """The oldest entries that are not done, as many as fit, of one audience.

    Args:
        skipped: numbers of rows that are left out.
    """
    found = list(_pending(script, skipped).order_by("id")[:LOOKED_AT])
    same = of_one_audience(found, AT_ONCE)
    return Batch(script.pk, same) if same else None


def count_pending(script: Assistant, skipped: Collection[int] = ()) -> int:
    """Number of entries that are not done, without those that are left out."""
    return int(_pending(script, skipped).count())


def _pending(script: Assistant, skipped: Collection[int]) -> QuerySet[Memory]:
    pending = rows.of(script.pk, kind=MemoryKind.JOURNAL, is_consolidated=False)
    return pending.exclude(id__in=skipped)


async def sort_out(
    asker: Asker | MemoryWork, batch: Batch, context_type: ContextType, purpose: Purpose
) -> None:
    """Let the model draw facts from a batch.

    Raises:
        AssistantError: as of `Asker.ask`.
    """
    script, fence = asker.script, asker.fence
    sources, audience = rows.values(batch.entries), batch.entries[0].audience
    context = config_of(script, context_type)
    is_told = context.shows(PromptPart.MEMORIES)
    known = await _known(script, sources, audience, fence) if is_told else []
    asked = facts_request(shown(script, sources), shown(script, known))
    evidence = ShownMemories(script, fence, audience, known, KNOWN_FACTS)
    reply = await asker.ask(asked, context_type, purpose, evidence)
    drawn = read_derived(reply, len(sources), len(known))
    if drawn is None:
        return
    batch.is_read = True
    made = memories_of(script, MemoryKind.FACT, drawn, sources)
    fit = [(item, memory) for item, memory in zip(drawn, made, strict=True) if memory is not None]
    batch.superseded = superseding.superseded(fit, known)
    over = [old.key for old, _ in batch.superseded]
    # What is over no longer counts as known: the same words may hold again.
    batch.new = unknown(script, [memory for _, memory in fit], over)


async def _known(
    script: Assistant, sources: Sequence[Recollection], audience: str, fence: Fence
) -> list[Recollection]:
    """The facts that entries may make untrue: those nearest to each of them, by turns."""
    kinds, near = (MemoryKind.FACT,), []
    for source in sources:
        # The words alone: what was answered is much the same beside all of them.
        text = exchange_of(source)[0] or source.text
        near.append(
            await nearest(script, text, audience, kinds=kinds, limit=NEAR_EACH, fence=fence)
        )
    by_turns = (fact for facts in zip_longest(*near) for fact in facts if fact is not None)
    return list({fact.key: fact for fact in by_turns}.values())[:MOST_KNOWN]


async def consolidate(night: NightWork) -> bool:
    """One batch. What cannot be read is left as it is for another night.

    Returns:
        Whether there was anything to do.
    """
    skipped = night.cursor.get("skipped", [])
    batch = next_batch(night.script, skipped)
    if batch is None:
        return False
    await sort_out(night, batch, ContextType.SLEEP_CONSOLIDATE, Purpose.CONSOLIDATION)
    if not batch.is_read:
        numbers = [entry.id for entry in batch.entries]
        night.keep(cursor={"skipped": [*skipped, *numbers]})
    elif batch.is_as_it_was:
        keys = [memory.key for memory in batch.new]
        why = "sorted out of the journal"
        told = fact("memories_kept", count=len(keys), why=why, keys=keys)
        night.keep(told, extra_writes=batch.write, counted=batch.counted)
        indexing.soon(night.script)
    else:
        night.keep()
    return True
