"""Memories as evidence for a model that draws conclusions: shown at the start, or looked up.

All are of one audience, so that conclusions stay within it. They are numbered, and lookups continue
the numbering, because a conclusion has to cite the memories it is based on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType

from evennia_ai.core.memory.extraction import Shown, numbered
from evennia_ai.core.memory.namesakes import named_others, told_apart
from evennia_ai.core.memory.recollection import MemoryKind, Recollection, is_audience
from evennia_ai.core.text import dates
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult
from evennia_ai.memory import modes, paying
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.port import MemoryQuery
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence

LONGEST_QUERY = 1_000
DEFAULT_LIMIT, MAX_LIMIT = 10, 20
# Hits of a search. The store does not know kinds, and facts stand behind the talk they came from.
MOST_LOOKED_AT = 200
Kinds = tuple[MemoryKind, ...]
# The tools by which a model may look up memories, and the kinds that each of them searches.
LOOKS: Mapping[str, Kinds] = MappingProxyType(
    {
        "read_journal": (MemoryKind.JOURNAL,),
        "search_journal": (MemoryKind.JOURNAL,),
        "recall_memories": (MemoryKind.FACT, MemoryKind.INSIGHT),
    }
)
KNOWN_FACTS: Mapping[str, Kinds] = MappingProxyType({"recall_memories": (MemoryKind.FACT,)})


def days_of(script: Assistant, memories: Sequence[Recollection]) -> list[date]:
    """The dates on which memories were stored, in the game's time zone."""
    now = modes.now(script)
    return [dates.moment(memory.at, now).date() for memory in memories]


def dated_memories(script: Assistant, memories: Sequence[Recollection]) -> list[Shown]:
    """Memories with their dates, as a model is shown them."""
    days, labels = days_of(script, memories), named_others(memories)
    texts = [told_apart(memory, labels) for memory in memories]
    return [Shown(text, day) for text, day in zip(texts, days, strict=True)]


async def nearest(
    script: Assistant, text: str, audience: str, *, kinds: Sequence[str], limit: int, fence: Fence
) -> list[Recollection]:
    """Current memories of one audience that are nearest to a text, nearest first.

    Falls back to the newest ones if the store is unavailable.
    """
    hits, service = None, services.memory()
    if is_audience(audience) and not service.absence:
        search = MemoryQuery(script.pk, text[:LONGEST_QUERY], (audience,), MOST_LOOKED_AT)
        hits = await paying.search(script, service, search, person="")
        fence.check()
    memories = rows.by_keys(script.pk, [hit.key for hit in hits or ()])
    ranked = [memories[hit.key] for hit in hits or () if hit.key in memories]
    fit = [
        memory
        for memory in ranked
        if memory.audience == audience and memory.kind in kinds and memory.superseded_at is None
    ]
    return fit[:limit] or newest(script, audience, kinds, limit)


def newest(
    script: Assistant, audience: str, kinds: Sequence[str], limit: int
) -> list[Recollection]:
    """The newest current memories of one audience."""
    latest = rows.current(script.pk, audience=audience, kind__in=kinds).order_by("-at", "-id")
    return rows.values(latest[:limit])


@dataclass(slots=True)
class ShownMemories:
    """The memories that a model was shown, and the tools by which it can look up more.

    Attributes:
        found: memories in the order of their numbers, from 1; lookups append to it.
        looks: names of tools, with the kinds of memories that each searches.
    """

    script: Assistant
    fence: Fence
    audience: str
    found: list[Recollection] = field(default_factory=list)
    looks: Mapping[str, Kinds] = field(default_factory=lambda: LOOKS)

    async def look_up(self, call: ToolCall) -> ToolResult:
        """Run a lookup tool, whose arguments have been validated.

        Raises:
            StaleEpochError: the assistant was stopped or reset in the meantime.
        """
        kinds, arguments = self.looks[call.name], call.arguments
        limit = max(1, min(MAX_LIMIT, int(arguments.get("limit", DEFAULT_LIMIT))))
        words = str(arguments.get("words") or arguments.get("query") or "").strip()
        if call.name != "read_journal" and not words:
            return ToolResult(False, "say in a few words what you look for", Fault.BAD_ARGUMENTS)
        if words:
            memories = await nearest(
                self.script, words, self.audience, kinds=kinds, limit=limit, fence=self.fence
            )
        else:
            memories = newest(self.script, self.audience, kinds, limit)
        keys = {memory.key for memory in self.found}
        new = [memory for memory in memories if memory.key not in keys]
        first = len(self.found) + 1
        self.found += new
        lines = numbered(dated_memories(self.script, new), first=first)
        return ToolResult(True, lines or "there is nothing more than you were shown")
