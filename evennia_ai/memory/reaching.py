"""Forgetting or correcting one memory, with everything that says the same, in one transaction.

`core.memory.reaching` decides what else has to go. This module limits it to what the caller may
change, and writes the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from evennia_ai.core.memory import reaching as core
from evennia_ai.core.memory.recollection import MemoryKind, Recollection, person_audience
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.memory import indexing
from evennia_ai.memory.consent import names_of
from evennia_ai.memory.forgetting import filter_of_person, name_of
from evennia_ai.memory_store import rows
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.models.containing import containing
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

Attributes = dict[int, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Reached:
    """Counts of what was deleted with a memory, without the memory itself.

    Attributes:
        facts, entries, insights: memories by kind.
        kept: facts that cited a deleted entry but say something else, and stay.
    """

    facts: int = 0
    entries: int = 0
    insights: int = 0
    attributes: int = 0
    kept: int = 0

    @property
    def memories(self) -> int:
        """Number of memories deleted."""
        return self.facts + self.entries + self.insights


@dataclass(frozen=True, slots=True)
class Plan:
    """The consequences of forgetting or correcting a memory, computed but not yet written.

    Attributes:
        whom: the person it belongs to; "" for nobody.
        attributes: by profile id, the attributes that stay, for profiles that lose some.
    """

    script: Assistant
    whom: str
    reach: core.Reach
    attributes: Attributes
    dropped: int

    @property
    def reached(self) -> Reached:
        """The counts, for people."""
        kinds = Counter(memory.kind for memory in self.reach.gone)
        return Reached(
            facts=kinds[MemoryKind.FACT],
            entries=kinds[MemoryKind.JOURNAL],
            insights=kinds[MemoryKind.INSIGHT],
            attributes=self.dropped,
            kept=len(self.reach.loosened),
        )

    def write(self) -> None:
        """Delete everything except the memory itself, in the caller's transaction."""
        assistant = self.script.pk
        rows.remove(assistant, [memory.key for memory in self.reach.gone])
        for key, cites in self.reach.loosened.items():
            rows.change(assistant, key, cites=list(cites))
        for number, attributes in self.attributes.items():
            EntityProfile.objects.filter(pk=number).update(attributes=attributes)

    def execute(self, write: Callable[[], None], event: str, **details: Any) -> Reached:
        """Store it with an audit event, and clear caches that may still contain what is gone.

        Args:
            write: calls `write`, and deletes or changes the memory itself.
        """
        reached = self.reached
        facts = {**details, "person": self.whom, "attributes": reached.attributes}
        state.write(self.script, audit_event(event, **facts), extra_writes=write)
        if self.script.work is not None:
            self.script.work.tool_cache.clear_all()
            self.script.work.lore = None
        indexing.soon(self.script)
        return reached


def forget(script: Assistant, memory: Memory, *, why: str, person: str = "") -> Reached:
    """Forget a memory and everything that says the same.

    Args:
        person: the caller, who can only reach their own memories; "" for staff, who reach all.
    """
    plan = _plan(script, rows.values([memory])[0], person)

    def write() -> None:
        rows.remove(script.pk, [memory.key])
        plan.write()

    return _forgotten(plan, write, why)


def forget_attribute(script: Assistant, profile: EntityProfile, text: str, *, why: str) -> Reached:
    """Forget an attribute of a profile, and the being's memories that say the same."""
    plan = _plan(script, _as_fact(profile, text), profile.entity, without=text)
    return _forgotten(plan, plan.write, why)


def _forgotten(plan: Plan, write: Callable[[], None], why: str) -> Reached:
    count = 1 + plan.reached.memories
    return plan.execute(write, "memories_forgotten", count=count, why=why)


