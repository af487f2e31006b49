"""Reflection: derives insights from what has happened since the last round.

At night it is the step "reflect"; by day it runs in quiet moments (`consolidation.awake`).

A round covers several audiences, one per piece: insights from a person's private words are known to
that person only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db.models import Count, Max, Sum

from evennia_ai.consolidation import derive_memories
from evennia_ai.consolidation.night import MemoryWork
from evennia_ai.core.memory.extraction import DerivedMemory, read_derived, read_lines
from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.core.memory.reflection import groups, insights_request, questions_request
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.memory import indexing
from evennia_ai.memory.evidence import ShownMemories, dated_memories, nearest
from evennia_ai.memory_store import rows
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tools.inner_calls import PutOffError

MOST_STATEMENTS = 30
EVIDENCE = (MemoryKind.JOURNAL, MemoryKind.FACT, MemoryKind.INSIGHT)

UNREAD = "the model asked no question that could be read"

Round = dict[str, Any]
# Insights, each with its sources as the model was shown them.
Conclusions = list[tuple[Recollection, list[Recollection]]]


async def reflect(session: MemoryWork, threshold: int | None = None) -> bool:
    """Process one audience, starting a round if none is running.

    Args:
        threshold: total importance that starts a round; None: from `memory_config`.

    Raises:
        PutOffError: no question could be parsed.
    """
    script = session.script
    reflection = state.read(script, "reflection_state")
    underway: Round | None = reflection.get("round") or due(script, threshold)
    if underway is None:
        return False
    audience, *others = underway["groups"]
    questions, conclusions = await _reflect_on(session, audience, underway)
    if questions is None:
        _put_last(session, reflection, underway)
        raise PutOffError(UNREAD)
    if state.read(script, "reflection_state") != reflection:
        # It was reset during the calls, as when all memories are forgotten: drop the results.
        session.save()
        return True
    insights = derive_memories.without_known(script, _still_grounded(script, conclusions))
    sizes = f"{counted(len(questions), 'questions')}, {counted(len(insights), 'insights')}"
    context = f"importance {underway['importance']}, {sizes}"
    keys = [memory.key for memory in insights]
    event = audit_event("ReflectionRecorded", context=context, keys=keys)
    after = _next_state(reflection, {**underway, "groups": others}, script.clock.seconds())
    write = partial(rows.insert, script.pk, insights)
    counts = {"questions": len(questions), "insights": len(insights)}
    session.save(event, extra_writes=write, counted=counts, reflection_state=after)
    indexing.soon(script)
    return True


def _put_last(session: MemoryWork, reflection: Mapping[str, object], underway: Round) -> None:
    """Let an audience that brought no question wait behind the others; the second time, drop it."""
    if state.read(session.script, "reflection_state") != reflection:
        return  # reset during the call
    audience, *others = underway["groups"]
    unread = underway.get("unread", [])
    # Tried without end, it would keep every later round from beginning.
    groups_left = others if audience in unread else [*others, audience]
    after = {**underway, "groups": groups_left, "unread": [*unread, audience]}
    now = session.script.clock.seconds()
    session.save(reflection_state=_next_state(reflection, after, now))


def importance_since(script: Assistant) -> int:
    """The total importance of entries since the last round."""
    since = state.read(script, "reflection_state").get("since", 0)
    return sum(importance for importance, _ in _sums(script, since).values())


def _sums(script: Assistant, since: int) -> dict[str, tuple[int, int]]:
    new = rows.current(script.pk, kind=MemoryKind.JOURNAL, id__gt=since).order_by()
    sums = new.values_list("audience").annotate(Sum("importance"), Count("id"))
    return {audience: (importance, count) for audience, importance, count in sums}


def due(script: Assistant, threshold: int | None = None) -> Round | None:
    """A new round, or None if it is not due yet; see `reflect`."""
    since = state.read(script, "reflection_state").get("since", 0)
    sums = _sums(script, since)
    if threshold is None:
        threshold = state.memory_config(script).reflection_threshold
    audiences = groups(sums, threshold)
    if not audiences:
        return None
    # Entries written during the round belong to the next one.
    newest = rows.of(script.pk, kind=MemoryKind.JOURNAL).aggregate(newest=Max("id"))["newest"]
    importance = sum(importance for importance, _ in sums.values())
    return {"groups": audiences, "since": since, "upto": newest, "importance": importance}


def _next_state(reflection: Mapping[str, object], underway: Round, now: float) -> dict[str, Any]:
    """The reflection state after a piece: the rest of the round, or its end."""
    if underway["groups"]:
        return {**reflection, "round": underway}
    rest = {name: value for name, value in reflection.items() if name != "round"}
    return {**rest, "since": underway["upto"], "cumulative_importance": 0, "last_reflection": now}


async def _reflect_on(
    session: MemoryWork, audience: str, underway: Round
) -> tuple[list[str] | None, Conclusions]:
    """Let the model ask questions about one audience's entries, and answer them.

    Returns:
        The questions, None if none could be parsed, and the insights.
    """
    script, config = session.script, state.memory_config(session.script)
    new = rows.current(
        script.pk,
        kind=MemoryKind.JOURNAL,
        audience=audience,
        id__gt=underway["since"],
        id__lte=underway["upto"],
    )
    statements = list(new.order_by("-importance", "-id")[:MOST_STATEMENTS])
    if not statements:  # forgotten since the round started
        return [], []
    request = questions_request([row.text for row in statements], config.reflection_questions)
    evidence = ShownMemories(script, session.fence, audience, rows.values(statements))
    reply = await session.ask(request, ContextType.REFLECTION, Purpose.REFLECTION, evidence)
    questions = read_lines(reply, config.reflection_questions)
    conclusions: Conclusions = []
    for question in questions or ():
        conclusions += await _conclude(session, question, audience)
    return questions, conclusions


async def _conclude(session: MemoryWork, question: str, audience: str) -> Conclusions:
    """Let the model answer a question from the nearest memories."""
    script = session.script
    near = await nearest(
        script,
        question,
        audience,
        kinds=EVIDENCE,
        limit=state.memory_config(script).reflection_evidence,
        fence=session.fence,
    )
    request = insights_request(question, dated_memories(script, near))
    evidence = ShownMemories(script, session.fence, audience, near)
    reply = await session.ask(request, ContextType.REFLECTION_CONT, Purpose.REFLECTION, evidence)
    drawn: list[DerivedMemory] = read_derived(reply, len(near), name="insight") or []
    memories = derive_memories.memories_of(script, MemoryKind.INSIGHT, drawn, near)
    return [
        (memory, [near[i] for i in item.cites])
        for item, memory in zip(drawn, memories, strict=True)
        if memory is not None
    ]


def _still_grounded(script: Assistant, made: Conclusions) -> list[Recollection]:
    """Insights whose sources were not corrected or forgotten in the meantime, without repeats."""
    keys = {source.key for _, sources in made for source in sources}
    there = {key: memory.text for key, memory in rows.by_keys(script.pk, keys).items()}
    grounded: dict[str, Recollection] = {}
    for memory, sources in made:
        if all(there.get(source.key) == source.text for source in sources):
            grounded.setdefault(memory.text.casefold(), memory)
    return list(grounded.values())
