"""Facts that hold no more: which one gives way to which, and all that goes with it.

Of two facts that cannot both hold, the later one by the days of its entries does. The other stays
in the table for whoever looks, with since when it holds no more, and is told to nobody: neither it
nor what it was drawn from, nor what was concluded from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evennia_ai.core.memory.extraction import DerivedMemory
from evennia_ai.core.memory.recollection import Recollection, point_of
from evennia_ai.memory import forgetting
from evennia_ai.memory_store import rows
from evennia_ai.models import EntityProfile

BY_HAND = "manual"

# A fact, and the one that takes its place.
Pair = tuple[Recollection, Recollection]


def superseded(
    drawn: Sequence[tuple[DerivedMemory, Recollection]], known: Sequence[Recollection]
) -> list[Pair]:
    """The facts that hold no more, each once, with what takes its place.

    Args:
        drawn: what a model wrote in one answer, each with the fact that was made of it.
        known: what it was shown as known.
    """
    after: dict[str, Pair] = {}
    for old, new in _pairs(drawn, known):
        last = new
        while last.key in after:
            last = after[last.key][1]
        if last.key != old.key:  # else they name each other in a circle, of which one has to stay
            after[old.key] = old, new
    return list(after.values())


def _pairs(
    drawn: Sequence[tuple[DerivedMemory, Recollection]], known: Sequence[Recollection]
) -> Iterator[Pair]:
    """The facts that a model named together, and their like; the later one is the second."""
    by_place = {item.place: memory for item, memory in drawn}
    for item, memory in drawn:
        named = [known[number] for number in item.replaces]
        named += [by_place[place] for place in item.replaces_new if place in by_place]
        for other in named:
            old, new = (other, memory) if memory.at >= other.at else (memory, other)
            # What is known already, and written once more, is over as well.
            again = [fact for fact in known if _is_same(fact, old) and fact.at <= new.at]
            same = {fact.key: fact for fact in (old, *again)}.values()
            yield from ((fact, new) for fact in same if _may_supersede(new, fact))


def _is_same(one: Recollection, other: Recollection) -> bool:
    return point_of(one.text) == point_of(other.text)


def _may_supersede(new: Recollection, old: Recollection) -> bool:
    """True where one may replace the other: it is believed no less, and nobody wrote the old."""
    return not _is_same(new, old) and old.importance_by != BY_HAND and new.trust >= old.trust


def mark(assistant: int, pairs: Iterable[Pair]) -> None:
    """Note what holds no more, within a transaction of the caller's.

    What a fact was drawn from is over with it, unless what takes its place was drawn from the same.
    What people wrote or mended stays as they left it.
    """
    for old, new in pairs:
        keys = {old.key, *old.cites, *forgetting.conclusions(assistant, [old.key])}
        over = rows.current(assistant, key__in=keys - {*new.cites}).exclude(importance_by=BY_HAND)
        rows.supersede(assistant, over, new.at)
        _drop_attribute(assistant, old)


def _drop_attribute(assistant: int, old: Recollection) -> None:
    """Drop an attribute from the speaker's profile that says the same as a fact that is over."""
    # A fact that is nobody's finds none, as no entity is NULL.
    for profile in EntityProfile.objects.filter(assistant=assistant, entity=old.person or None):
        left = [
            item
            for item in profile.attributes
            if item["audience"] != old.audience or point_of(item["text"]) != point_of(old.text)
        ]
        if left != profile.attributes:
            profile.attributes = left
            profile.save(update_fields=["attributes"])
