"""Overheard talk: kept for a while, bounded, and told with the next turn.

Private words are kept with whoever said them and are never part of a turn for somebody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evennia_ai.core.hearing.perception import PRIVATE, Heard, Source

MOST_OF_ONE = 400


@dataclass(frozen=True, slots=True)
class Overheard:
    """One thing heard.

    Attributes:
        person: the player behind it, "" when the game itself spoke.
        mask: as heard: what a masked speaker is known by, else "".
        body: at most 400 characters.
        trust: how far it is believed, 0 to 1.
    """

    source: str
    person: str
    name: str
    place: str
    body: str
    trust: float
    mask: str = ""

    @classmethod
    def from_heard(cls, heard: Heard, trust: float, place: str = "") -> Overheard:
        """The part of a message that is kept.

        Args:
            place: the room ("#2") where it was heard, or the channel.
        """
        body = heard.body
        if len(body) > MOST_OF_ONE:
            body = body[: MOST_OF_ONE - 1] + "…"
        said = (heard.source.value, heard.person, heard.sender_name, place or heard.place, body)
        return cls(*said, trust, heard.mask)

    def may_be_told_to(self, person: str) -> bool:
        """True where a turn for that person may know of it."""
        return Source(self.source) not in PRIVATE or (self.mask or self.person) == person != ""


def with_newest(
    kept: Sequence[Overheard], new: Overheard, *, messages: int, characters: int
) -> list[Overheard]:
    """Add one; the oldest leave until both bounds hold."""
    result = [*kept, new]
    # Counted once, and not anew for each that leaves.
    size = sum(len(item.body) for item in result)
    first = 0
    while first < len(result) and (len(result) - first > messages or size > characters):
        size -= len(result[first].body)
        first += 1
    return result[first:]


def tellable(kept: Iterable[Overheard], person: str) -> tuple[Overheard, ...]:
    """Those of them that a turn for that person may know of."""
    return tuple(item for item in kept if item.may_be_told_to(person))
