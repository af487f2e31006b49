"""From what a model drew to what is stored: memories that cite what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from uuid import UUID, uuid5

from evennia_ai.agent.compaction import Fence
from evennia_ai.core.memory.extraction import DerivedMemory, Shown
from evennia_ai.core.memory.recollection import (
    MemoryKind,
    Recollection,
    SourceType,
    is_audience,
    point_of,
)
from evennia_ai.core.safety import persona
from evennia_ai.core.text import dates
from evennia_ai.memory import indexing, modes, paying
from evennia_ai.memory.consent import names_of
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.port import Sought
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Assistant

LONGEST_QUERY = 1_000
_SPACE = UUID("6b1f0a52-6a0e-4c37-9d2c-0f8a6d3b7e11")


def days_of(script: Assistant, memories: Sequence[Recollection]) -> list[date]:
    """The days on which memories were made, in the game's time zone."""
    now = modes.hour(script)
    return [dates.moment(memory.at, now).date() for memory in memories]


def shown(script: Assistant, memories: Sequence[Recollection]) -> list[Shown]:
    """Memories as a model is shown them at night: each with its day."""
    days = days_of(script, memories)
    return [Shown(memory.text, day) for memory, day in zip(memories, days, strict=True)]


def memories_of(
    script: Assistant,
    kind: MemoryKind,
    drawn: Sequence[DerivedMemory],
    sources: Sequence[Recollection],
) -> list[Recollection | None]:
    """Memories of what was drawn, of their sources' audience, in the same order.

    Args:
        sources: what the model was shown; all of one audience.

    Returns:
        None in the place of what is not kept: it tells of the assistant, or is known already.
    """
    names, made, seen = names_of(script), [], set()
    days = days_of(script, sources)
    for item in drawn:
        text = dates.settled(item.text, [days[i] for i in item.cites])
        memory = _memory(kind, replace(item, text=text), [sources[i] for i in item.cites])
        point = point_of(memory.text)
        is_kept = point not in seen and not persona.about_itself(memory.text, names)
        seen.add(point)
        made.append(memory if is_kept else None)
    return made


def _memory(kind: MemoryKind, item: DerivedMemory, cited: Sequence[Recollection]) -> Recollection:
    """As believed as the least believed of what it rests on, and known to the same."""
    persons, places = {source.person for source in cited}, {source.place for source in cited}
    types = {source.source_type for source in cited}
    is_told = kind is MemoryKind.FACT and len(types) == 1
    cites = tuple(source.key for source in cited)
    audience = cited[0].audience
    return Recollection(
        key=uuid5(_SPACE, "\n".join((kind, audience, *sorted(cites), item.text))).hex,
        kind=kind,
        text=item.text,
        audience=audience,
        person=persons.pop() if len(persons) == 1 else "",
        place=places.pop() if len(places) == 1 else "",
        source_type=types.pop() if is_told else SourceType.INFERENCE,
        trust=min(source.trust for source in cited),
        importance=item.importance,
        importance_by="llm",
        at=max(source.at for source in cited),
        tags=(item.about,) if item.about else (),
        cites=cites,
    )


async def nearest(
    script: Assistant,
    text: str,
    audience: str,
    *,
    kinds: Sequence[str],
    limit: int,
    fence: Fence,
) -> list[Recollection]:
    """Memories of one audience that hold and have most to do with a text, the nearest first.

    Where the store cannot tell, the newest ones.
    """
    hits = None
    if is_audience(audience) and not indexing.problem(script):
        service, query = services.memory(), text[:LONGEST_QUERY]
        sought = Sought(script.pk, query, (audience,), limit * 4)
        hits = await paying.search(script, service, sought, person="")
        fence.check()
    found = rows.by_keys(script.pk, [hit.key for hit in hits or ()])
    ranked = [found[hit.key] for hit in hits or () if hit.key in found]
    fit = [
        memory
        for memory in ranked
        if memory.audience == audience and memory.kind in kinds and memory.superseded_at is None
    ]
    if not fit:
        latest = rows.current(script.pk, audience=audience, kind__in=kinds).order_by("-at", "-id")
        fit = rows.values(latest[:limit])
    return fit[:limit]


def unknown(
    script: Assistant, memories: Sequence[Recollection], without: Sequence[str] = ()
) -> list[Recollection]:
    """Those whose words are not stored already for the same audience.

    Args:
        without: keys of memories that hold no more then.
    """
    texts = {memory.text for memory in memories}
    stored = rows.current(script.pk, text__in=texts).exclude(key__in=list(without))
    known = set(stored.exclude(kind=MemoryKind.JOURNAL).values_list("audience", "text"))
    return [memory for memory in memories if (memory.audience, memory.text) not in known]
