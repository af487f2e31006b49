"""How an assistant's memory is, and letting the store read it anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import Count, Sum
from django.db.models.functions import Length
from twisted.internet.defer import Deferred

from evennia_ai import services, state
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.recollection import MemoryKind
from evennia_ai.core.text import one_line
from evennia_ai.memory import rows
from evennia_ai.memory.opening import STORE
from evennia_ai.models import EntityProfile
from evennia_ai.operations.result import Problem, Result, note
from evennia_ai.remembering import indexing

Report = Callable[[int, int], None]
OK, OFF, FAILED = "ok", "off", "failed"
NO_STORE = f"{STORE} is 'none'"


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """The state of a memory, and how far its index has come."""

    enabled: bool
    counts: Annotated[dict[str, int], note("How many of each kind.")]
    characters: int
    people: Annotated[int, note("Of how many there is a profile.")]
    unremembered: Annotated[int, note("How many want not to be remembered.")]
    waiting: Annotated[int, note("Memories that the index has not read yet.")]
    removed: Annotated[int, note("Forgotten ones that it still has to be rid of.")]
    stale: Annotated[int, note("Memories that it read with another embedding model.")]
    model: Annotated[str, note("The embedding model.")]
    problem: Annotated[str, note("Why nothing can be found by its meaning now, or empty.")]
    store: dict[str, object]
    mode: Annotated[str, note("`awake` or `sleep`.")]
    last_night: dict[str, object]


@dataclass(frozen=True, slots=True)
class Reindexed:
    """How many memories were read anew."""

    count: int


def memory_status(script: AssistantScript) -> Result[MemoryStatus]:
    """The state of an assistant's memory: how much it holds, and how well it can be searched."""
    found = rows.of(script.pk)
    counted = found.order_by().values_list("kind").annotate(Count("pk"))
    size = found.aggregate(size=Sum(Length("text")))["size"] or 0
    index = indexing.status(script)
    config = state.memory_config(script) if script.work is not None else None
    counts = {str(kind): 0 for kind in MemoryKind} | dict(counted)
    counts[str(MemoryKind.LORE)] = rows.of(rows.SHARED, kind=MemoryKind.LORE).count()
    data = MemoryStatus(
        enabled=bool(config is not None and config.enabled),
        counts=counts,
        characters=size,
        people=EntityProfile.objects.filter(assistant=script.pk).count(),
        unremembered=len(state.read(script, "unremembered")),
        waiting=index.waiting,
        removed=index.removed,
        stale=index.stale,
        model=index.model,
        problem=index.problem,
        store=services.memory().status(),
        mode=state.read(script, "operating_mode"),
        last_night=state.read(script, "last_night"),
    )
    return Result(True, "\n".join(_status_lines(script, data)), data)


def summary_of(script: AssistantScript) -> dict[str, Any]:
    """How its memory is, in few words, for those who look at the assistant as a whole.

    Returns:
        "state" ("ok", "off" or "failed"), "problem", "notice" (such as that words alone are
        compared), "waiting" for the index, and "mode" ("awake" or "sleep").
    """
    service, index = services.memory(), indexing.status(script)
    return {
        "state": (state_of_store(), FAILED)[index.stale > 0] if index.problem else OK,
        "problem": index.problem,
        "notice": service.notice,
        "waiting": index.waiting + index.removed,
        "mode": state.read(script, "operating_mode"),
    }


def state_of_store() -> str:
    """Whether memories can be found by their meaning: "ok", "off" (as was set) or "failed"."""
    problem = services.memory().problem
    if problem.startswith(NO_STORE):
        return OFF
    return FAILED if problem else OK


def _status_lines(script: AssistantScript, data: MemoryStatus) -> list[str]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in data.counts.items())
    reindex = f"aimemory {script.key} reindex"
    stale = f"{data.stale} of another model: {reindex}" if data.stale else ""
    waits = f"{data.waiting} waiting, {data.removed} to be taken out"
    lines = [
        f"{script.key}'s memory:" if data.enabled else f"{script.key} remembers nothing new:",
        f"  holds      {kinds}; {data.characters:,} characters",
        f"  people     {data.people} known, {data.unremembered} want not to be remembered",
        f"  index      {'; '.join(filter(None, (data.model or 'no model', waits, stale)))}",
    ]
    if data.problem:
        lines.append(f"  problem    {data.problem}")
    night = ", ".join(f"{name} {value}" for name, value in data.last_night.items())
    return [*lines, f"  night      {one_line(night, 200) or 'none yet'}; now {data.mode}"]


def reindex_memories(
    script: AssistantScript, *, report: Report | None = None
) -> Deferred[Result[Reindexed]]:
    """Let the store read all memories anew, as after a change of the embedding model.

    Args:
        report: told how many of how many are done.
    """

    def told(count: int) -> Result[Reindexed]:
        problem = indexing.status(script).problem
        text = f"{script.key}: {count} memories are read by {indexing.status(script).model}."
        if problem:
            told = f"{text} It ended early: {problem}"
            return Result(False, told, Reindexed(count), Problem.UNAVAILABLE)
        return Result(True, text, Reindexed(count))

    return indexing.reindex(script, report).addCallback(told)
