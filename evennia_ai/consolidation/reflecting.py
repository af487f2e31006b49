"""Step "reflect": what has come together is thought over, and what follows from it is kept.

A round goes through some audiences, each apart and in a piece of its own: what follows from what
one person said in private is known to that person alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import Count, Max, Sum

from evennia_ai.consolidation import derive_memories
from evennia_ai.consolidation.asking import PutOffError
from evennia_ai.consolidation.night import Night
from evennia_ai.core.memory.extraction import DerivedMemory, read_derived
from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.core.memory.reflection import (
    groups,
    insights_request,
    questions_request,
    read_questions,
)
from evennia_ai.core.safety.audit_events import Fact, fact
from evennia_ai.memory import indexing
from evennia_ai.memory_store import rows
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

MOST_STATEMENTS = 30
EVIDENCE = (MemoryKind.JOURNAL, MemoryKind.FACT, MemoryKind.INSIGHT)

Round = dict[str, Any]
# A conclusion, and what it rests on as it was read.
Rested = list[tuple[Recollection, list[Recollection]]]


async def reflect(night: Night) -> bool:
    """One audience of a round, with which a round may begin and end.

    Returns:
        Whether there was anything to do.
    """
    script = night.script
    reflection = state.read(script, "reflection_state")
    underway: Round | None = reflection.get("round") or _round(script, reflection)
    if underway is None:
        return False
    audience, *others = underway["groups"]
    questions, made = await _think(night, audience, underway)
    if state.read(script, "reflection_state") != reflection:  # somebody was forgotten meanwhile
        night.keep()
        return True
    kept = derive_memories.unknown(script, _as_it_was(script, made))
    told = _told(underway, questions, kept)
    after = _after(reflection, {**underway, "groups": others}, script.clock.seconds())
    write = partial(rows.insert, script.pk, kept)
    counted = {"questions": len(questions), "insights": len(kept)}
    night.keep(told, extra_writes=write, counted=counted, reflection_state=after)
    indexing.soon(script)
    return True


def importance_since(script: Assistant) -> int:
    """The importance that has come together since it last thought things over."""
    since = state.read(script, "reflection_state").get("since", 0)
    return sum(importance for importance, _ in _sums(script, since).values())


def _sums(script: Assistant, since: int) -> dict[str, tuple[int, int]]:
    new = rows.current(script.pk, kind=MemoryKind.JOURNAL, id__gt=since).order_by()
    found = new.values_list("audience").annotate(Sum("importance"), Count("id"))
    return {audience: (importance, count) for audience, importance, count in found}


def _round(script: Assistant, reflection: dict[str, Any]) -> Round | None:
    """A round, where one is due."""
    since = reflection.get("since", 0)
    sums = _sums(script, since)
    named = groups(sums, state.memory_config(script).reflection_threshold)
    if not named:
        return None
    newest = rows.of(script.pk, kind=MemoryKind.JOURNAL).aggregate(newest=Max("id"))["newest"]
    importance = sum(importance for importance, _ in sums.values())
    return {"groups": named, "since": since, "upto": newest, "importance": importance}


def _after(reflection: dict[str, Any], underway: Round, now: float) -> dict[str, Any]:
    """Values to be stored then: the rest of the round, or that a new one begins."""
    if underway["groups"]:
        return {**reflection, "round": underway}
    rest = {name: value for name, value in reflection.items() if name != "round"}
    return {**rest, "since": underway["upto"], "cumulative_importance": 0, "last_reflection": now}


def _told(underway: Round, questions: Sequence[str], kept: Sequence[Recollection]) -> Fact:
    counts = f"{len(questions)} questions, {len(kept)} insights"
    context = f"importance {underway['importance']}, {counts}"
    return fact("ReflectionRecorded", context=context)


async def _think(night: Night, audience: str, underway: Round) -> tuple[list[str], Rested]:
    """The questions about what one audience knows, and what follows of it.

    Raises:
        PutOffError: the model asks nothing.
    """
    script, config = night.script, state.memory_config(night.script)
    new = rows.current(
        script.pk,
        kind=MemoryKind.JOURNAL,
        audience=audience,
        id__gt=underway["since"],
        id__lte=underway["upto"],
    )
    statements = list(new.order_by("-importance", "-id")[:MOST_STATEMENTS])
    if not statements:  # forgotten since the round began
        return [], []
    texts = [row.text for row in statements]
    asked = questions_request(texts, config.reflection_questions)
    questions = read_questions(await night.ask(asked, "reflection"), config.reflection_questions)
    if questions is None:
        raise PutOffError("the model asked no question that could be read")
    found: Rested = []
    for question in questions:
        found += await _conclude(night, question, audience)
    return questions, found


async def _conclude(night: Night, question: str, audience: str) -> Rested:
    """The model's conclusions from what has to do with a question."""
    script = night.script
    evidence = await derive_memories.nearest(
        script,
        question,
        audience,
        kinds=EVIDENCE,
        limit=state.memory_config(script).reflection_evidence,
        fence=night.fence,
    )
    asked = insights_request(question, derive_memories.shown(script, evidence))
    reply = await night.ask(asked, "reflection")
    drawn: list[DerivedMemory] = read_derived(reply, len(evidence), name="insight") or []
    made = derive_memories.memories_of(script, MemoryKind.INSIGHT, drawn, evidence)
    return [
        (memory, [evidence[i] for i in item.cites])
        for item, memory in zip(drawn, made, strict=True)
        if memory is not None
    ]


def _as_it_was(script: Assistant, made: Rested) -> list[Recollection]:
    """Those of which nobody corrected or forgot meanwhile what they rest on; each words once."""
    keys = {source.key for _, sources in made for source in sources}
    there = {key: memory.text for key, memory in rows.by_keys(script.pk, keys).items()}
    found: dict[str, Recollection] = {}
    for memory, sources in made:
        if all(there.get(source.key) == source.text for source in sources):
            found.setdefault(memory.text.casefold(), memory)
    return list(found.values())
