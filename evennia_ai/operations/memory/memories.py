"""Memories of an assistant, for staff and its owners.

Private memories are masked; revealing them is recorded, without their words. The state of the
store, its index and the nights are in `upkeep`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from django.db.models import Q, QuerySet
from twisted.internet.defer import Deferred, succeed

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.keys import new_key
from evennia_ai.core.memory.recollection import (
    WORLD,
    MemoryKind,
    Recollection,
    SourceType,
    person_audience,
)
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.safety.persona import about_itself
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.memory import consent, forgetting, reaching, recalling, saving
from evennia_ai.memory.forgetting import filter_of_person
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.models.containing import containing
from evennia_ai.operations.memory.rows import (
    MOST_AT_ONCE,
    Corrected,
    Forgotten,
    ForgottenThing,
    FoundMemories,
    FoundMemory,
    KeptMemory,
    MemoryPage,
    OneRemembered,
    Remembered,
    also_forgotten,
    audience_text,
    cleaned,
    line_of,
    note_viewed,
    problem_of_text,
    rows_of,
    superseded_mark,
)
from evennia_ai.operations.result import Result, number_of, refuse_limit
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.settings.changing import signed
from evennia_ai.operations.times import clock_of
from evennia_ai.runtime import services

# Memories looked up for each that is shown, since private ones are left out afterwards.
OVERSAMPLING = 4
LEAST_SHOWN = 0.005  # a similarity that is shown as at least 1 %


# ---- reading -----------------------------------------------------------------------------------


def list_memories(
    script: AssistantScript,
    *,
    person: str = "",
    kind: str = "",
    text: str = "",
    before: int | None = None,
    after: int = 0,
    limit: int = 20,
    look: PrivateView | None = None,
) -> Result[MemoryPage]:
    """List an assistant's memories, the newest first.

    Args:
        person: only what this person ("*#3") said, or what is private to them.
        kind: only this kind: journal, fact or insight.
        text: only memories with this text in them, in any case.
        before: only memories with a lower number: the `next` of an earlier page.
        after: number of memories to skip.
        limit: number of memories, 1 to 100.
    """
    if kind and kind not in tuple(MemoryKind):
        return Result.invalid(f"{kind!r} is not a kind; there are: {', '.join(MemoryKind)}.")
    if refused := refuse_limit(limit, MOST_AT_ONCE):
        return refused
    look = look or PrivateView()
    memories = _chosen(script, person, kind, text, look)
    count = memories.count()
    page = memories if before is None else memories.filter(pk__lt=before)
    # One more than is shown tells if there is a next page.
    page_rows = list(page.order_by("-pk")[after : after + limit + 1])
    is_more = len(page_rows) > limit
    memory_rows = look.rows(rows_of(page_rows[:limit]))
    note_viewed(script, memory_rows, person)
    look.note(script, "memories")
    data = MemoryPage(memory_rows, count, memory_rows[-1]["number"] if is_more else None)
    lines = [*(line_of(row) for row in memory_rows), *look.hint()] or ["  nothing"]
    head = f"{script.key} remembers {count} of that kind:" if (kind or person or text) else ""
    return Result(True, "\n".join([head or f"{script.key} remembers {count}:", *lines]), data)


def _chosen(
    script: AssistantScript, person: str, kind: str, text: str, look: PrivateView
) -> QuerySet[Memory]:
    memories = rows.of(script.pk, **({"kind": kind} if kind else {}))
    if person:
        memories = memories.filter(filter_of_person(person))
    return searchable(memories, look).filter(containing("text", text)) if text else memories


def show_memory(
    script: AssistantScript, key: str | int, *, look: PrivateView | None = None
) -> Result[OneRemembered]:
    """Show one memory, with those it was concluded from and those concluded from it.

    Args:
        key: its key or its number.
    """
    if (memory := find_memory(script, key)) is None:
        return missing(script, key)
    # Keys that a memory cites are a JSON column, which not every database can search.
    drawn = rows.of(script.pk, kind__in=(MemoryKind.FACT, MemoryKind.INSIGHT)).exclude(cites=[])
    cited_by = [row for row in drawn if memory.key in row.cites]
    cited = rows.of(script.pk, key__in=memory.cites)
    look = look or PrivateView()
    (row,) = look.rows(rows_of([memory]))
    data = OneRemembered(
        memory=row, cites=look.rows(rows_of(cited)), cited_by=look.rows(rows_of(cited_by))
    )
    look.note(script, "memories")
    return Result(True, "\n".join([*_details(row, data), *look.hint()]), data)


def _details(row: Remembered, data: OneRemembered) -> list[str]:
    of_whom = f", of {row['person_name'] or 'someone who is gone'}" if row["person"] else ""
    lines = [
        f"{row['number']}: {row['text']}{superseded_mark(row)}",
        f"  kind       {row['kind']}, {clock_of(row['at'])}",
        f"  source     {row['source_type']}{of_whom}",
        f"  told to    {audience_text(row['audience'], row['place'])}",
        f"  trust      {row['trust']:g}",
        f"  importance {row['importance']} of 10 ({row['importance_by']})",
        f"  tags       {', '.join(row['tags']) or 'none'}",
        f"  key        {row['key']}",
    ]
    for title, others in (("drawn from", data.cites), ("led to", data.cited_by)):
        lines += [f"  {title:<10} {line_of(each).strip()}" for each in others]
    return lines


def find_memory(script: AssistantScript, key: str | int) -> Memory | None:
    """Find a memory by its key or its number."""
    condition, number = Q(key=str(key)), number_of(key)
    if number is not None:
        condition |= Q(pk=number)
    memory: Memory | None = rows.of(script.pk).filter(condition).first()
    return memory


def search_memories(
    script: AssistantScript, query: str, *, limit: int = 10, look: PrivateView | None = None
) -> Deferred[Result[FoundMemories]]:
    """Search memories by meaning, of all people; by words where the store is not available.

    Private memories are found only when they are revealed, since a match would give them away.
    """
    words = cleaned(query)
    if problem := problem_of_text(words):
        return succeed(Result.invalid(f"{problem}."))
    if refused := refuse_limit(limit, MOST_AT_ONCE):
        return succeed(refused)
    look = look or PrivateView()
    sought = limit if look.is_revealing else min(MOST_AT_ONCE, OVERSAMPLING * limit)
    looking = recalling.everything(script, words, limit=sought)
    return looking.addCallback(lambda hits: _found(script, words, hits, limit, look))


def _found(
    script: AssistantScript,
    words: str,
    hits: list[Recollection] | None,
    limit: int,
    look: PrivateView,
) -> Result[FoundMemories]:
    note, problem = "", ""
    similar: dict[str, float | None] = {}
    if hits is None:
        service = services.memory()
        problem = service.absence or service.problem or "it did not answer"
        note = f"The store cannot be searched now ({problem}); these contain the words.\n"
        known = searchable(rows.of(script.pk), look).filter(containing("text", words))
        for each in known.order_by("-pk")[:limit]:
            similar[each.key] = None
    else:
        # The store returns the nearest memories, even if none is near: 0 % would be no find.
        near = (memory for memory in hits if (memory.similarity or 0.0) >= LEAST_SHOWN)
        similar |= {memory.key: memory.similarity for memory in near}
    found_rows = searchable(rows.of(script.pk, key__in=list(similar)), look)
    by_key = {each.key: each for each in found_rows}
    visible_rows = look.rows(rows_of([by_key[key] for key in similar if key in by_key][:limit]))
    memory_rows: list[FoundMemory] = [
        {**row, "similarity": similar[row["key"]]} for row in visible_rows
    ]
    look.note(script, "memories")
    lines = [f"{_percent(row['similarity'])}{line_of(row)}" for row in memory_rows]
    if not lines:
        has_any = rows.of(script.pk).exists()
        lines = [f"{script.key} remembers nothing {'like that' if has_any else 'yet'}."]
    return Result(True, note + "\n".join(lines), FoundMemories(memory_rows, problem))


def searchable(memories: QuerySet[Memory], look: PrivateView) -> QuerySet[Memory]:
    """The memories that a reader may search: without private ones that they may not see."""
    if look.is_revealing:
        return memories
    is_open = ~Q(audience__startswith="person:")
    return memories.filter(is_open | Q(audience=person_audience(look.person)))


def _percent(similarity: float | None) -> str:
    return "" if similarity is None else f"{similarity:>5.0%} "


def missing(script: AssistantScript, key: str | int) -> Result:
    """Refuse a key or number that no memory has."""
    result = Result.not_found(f"{script.key} has no memory {one_line(str(key), 40)}")
    return result.with_typed(f": aimemory {script.key} list")


ADDED = (MemoryKind.FACT, MemoryKind.JOURNAL, MemoryKind.INSIGHT)
OF_ITSELF = "it is about the assistant itself, which belongs in its persona and not in its memory"


def add_memory(
    script: AssistantScript,
    text: str,
    *,
    kind: str = MemoryKind.FACT,
    importance: int = 5,
    trust: float = 0.9,
    tags: Sequence[str] = (),
    by: str = "",
) -> Result[KeptMemory]:
    """Give an assistant a memory by hand, which it may tell everybody."""
    words = cleaned(text)
    checks = (
        (str(kind) in ADDED, f"{kind!r} is not a kind to add; there are: {', '.join(ADDED)}"),
        (1 <= importance <= 10, "importance must be a whole number from 1 to 10"),
        (0 <= trust <= 1, "trust must be a number from 0 to 1"),
        (not about_itself(words, consent.names_of(script)), OF_ITSELF),
    )
    wrong = (message for is_right, message in checks if not is_right)
    if problem := problem_of_text(words) or next(wrong, ""):
        return Result.invalid(f"{script.key} remembers nothing new: {problem}.")
    memory = Recollection(
        key=new_key(),
        kind=str(kind),
        text=words,
        audience=WORLD,
        source_type=SourceType.DIRECT,
        trust=float(trust),
        importance=importance,
        importance_by="manual",
        at=script.clock.seconds(),
        tags=tuple(one_line(str(tag), 40) for tag in tags)[:20],
    )
    with signed(by):
        saving.save(script, [memory], audit_event("memories_kept", count=1, why="given by hand"))
    added = find_memory(script, memory.key)
    assert added is not None
    (row,) = rows_of([added])
    return Result(True, f"{script.key} knows that now, as number {row['number']}.", KeptMemory(row))


def correct_memory(
    script: AssistantScript, key: str | int, text: str, *, by: str = ""
) -> Result[Corrected]:
    """Correct a memory; others that say the old, or were concluded from it, are forgotten."""
    if (memory := find_memory(script, key)) is None:
        return missing(script, key)
    words = cleaned(text)
    of_itself = OF_ITSELF if about_itself(words, consent.names_of(script)) else ""
    if problem := problem_of_text(words) or of_itself:
        return Result.invalid(f"{script.key}: nothing is changed: {problem}.")
    with signed(by):
        reached = reaching.correct(script, memory, text=words)
    changed = find_memory(script, memory.key)
    assert changed is not None
    (row,) = rows_of([changed])
    data = Corrected(reached.memories, **asdict(reached), memory=row)
    message = f"{script.key}: number {memory.pk} is corrected. {also_forgotten(reached)}"
    return Result(True, message.rstrip(), data)


def forget_memory(
    script: AssistantScript, key: str | int, *, by: str = ""
) -> Result[ForgottenThing]:
    """Forget one memory, others that say the same, and those concluded from it."""
    if (memory := find_memory(script, key)) is None:
        return missing(script, key)
    with signed(by):
        reached = reaching.forget(script, memory, why="by hand")
    data = ForgottenThing(1 + reached.memories, **asdict(reached))
    message = f"{script.key} forgot number {memory.pk}. {also_forgotten(reached)}"
    return Result(True, message.rstrip(), data)


def forget_all(script: AssistantScript, *, by: str = "") -> Result[Forgotten]:
    """Forget everything that an assistant remembers, with its profiles, notes and projects."""
    with signed(by):
        count = forgetting.forget_all(script)
    return Result(True, f"{script.key} forgot all memories: {count}.", Forgotten(count))
