"""What an assistant remembers, for whoever looks after it.

What is private to somebody may be seen here too; each look at it is recorded, without its words.
Adding, correcting and forgetting is in `memory_changes`, upkeep in `memory_upkeep`.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from twisted.internet.defer import Deferred, succeed

from evennia_ai import services
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.recollection import MemoryKind, Recollection
from evennia_ai.core.text import one_line
from evennia_ai.memory import rows
from evennia_ai.models import Memory
from evennia_ai.operations.memory_rows import (
    MOST_AT_ONCE,
    Row,
    audience_text,
    cleaned,
    line_of,
    note_viewed,
    problem_of_text,
    rows_of,
)
from evennia_ai.operations.result import Problem, Result
from evennia_ai.remembering import indexing, recalling
from evennia_ai.remembering.forgetting import theirs

# ---- looking -----------------------------------------------------------------------------------


def list_memories(
    script: AssistantScript,
    *,
    person: str = "",
    kind: str = "",
    text: str = "",
    before: int | None = None,
    limit: int = 20,
) -> Result:
    """What it remembers, the newest first.

    Args:
        person: only what this person ("*#3") said, or what is private to them.
        kind: only of this kind: journal, fact or insight.
        text: only those with this text in them, in whatever case.
        before: only those with a lower number: the `next` of an earlier answer.
        limit: how many at most, 1 to 100.

    Returns:
        data: "memories", rows; "count" of all that fit, and "next", None where there are no more.
    """
    if kind and kind not in tuple(MemoryKind):
        return invalid(f"{kind!r} is no kind; there are: {', '.join(MemoryKind)}")
    if not 1 <= limit <= MOST_AT_ONCE:
        return invalid(f"{limit} cannot be shown at once; 1 to {MOST_AT_ONCE} can")
    found = rows.of(script.pk, **({"kind": kind} if kind else {}))
    if person:
        found = found.filter(theirs(person))
    if text:
        found = found.filter(text__icontains=text)
    count = found.count()
    page = found if before is None else found.filter(pk__lt=before)
    shown = list(page.order_by("-pk")[: limit + 1])
    is_more = len(shown) > limit
    listed = rows_of(shown[:limit])
    note_viewed(script, listed, person)
    data = {
        "memories": listed,
        "count": count,
        "next": listed[-1]["number"] if is_more else None,
    }
    lines = [line_of(row) for row in listed] or ["  nothing"]
    head = f"{script.key} remembers {count} of that kind:" if (kind or person or text) else ""
    return Result(True, "\n".join([head or f"{script.key} remembers {count}:", *lines]), data)


def show_memory(script: AssistantScript, key: str | int) -> Result:
    """One memory, with why it is believed and what it hangs together with.

    Args:
        key: its key, or its number.

    Returns:
        data: "memory", a row; "cites", "cited_by" and "links", lists of rows.
    """
    memory = find_memory(script, key)
    if memory is None:
        return missing(script, key)
    cited_by = [row for row in _citing(script) if memory.key in row.cites]
    linked = list(rows.of(script.pk, key__in=[*memory.cites, *memory.links]))
    (row,) = rows_of([memory])
    data: dict[str, Any] = {
        "memory": row,
        "cites": rows_of(each for each in linked if each.key in memory.cites),
        "cited_by": rows_of(cited_by),
        "links": rows_of(each for each in linked if each.key in memory.links),
    }
    note_viewed(script, [row, *data["cites"], *data["cited_by"], *data["links"]])
    return Result(True, "\n".join(_details(row, data)), data)


def _details(row: Row, data: dict[str, Any]) -> list[str]:
    lines = [
        f"{row['number']}: {row['text']}",
        f"  kind       {row['kind']}, {row['at'][:19].replace('T', ' ')}",
        f"  source     {row['source_type']}{_of(row)}",
        f"  told to    {audience_text(row['audience'], row['place'])}",
        f"  trust      {row['trust']:g}",
        f"  importance {row['importance']} of 10 ({row['importance_by']})",
        f"  tags       {', '.join(row['tags']) or 'none'}",
        f"  key        {row['key']}",
    ]
    for name, title in (("cites", "drawn from"), ("cited_by", "led to"), ("links", "beside")):
        lines += [f"  {title:<10} {line_of(each).strip()}" for each in data[name]]
    return lines


def _of(row: Row) -> str:
    return f", of {row['person_name'] or 'somebody who is gone'}" if row["person"] else ""


def _citing(script: AssistantScript) -> list[Memory]:
    return list(
        rows.of(script.pk, kind__in=(MemoryKind.FACT, MemoryKind.INSIGHT)).exclude(cites=[])
    )


def find_memory(script: AssistantScript, key: str | int) -> Memory | None:
    """A memory by its key, or by its number."""
    text = str(key)
    wanted = Q(key=text)
    if text.isdecimal() and len(text) < 19:
        wanted |= Q(pk=int(text))
    found: Memory | None = rows.of(script.pk).filter(wanted).first()
    return found


def search_memories(script: AssistantScript, query: str, *, limit: int = 10) -> Deferred[Result]:
    """What is most alike to a text, of whomever; by words where the store cannot be asked.

    Returns:
        data: "memories", rows with "similarity" besides, None where it was found by words, and
        "problem": why the store could not be asked, or "".
    """
    words = cleaned(query)
    if problem := problem_of_text(words):
        return succeed(invalid(problem))
    if not 1 <= limit <= MOST_AT_ONCE:
        return succeed(invalid(f"{limit} cannot be shown at once; 1 to {MOST_AT_ONCE} can"))
    looking = recalling.everything(script, words, limit=limit)
    return looking.addCallback(lambda found: _found(script, words, found, limit))


def _found(
    script: AssistantScript, words: str, found: list[Recollection] | None, limit: int
) -> Result:
    note, problem = "", ""
    similar: dict[str, float | None] = {}
    if found is None:
        problem = indexing.problem(script) or services.memory().problem or "it did not answer"
        note = f"The store cannot be asked now ({problem}); these have the words in them.\n"
        for each in rows.of(script.pk, text__icontains=words).order_by("-pk")[:limit]:
            similar[each.key] = None
    else:
        similar |= {memory.key: memory.similarity for memory in found}
    kept = {each.key: each for each in rows.of(script.pk, key__in=list(similar))}
    listed = rows_of(kept[key] for key in similar if key in kept)
    for row in listed:
        row["similarity"] = similar[row["key"]]
    note_viewed(script, listed)
    lines = [f"{_percent(row['similarity'])}{line_of(row)}" for row in listed]
    if not lines:
        has_any = rows.of(script.pk).exists()
        lines = [f"{script.key} remembers nothing {'like that' if has_any else 'yet'}."]
    data = {"memories": listed, "problem": problem}
    return Result(True, note + "\n".join(lines), data)


def _percent(similarity: float | None) -> str:
    return "" if similarity is None else f"{similarity:>5.0%} "


def invalid(told: str) -> Result:
    """What was given makes no sense."""
    return Result(False, f"{told}.")


def missing(script: AssistantScript, key: str | int) -> Result:
    """There is no such memory."""
    told = f"{script.key} has no memory {one_line(str(key), 40)}: aimemory {script.key} list"
    return Result(False, told, problem=Problem.MISSING)
