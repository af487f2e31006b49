"""Memories as the model reads them: quoted, what is known apart from what was only heard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evennia_ai.core.memory_config import MemoryConfig
from evennia_ai.core.recollection import MemoryKind, Recollection, ago, is_private, parted
from evennia_ai.core.text import one_line, quote

MOST_OF_ONE = 300
MOST_TOLD = 4_000
RUMOURS = "You also heard, and do not know whether it is true:"
ALONE = " (told to you alone by this person; say it to nobody else)"


def told(
    memories: Sequence[Recollection], config: MemoryConfig, now: float, most: int = MOST_TOLD
) -> str:
    """A line for each memory; what was only heard comes last.

    Args:
        memories: those to tell, the most important first.
        now: seconds since 1970.
        most: characters that all of it may have.
    """
    known, heard = parted(memories, config)
    lines = list(_lines(known, now))
    if heard:
        lines += [RUMOURS, *_lines(heard, now)]
    kept, size = [], 0
    for line in lines:
        size += len(line) + 1
        if size > most + 1:
            break
        kept.append(line)
    return "\n".join(kept[:-1] if kept[-1:] == [RUMOURS] else kept)


def _lines(memories: Iterable[Recollection], now: float) -> Iterable[str]:
    for memory in memories:
        when = "" if memory.kind == MemoryKind.LORE else f"{ago(now - memory.at)}: "
        alone = ALONE if is_private(memory.audience) else ""
        yield f"- {when}{quote(one_line(memory.text, MOST_OF_ONE))}{alone}"