def correct(script: Assistant, memory: Memory, *, person: str = "", **columns: Any) -> Reached:
    """Correct a memory. Whatever repeats the old text, or was derived from it, is forgotten.

    A corrected journal entry is consolidated again.

    Args:
        person: as for `forget`.
    """
    plan = _plan(script, rows.values([memory])[0], person)
    gone = {each.key for each in plan.reach.gone}
    # Its sources may be among the deleted memories: drop dangling references.
    cites = [key for key in memory.cites if key not in gone]

    def write() -> None:
        plan.write()
        changed = {
            "importance_by": "manual",
            "is_consolidated": False,
            "cites": cites,
            "superseded_at": None,
        }
        rows.change(script.pk, memory.key, **changed, **columns)

    forgotten = plan.reached.memories
    return plan.execute(write, "memory_corrected", key=memory.key, forgotten=forgotten)


def correct_attribute(script: Assistant, profile: EntityProfile, text: str, right: str) -> Reached:
    """Correct an attribute of a profile. Whatever repeats the old text is forgotten.

    The new text is private to the person, like a corrected memory: otherwise a player could spread
    anything as remembered.
    """
    plan = _plan(script, _as_fact(profile, text), profile.entity, without=text)
    now = next(item for item in profile.attributes if item["text"] == text)
    audience = person_audience(profile.entity)
    plan.attributes.setdefault(profile.pk, []).append({**now, "text": right, "audience": audience})
    return plan.execute(plan.write, "memory_corrected", forgotten=plan.reached.memories)


# ---- how far it reaches ------------------------------------------------------------------------


def _plan(script: Assistant, target: Recollection, person: str, without: str = "") -> Plan:
    """Compute the consequences for a memory.

    Args:
        person: the caller; "" for staff.
        without: text of the attribute that the target stands for, which is deleted in any case.
    """
    whom = person or target.person
    # Names occur in nearly every memory, so they do not make two of them alike.
    ignored = core.said_words(" ".join((*names_of(script), *name_of(script, whom).known)))
    resting = rows.values(rows.of(script.pk).exclude(cites=[]))
    near: list[Recollection] = []
    if target.kind != MemoryKind.JOURNAL:
        mine = filter_of_person(whom) if whom else Q(audience=target.audience)
        if not person:
            # Staff also reach its sources, whoever said them.
            mine |= Q(key__in=target.cites)
        near = _candidates(script, target, resting, mine, ignored)
    reach = core.reach(target, near, resting, ignored)
    persons = {whom} if person else {whom, *(memory.person for memory in reach.gone)}
    attributes, dropped = _attributes_left(script, reach, persons, without)
    return Plan(script, whom, reach, attributes, dropped)


def _candidates(
    script: Assistant,
    target: Recollection,
    resting: Iterable[Recollection],
    mine: Q,
    ignored: frozenset[str],
) -> list[Recollection]:
    """Memories that may say the same or be its source, found by one query with a common word."""
    word = core.word_to_look_for(target.text, ignored)
    cited = {*target.cites}
    condition = Q(key__in=cited)
    if word:
        alike = (memory for memory in resting if word in memory.text.casefold())
        cited.update(key for memory in alike for key in memory.cites)
        condition = Q(key__in=cited) | containing("text", word)
    return rows.values(rows.of(script.pk).exclude(kind=MemoryKind.LORE).filter(mine & condition))


def _attributes_left(
    script: Assistant, reach: core.Reach, persons: Collection[str], without: str
) -> tuple[Attributes, int]:
    """The remaining attributes of each affected profile, and the number deleted."""
    remaining, dropped = {}, 0
    profiles = EntityProfile.objects.filter(assistant=script.pk, entity__in=persons)
    for profile in profiles.exclude(attributes=[]):
        # `without` itself is not counted, like the memory in `Reached`.
        others = [item for item in profile.attributes if item["text"] != without]
        stay = [item for item in others if not reach.takes(item["text"])]
        dropped += len(others) - len(stay)
        if len(stay) < len(profile.attributes):
            remaining[profile.pk] = stay
    return remaining, dropped


def _as_fact(profile: EntityProfile, text: str) -> Recollection:
    """An attribute as a fact without a row, so that it can be compared like one."""
    audience = person_audience(profile.entity)
    return Recollection("", MemoryKind.FACT, text, audience, profile.entity)
