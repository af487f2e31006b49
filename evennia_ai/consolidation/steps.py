"""What does each step of a night; their order stands in `core.memory.night`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from evennia_ai.consolidation import consolidating, profile_update, reflecting, scoring, tidying
from evennia_ai.consolidation.night import Night

# Each does one piece and stores it, and returns whether there was anything to do.
Piece = Callable[[Night], Awaitable[bool]]

STEPS: Mapping[str, Piece] = MappingProxyType(
    {
        "score": scoring.score,
        "consolidate": consolidating.consolidate,
        "profiles": profile_update.portray,
        "reflect": reflecting.reflect,
        "compact": tidying.compact,
        "prune": tidying.prune,
        "index": tidying.index,
        "end": tidying.end,
    }
)
