"""Step "consolidate": lasting facts are drawn from the journal, each audience's apart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import QuerySet

from evennia_ai.compaction import Fence
from evennia_ai.core.audit_events import fact
from evennia_ai.core.conversation import Message
from evennia_ai.core.extraction import Drawn, facts_request, of_one_audience, read_drawn
from evennia_ai.core.recollection import MemoryKind, Recollection
from evennia_ai.memory import rows
from evennia_ai.models import Memory
from evennia_ai.remembering import indexing
from evennia_ai.sleeping import drawing
from evennia_ai.sleeping.night import Night

AT_ONCE = 20
LOOKED_AT = 400
MOST_KNOWN = 10
BY_HAND = "manual"

Ask = Callable[[list[Message], str], Awaitable[str]]


@dataclass(slots=True)
class Batch:
    """Entries of one audience, and what became of them.

    Attributes:
        is_read: the model's answer could be read.
        new: facts drawn from them.
        replaced: keys of facts that hold no more.
    """

    assistant: int
    entries: list[Memory]
    is_read: bool = False
    new: list[Recollection] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    @property
    def is_as_it_was(self) -> bool:
        """Whether nobody corrected or forgot an entry meanwhile."""
        texts = dict(self._stored.filter(is_consolidated=False).values_list("id", "text"))
        return texts == {entry.id: entry.text for entry in self.entries}

    def write(self) -> None:
        """Put the facts in, and note that the entries are done; within a transaction."""
        rows.remove(self.assistant, self.replaced)
        rows.insert(self.assistant, self.new)
        self._stored.update(is_consolidated=True)

    @property
    def _stored(self) -> QuerySet[Memory]:
        """The entries' rows as they are by now, those that were not forgotten."""
        return rows.of(self.assistant, id__in=[entry.id for entry in self.entries])

    @property
    def counted(self) -> dict[str, int]:
        """What was done, for people."""
        return {
            "entries sorted": len(self.entries),
            "facts": len(self.new),
            "facts replaced": len(self.replaced),
        }


def next_batch(script: Any, skipped: Collection[int]) -> Batch | None:
    """The oldest entries that are not done, as many as fit, of one audience.

    Args:
        skipped: numbers of rows that are left out.
    """
    pending = rows.of(script.pk, kind=MemoryKind.JOURNAL, is_consolidated=False)
    found = list(pending.exclude(id__in=skipped).order_by("id")[:LOOKED_AT])
    same = of_one_audience(found, AT_ONCE)
    return Batch(script.pk, same) if same else None


async def sort_out(script: Any, batch: Batch, ask: Ask, fence: Fence) -> None:
    """Let the model draw facts from a batch.

    Raises:
        AssistantError: as of `Asker.ask`.
    """
    sources, audience = rows.values(batch.entries), batch.entries[0].audience
    told = "\n".join(source.text for source in sources)
    kinds = (MemoryKind.FACT,)
    known = await drawing.nearest(
        script, told, audience, kinds=kinds, limit=MOST_KNOWN, fence=fence
    )
    texts = [memory.text for memory in known]
    reply = await ask(facts_request([source.text for source in sources], texts), "consolidation")
    drawn = read_drawn(reply, len(sources), len(known))
    if drawn is None:
        return
    batch.is_read = True
    _settle(script, batch, drawn, sources, known)


def _settle(
    script: Any,
    batch: Batch,
    drawn: Sequence[Drawn],
    sources: Sequence[Recollection],
    known: Sequence[Recollection],
) -> None:
    made = drawing.memories_of(script, MemoryKind.FACT, drawn, sources)
    fit = [(item, memory) for item, memory in zip(drawn, made, strict=True) if memory is not None]
    replaced = {
        known[i].key: None
        for item, memory in fit
        for i in item.replaces
        if _may_replace(memory, known[i])
    }
    batch.replaced = list(replaced)
    new = [_standing_for(memory, item, known) for item, memory in fit]
    batch.new = drawing.unknown(script, new, batch.replaced)


def _standing_for(new: Recollection, item: Drawn, known: Sequence[Recollection]) -> Recollection:
    """A fact that replaces another rests on the entries of both: none of them is told beside it."""
    old = [known[number] for number in item.replaces if _may_replace(new, known[number])]
    cites = (*new.cites, *(key for fact in old for key in fact.cites))
    return replace(new, cites=tuple(dict.fromkeys(cites)))


def _may_replace(new: Recollection, old: Recollection) -> bool:
    """What is believed less replaces nothing, and nothing replaces what people wrote."""
    return old.importance_by != BY_HAND and new.trust >= old.trust and new.text != old.text


async def consolidate(night: Night) -> bool:
    """One batch. What cannot be read is left as it is for another night.

    Returns:
        Whether there was anything to do.
    """
    skipped = night.cursor.get("skipped", [])
    batch = next_batch(night.script, skipped)
    if batch is None:
        return False
    await sort_out(night.script, batch, night.ask, night.fence)
    if not batch.is_read:
        numbers = [entry.id for entry in batch.entries]
        night.keep(cursor={"skipped": [*skipped, *numbers]})
    elif batch.is_as_it_was:
        told = fact("memories_kept", count=len(batch.new), why="sorted out of the journal")
        night.keep(told, beside=batch.write, counted=batch.counted)
        indexing.soon(night.script)
    else:
        night.keep()
    return True
