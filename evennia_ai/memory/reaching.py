"""Forgetting one thing, or putting it right, with all that says the same: in one transaction.

What leaves is decided in `core.memory.reaching`; here is how far whoever asks may reach, and the
writing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from evennia_ai.core.memory import reaching as core
from evennia_ai.core.memory.recollection import MemoryKind, Recollection, person_audience
from evennia_ai.core.safety.audit_events import fact
from evennia_ai.memory import indexing
from evennia_ai.memory.consent import names_of
from evennia_ai.memory.forgetting import name_of, theirs
from evennia_ai.memory_store import rows
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

Attributes = dict[int, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Reached:
    """Counts of what left with a memory that was forgotten or put right, itself not counted.

    Attributes:
        facts, entries, insights: memories by their kind.
        attributes: of profiles.
        kept: facts that rested on such an entry, say something else, and stay.
    """

    facts: int = 0
    entries: int = 0
    insights: int = 0
    attributes: int = 0
    kept: int = 0

    @property
    def memories(self) -> int:
        """Rows that left."""
        return self.facts + self.entries + self.insights


@dataclass(frozen=True, slots=True)
class Plan:
    """The reach of a memory: what it takes with it, looked up and not yet written.

    Attributes:
        whom: whose it is; "" of nobody's.
        attributes: those that stay of each profile that loses some, by its number.
        dropped: how many attributes leave.
    """

    script: Assistant
    whom: str
    reach: core.Reach
    attributes: Attributes
    dropped: int

    @property
    def reached(self) -> Reached:
        """The counts in words, for people."""
        kinds = Counter(memory.kind for memory in self.reach.gone)
        return Reached(
            facts=kinds[MemoryKind.FACT],
            entries=kinds[MemoryKind.JOURNAL],
            insights=kinds[MemoryKind.INSIGHT],
            attributes=self.dropped,
            kept=len(self.reach.loosened),
        )

    def write(self) -> None:
        """Let it all leave, but for the memory itself; within a transaction of the caller's."""
        assistant = self.script.pk
        rows.remove(assistant, [memory.key for memory in self.reach.gone])
        for key, cites in self.reach.loosened.items():
            rows.change(assistant, key, cites=list(cites))
        for number, attributes in self.attributes.items():
            EntityProfile.objects.filter(pk=number).update(attributes=attributes)

    def settle(self) -> None:
        """Let nothing tell of it that is only in memory; called when it is stored."""
        if self.script.work is not None:
            self.script.work.tool_cache.clear_all()
            self.script.work.lore = None
        indexing.soon(self.script)


def forget(script: Assistant, memory: Memory, *, why: str, person: str = "") -> Reached:
    """Forget a memory and what it takes with it.

    Args:
        person: who asks, and reaches only what is theirs; "": staff, who reach all that says it.
    """
    plan = _planned(script, rows.values([memory])[0], person)

    def write() -> None:
        rows.remove(script.pk, [memory.key])
        plan.write()

    return _forgotten(plan, write, why)


def forget_attribute(script: Assistant, profile: EntityProfile, text: str, *, why: str) -> Reached:
    """Forget one thing that is known of a being, and all that says it of what is theirs."""
    plan = _planned(script, _as_fact(profile, text), profile.entity, without=text)
    return _forgotten(plan, plan.write, why)


def _forgotten(plan: Plan, write: Callable[[], None], why: str) -> Reached:
    reached = plan.reached
    counts = {"count": 1 + reached.memories, "attributes": reached.attributes}
    told = fact("memories_forgotten", **counts, why=why, person=plan.whom)
    state.write(plan.script, told, extra_writes=write)
    plan.settle()
    return reached


