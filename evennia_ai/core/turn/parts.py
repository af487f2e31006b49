"""The components every prompt is made of: their ids, in steps that leave gaps for others."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache


class Part(IntEnum):
    """A component that every assistant has; in the gap after it come a game's own."""

    SYSTEM_PROMPT = 0
    CHARACTER = 1000
    ENTITIES = 1500
    MEMORIES = 2000
    OVERHEARD = 3000
    GOALS = 4000
    HISTORY = 5000
    EVENT = 6000
    TOOL_RESULT = 7000


FULL = tuple(Part)
# Their text is made elsewhere, message by message.
WITHOUT_TEXT = (Part.OVERHEARD, Part.HISTORY, Part.EVENT, Part.TOOL_RESULT)


@lru_cache(maxsize=256)
def part_before(number: int) -> Part:
    """The part itself, or the one in whose gap a component stands."""
    return max(part for part in Part if part <= number)
