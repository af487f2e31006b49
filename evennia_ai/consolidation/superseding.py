"""Superseded facts: of two facts that contradict each other, the later one holds.

The other stays in the table with the time since which it no longer holds, for staff to see. It no
longer reaches a prompt, nor do its sources or conclusions from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from evennia_ai.core.memory.extraction import DerivedMemory
from evennia_ai.core.memory.forgetting import PersonNames
from evennia_ai.core.memory.reaching import is_alike, said_words
from evennia_ai.core.memory.recollection import Recollection, point_of
from evennia_ai.memory import forgetting
from evennia_ai.memory_store import rows
from evennia_ai.models import EntityProfile
from evennia_ai.runtime.assistant import Assistant

BY_HAND = "manual"

# A fact and its replacement.
Pair = tuple[Recollection, Recollection]


def superseded(
    script: Assistant,
    drawn: Sequence[tuple[DerivedMemory, Recollection]],
    known: Sequence[Recollection],
) -> list[Pair]:
    """The facts that no longer hold, each once, with its replacement.

    A fact that names one of several people of that name is replaced only by the same person's.

    Args:
        drawn: items of a model's answer, each with the fact built from it.
        known: the known facts that the model was shown.
    """
    pairs, after = list(_pairs(drawn, known)), dict[str, Pair]()
    shared = _shared_names(script, [pair for pair in pairs if not _is_of_one_person(*pair)])
    for old, new in pairs:
        is_named = shared.is_in(old.text) and shared.is_in(new.text)
        if is_named and not _is_of_one_person(old, new):
            continue
        last = new
        while last.key in after:
            last = after[last.key][1]
        # A model may name facts in a circle, of which one has to stay.
        if last.key != old.key:
            after[old.key] = old, new
    return list(after.values())


def _pairs(
    drawn: Sequence[tuple[DerivedMemory, Recollection]], known: Sequence[Recollection]
) -> Iterator[Pair]:
    """Pairs of contradicting facts named by the model, and known repeats; the later is second."""
    by_place = {item.place: memory for item, memory in drawn}
    for item, memory in drawn:
        replaced = [known[number] for number in item.replaces]
        replaced += [by_place[place] for place in item.replaces_new if place in by_place]
        for other in replaced:
            old, new = (other, memory) if memory.at >= other.at else (memory, other)
            # The same statement may be stored more than once: all of them are superseded.
            again = [fact for fact in known if _is_same(fact, old) and fact.at <= new.at]
            same = {fact.key: fact for fact in (old, *again)}.values()
            yield from ((fact, new) for fact in same if _may_supersede(new, fact))


def _is_of_one_person(one: Recollection, other: Recollection) -> bool:
    return one.person != "" and one.person == other.person


def _shared_names(script: Assistant, pairs: Sequence[Pair]) -> PersonNames:
    """Names that several people have or had: those whom it met, and those who told the pairs."""
    if not pairs:
        return PersonNames([])
    names = forgetting.met_names(script.pk)
    # A profile has the name of the character met last, and a player may have several.
    tellers = {memory.person for pair in pairs for memory in pair} - {""}
    names |= {person: {*forgetting.name_of(script, person).known} for person in tellers}
    counts = Counter(name for each in names.values() for name in each)
    return PersonNames(name for name, count in counts.items() if count > 1)


def _is_same(one: Recollection, other: Recollection) -> bool:
    return point_of(one.text) == point_of(other.text)


def _may_supersede(new: Recollection, old: Recollection) -> bool:
    """True if the new fact has no less trust, and the old one was not written by a person."""
    return not _is_same(new, old) and old.importance_by != BY_HAND and new.trust >= old.trust


def mark(assistant: int, pairs: Iterable[Pair]) -> None:
    """Mark facts as superseded, in the caller's transaction.

    Their conclusions and sources are marked too, except sources that the replacement also cites.
    Memories that a person wrote or corrected are left unchanged.
    """
    for old, new in pairs:
        keys = {old.key, *old.cites, *forgetting.conclusions(assistant, [old.key])}
        over = rows.current(assistant, key__in=keys - {*new.cites}).exclude(importance_by=BY_HAND)
        rows.supersede(assistant, over, new.at)
        _drop_attribute(assistant, old)


def _drop_attribute(assistant: int, old: Recollection) -> None:
    """Drop attributes from the person's profile that say the same as a superseded fact."""
    # Without a person the filter is `entity=None`, which matches no row.
    for profile in EntityProfile.objects.filter(assistant=assistant, entity=old.person or None):
        # Facts name the person, attributes do not.
        ignored = said_words(str(profile.name))
        remaining = [
            item
            for item in profile.attributes
            if item["audience"] != old.audience or not is_alike(item["text"], old.text, ignored)
        ]
        if remaining != profile.attributes:
            profile.attributes = remaining
            profile.save(update_fields=["attributes"])
