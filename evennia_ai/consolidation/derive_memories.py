"""Converts facts and insights from a model into memories that cite their sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID, uuid5

from evennia_ai.core.memory.extraction import DerivedMemory
from evennia_ai.core.memory.recollection import MemoryKind, Recollection, SourceType, point_of
from evennia_ai.core.safety import persona
from evennia_ai.core.text import dates
from evennia_ai.memory.consent import names_of
from evennia_ai.memory.evidence import days_of
from evennia_ai.memory_store import rows
from evennia_ai.runtime.assistant import Assistant

# Namespace of the UUIDs below. Changing it would duplicate memories.
_SPACE = UUID("6b1f0a52-6a0e-4c37-9d2c-0f8a6d3b7e11")


def memories_of(
    script: Assistant,
    kind: MemoryKind,
    drawn: Sequence[DerivedMemory],
    sources: Sequence[Recollection],
) -> list[Recollection | None]:
    """Build memories with the audience of their sources, in the same order.

    Args:
        sources: the memories that the model was shown, all of one audience.

    Returns:
        The memories; None for those about the assistant itself, and for repetitions.
    """
    names, memories, seen = names_of(script), [], set()
    days = days_of(script, sources)
    for item in drawn:
        # "Yesterday" in an entry becomes a date, as the fact will be read on other days.
        text = dates.settled(item.text, [days[i] for i in item.cites])
        memory = _memory(kind, replace(item, text=text), [sources[i] for i in item.cites])
        point = point_of(memory.text)
        is_kept = point not in seen and not persona.about_itself(memory.text, names)
        seen.add(point)
        memories.append(memory if is_kept else None)
    return memories


def _memory(kind: MemoryKind, item: DerivedMemory, cited: Sequence[Recollection]) -> Recollection:
    """Build a memory with the lowest trust of its sources, and their audience."""
    persons, places = {source.person for source in cited}, {source.place for source in cited}
    types = {source.source_type for source in cited}
    is_told = kind is MemoryKind.FACT and len(types) == 1
    cites = tuple(source.key for source in cited)
    audience = cited[0].audience
    return Recollection(
        # Derived from content and sources, so that repeating a step does not store it twice.
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


def without_known(
    script: Assistant, memories: Sequence[Recollection], without: Sequence[str] = ()
) -> list[Recollection]:
    """Drop memories whose text is stored already for the same audience.

    Args:
        without: keys of stored memories to ignore, because they are being superseded.
    """
    texts = {memory.text for memory in memories}
    stored = rows.current(script.pk, text__in=texts).exclude(key__in=list(without))
    known = set(stored.exclude(kind=MemoryKind.JOURNAL).values_list("audience", "text"))
    return [memory for memory in memories if (memory.audience, memory.text) not in known]