def correct(script: Assistant, memory: Memory, *, person: str = "", **columns: Any) -> Reached:
    """Put a memory right by hand; what said it as it was, and was concluded of that, leaves.

    An entry of the journal is sorted out anew.

    Args:
        person: as of `forget`.
    """
    plan = _planned(script, rows.values([memory])[0], person)
    gone = {each.key for each in plan.reach.gone}
    # What it rested on may leave with it, and would be a reference to nothing.
    cites = [key for key in memory.cites if key not in gone]

    def write() -> None:
        plan.write()
        kept = {
            "importance_by": "manual",
            "is_consolidated": False,
            "cites": cites,
            "superseded_at": None,
        }
        rows.change(script.pk, memory.key, **kept, **columns)

    return _corrected(plan, write, key=memory.key)


def correct_attribute(script: Assistant, profile: EntityProfile, text: str, right: str) -> Reached:
    """Put one thing right that is known of a being; what says it as it was leaves."""
    plan = _planned(script, _as_fact(profile, text), profile.entity, without=text)
    now = next(item for item in profile.attributes if item["text"] == text)
    plan.attributes.setdefault(profile.pk, []).append({**now, "text": right})
    return _corrected(plan, plan.write)


def _corrected(plan: Plan, write: Callable[[], None], **details: Any) -> Reached:
    reached = plan.reached
    counts = {"forgotten": reached.memories, "attributes": reached.attributes}
    told = fact("memory_corrected", **details, person=plan.whom, **counts)
    state.write(plan.script, told, extra_writes=write)
    plan.settle()
    return reached


# ---- how far it reaches ------------------------------------------------------------------------


def _planned(script: Assistant, target: Recollection, person: str, without: str = "") -> Plan:
    """The reach of a memory.

    Args:
        person: who asks; "": staff.
        without: an attribute's text that leaves in any case, where the target stands for that.
    """
    whom = person or target.person
    ignored = core.said_words(" ".join((*names_of(script), *name_of(script, whom).known)))
    resting = rows.values(rows.of(script.pk).exclude(cites=[]))
    near: list[Recollection] = []
    if target.kind != MemoryKind.JOURNAL:
        mine = theirs(whom) if whom else Q(audience=target.audience)
        if not person:
            # Staff reach what it rests on too, whoever said that.
            mine |= Q(key__in=target.cites)
        near = _near(script, target, resting, mine, ignored)
    reach = core.reach(target, near, resting, ignored)
    persons = {whom} if person else {whom, *(memory.person for memory in reach.gone)}
    attributes, dropped = _attributes_left(script, reach, persons, without)
    return Plan(script, whom, reach, attributes, dropped)


def _near(
    script: Assistant,
    target: Recollection,
    resting: Iterable[Recollection],
    mine: Q,
    ignored: frozenset[str],
) -> list[Recollection]:
    """Memories that may say the same, or be its source: one statement, and not every row."""
    word = core.word_to_look_for(target.text, ignored)
    cited = {*target.cites}
    wanted = Q(key__in=cited)
    if word:
        alike = (memory for memory in resting if word in memory.text.casefold())
        cited.update(key for memory in alike for key in memory.cites)
        wanted = Q(key__in=cited) | Q(text__icontains=word)
    return rows.values(rows.of(script.pk).exclude(kind=MemoryKind.LORE).filter(mine & wanted))


def _attributes_left(
    script: Assistant, reach: core.Reach, persons: Collection[str], without: str
) -> tuple[Attributes, int]:
    """The attributes that stay of each profile that loses some, and how many others leave."""
    left, dropped = {}, 0
    profiles = EntityProfile.objects.filter(assistant=script.pk, entity__in=persons)
    for profile in profiles.exclude(attributes=[]):
        others = [item for item in profile.attributes if item["text"] != without]
        stay = [item for item in others if not reach.takes(item["text"])]
        dropped += len(others) - len(stay)
        if len(stay) < len(profile.attributes):
            left[profile.pk] = stay
    return left, dropped


def _as_fact(profile: EntityProfile, text: str) -> Recollection:
    """An attribute as a fact that no row holds."""
    audience = person_audience(profile.entity)
    return Recollection("", MemoryKind.FACT, text, audience, profile.entity)
