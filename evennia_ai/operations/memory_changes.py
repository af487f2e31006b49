"""Adding to what an assistant remembers by hand, putting it right, and forgetting it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.memory.recollection import WORLD, MemoryKind, Recollection, SourceType
from evennia_ai.core.safety.audit_events import fact
from evennia_ai.core.safety.persona import about_itself
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.memory import consent, forgetting, keeping, reaching
from evennia_ai.memory_store import rows
from evennia_ai.operations.configuring import signed
from evennia_ai.operations.memories import find_memory, invalid, missing
from evennia_ai.operations.memory_rows import (
    Corrected,
    Forgotten,
    ForgottenThing,
    Kept,
    cleaned,
    left_with,
    problem_of_text,
    rows_of,
)
from evennia_ai.operations.result import Result

ADDED = (MemoryKind.FACT, MemoryKind.JOURNAL, MemoryKind.INSIGHT)
OF_ITSELF = "it tells of the assistant itself, which belongs in its persona and not in its memory"


def add_memory(
    script: AssistantScript,
    text: str,
    *,
    kind: str = MemoryKind.FACT,
    importance: int = 5,
    trust: float = 0.9,
    tags: Sequence[str] = (),
    by: str = "",
) -> Result[Kept]:
    """Let an assistant know something, which it may tell everybody."""
    words = cleaned(text)
    given = (str(kind) in ADDED, f"{kind!r} is no kind to add; there are: {', '.join(ADDED)}")
    checks = (
        (not problem_of_text(words), problem_of_text(words)),
        given,
        (_is_whole(importance, 1, 10), "importance must be a whole number from 1 to 10"),
        (_is_part(trust), "trust must be a number from 0 to 1"),
        (not about_itself(words, consent.names_of(script)), OF_ITSELF),
    )
    if problem := next((told for is_right, told in checks if not is_right), ""):
        return invalid(f"{script.key} remembers nothing new: {problem}")
    memory = Recollection(
        key=rows.new_key(),
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
        keeping.keep(script, [memory], fact("memories_kept", count=1, why="given by hand"))
    added = find_memory(script, memory.key)
    assert added is not None
    (row,) = rows_of([added])
    return Result(True, f"{script.key} knows that now, as number {row['number']}.", Kept(row))


def _is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_part(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 <= value <= 1


def correct_memory(
    script: AssistantScript, key: str | int, text: str, *, by: str = ""
) -> Result[Corrected]:
    """Put a memory right. What said it as it was, and was concluded from that, is forgotten."""
    memory = find_memory(script, key)
    if memory is None:
        return missing(script, key)
    words = cleaned(text)
    of_itself = OF_ITSELF if about_itself(words, consent.names_of(script)) else ""
    if problem := problem_of_text(words) or of_itself:
        return invalid(f"{script.key}: nothing is changed: {problem}")
    with signed(by):
        reached = reaching.correct(script, memory, text=words)
    changed = find_memory(script, memory.key)
    assert changed is not None
    (row,) = rows_of([changed])
    data = Corrected(reached.memories, **asdict(reached), memory=row)
    told = f"{script.key}: number {memory.pk} is put right. {left_with(reached)}"
    return Result(True, told.rstrip(), data)


def forget_memory(
    script: AssistantScript, key: str | int, *, by: str = ""
) -> Result[ForgottenThing]:
    """Forget one memory, with what says the same, and what was concluded from it."""
    memory = find_memory(script, key)
    if memory is None:
        return missing(script, key)
    with signed(by):
        reached = reaching.forget(script, memory, why="by hand")
    data = ForgottenThing(1 + reached.memories, **asdict(reached))
    told = f"{script.key} forgot number {memory.pk}. {left_with(reached)}"
    return Result(True, told.rstrip(), data)


def forget_all(script: AssistantScript, *, by: str = "") -> Result[Forgotten]:
    """Forget all that this assistant remembers, its profiles, notes and projects among it."""
    with signed(by):
        count = forgetting.forget_all(script)
    return Result(True, f"{script.key} forgot all memories: {count}.", Forgotten(count))
