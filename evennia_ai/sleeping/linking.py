"""Step "link": new facts and insights are joined with what they have to do with. No model."""

from __future__ import annotations

from typing import Any

from evennia_ai import services, state
from evennia_ai.core.recollection import WORLD, MemoryKind, Recollection
from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory import rows
from evennia_ai.remembering import indexing
from evennia_ai.sleeping.night import Night

AT_ONCE = 20
NEIGHBOURS = 4
# Entries of the journal stand nearest to what was drawn from them, and are no neighbours.
LOOKED_AT = 4 * NEIGHBOURS
MOST_LINKS = 8
JOINED = (MemoryKind.FACT, MemoryKind.INSIGHT)

Links = dict[str, list[str]]


async def link(night: Night) -> bool:
    """One batch, of what came after the last one.

    Returns:
        Whether there was anything to do.

    Raises:
        MemoryStoreError: the store cannot be asked now.
    """
    script = night.script
    reflection = state.read(script, "reflection_state")
    new = rows.current(script.pk, kind__in=JOINED, id__gt=reflection.get("linked", 0))
    found = list(new.order_by("id")[:AT_ONCE])
    if not found:
        return False
    await indexing.apply(script)
    night.fence.check()
    links: Links = {}
    for memory in rows.values(found):
        await _join(night, memory, links)

    def write() -> None:
        for key, others in links.items():
            rows.change(script.pk, key, links=others)

    reflection = {**state.read(script, "reflection_state"), "linked": found[-1].id}
    night.keep(beside=write, counted={"links": len(links)}, reflection_state=reflection)
    return True


async def _join(night: Night, memory: Recollection, links: Links) -> None:
    """Find what one has to do with: of the same audience, or what all may know."""
    script, service = night.script, services.memory()
    audiences = tuple(dict.fromkeys((memory.audience, WORLD)))
    hits: Any = await service.neighbours(script.pk, memory.key, audiences, limit=LOOKED_AT)
    night.fence.check()
    if hits is None:
        raise MemoryStoreError(service.problem or "the store of memories does not answer")
    near = [hit.key for hit in hits if hit.similarity >= service.least_similarity]
    known = rows.by_keys(script.pk, near)
    others = [known[key] for key in near if key in known and known[key].kind in JOINED]
    for other in others[:NEIGHBOURS]:
        _add(links, memory, other.key)
        _add(links, other, memory.key)


def _add(links: Links, memory: Recollection, key: str) -> None:
    known = links.setdefault(memory.key, list(memory.links))
    if key not in known and len(known) < MOST_LINKS:
        known.append(key)
