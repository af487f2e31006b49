"""The condition of a memory: its size, its index, and the nights that consolidate it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from django.db.models import Count, Sum
from django.db.models.functions import Length
from evennia.utils import logger
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.consolidation import scheduler
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.memory import indexing, modes
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.opening import STORE
from evennia_ai.models import EntityProfile
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.settings.changing import signed
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import wording

Report = Callable[[int, int], None]
OK, OFF, FAILED = "ok", "off", "failed"
NO_STORE = f"{STORE} is 'none'"


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """The state of a memory, and how far its index has come."""

    enabled: bool
    state: Annotated[str, note("`ok`, `off` or `failed`, as of the game's health.")]
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
    """The number of memories that were read anew."""

    count: int


def memory_status(script: AssistantScript) -> Result[MemoryStatus]:
    """The state of an assistant's memory: how much it holds, and how well it can be searched."""
    found = rows.of(script.pk)
    counted = found.order_by().values_list("kind").annotate(Count("pk"))
    size = found.aggregate(size=Sum(Length("text")))["size"] or 0
    index, now = indexing.status(script), condition_of(script)
    config = state.memory_config(script) if script.work is not None else None
    counts = {str(kind): 0 for kind in MemoryKind} | dict(counted)
    counts[str(MemoryKind.LORE)] = rows.of(rows.SHARED, kind=MemoryKind.LORE).count()
    data = MemoryStatus(
        enabled=bool(config is not None and config.enabled),
        state=now.state,
        counts=counts,
        characters=size,
        people=EntityProfile.objects.filter(assistant=script.pk).count(),
        unremembered=len(state.read(script, "unremembered")),
        waiting=index.waiting,
        removed=index.removed,
        stale=index.stale,
        model=index.model,
        problem=now.problem,
        store=services.memory().status(),
        mode=state.read(script, "operating_mode"),
        last_night=state.read(script, "last_night"),
    )
    return Result(True, "\n".join(_status_lines(script, data)), data)


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of finding memories by their meaning.

    Attributes:
        state: "ok", "off" (as was set) or "failed".
        problem: why not, or "".
    """

    state: str = OK
    problem: str = ""


def condition_of(*scripts: Assistant) -> Condition:
    """The condition of some assistants' memories: of several the first that is not well.

    `assistant`, `assistant status`, `aimemory` and the health of the game all tell this. It costs
    no statement but the first time in each start.
    """
    if problem := services.memory().problem:
        return Condition(OFF if problem.startswith(NO_STORE) else FAILED, problem)
    problems = (indexing.stale_problem(script) for script in scripts if script.work is not None)
    stale = next(filter(None, problems), "")
    return Condition(FAILED, stale) if stale else Condition()


class MemorySummary(TypedDict):
    """A memory in few words, for those who look at the assistant as a whole."""

    state: Annotated[str, note("`ok`, `off` or `failed`.")]
    problem: Annotated[str, note("Why nothing can be found by its meaning now, or empty.")]
    notice: Annotated[str, note("Such as that words alone are compared, or empty.")]
    waiting: Annotated[int, note("Memories that the index has not read, or not taken out, yet.")]
    mode: Annotated[str, note("`awake` or `sleep`.")]


def summary_of(script: AssistantScript) -> MemorySummary:
    """A summary of an assistant's memory."""
    now = condition_of(script)
    return {
        "state": now.state,
        "problem": now.problem,
        "notice": services.memory().notice,
        "waiting": sum(rows.count_waiting(script.pk)),
        "mode": state.read(script, "operating_mode"),
    }


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
            return Result(False, told, Reindexed(count), ProblemKind.UNAVAILABLE)
        return Result(True, text, Reindexed(count))

    return indexing.reindex(script, report).addCallback(told)


BEGUN = "{name}'s memories are being read anew."


@dataclass(frozen=True, slots=True)
class Reindexing:
    """Number of memories the index has still to read; `memory/status/` tells its progress."""

    waiting: int


def begin_reindexing(script: AssistantScript) -> Result[Reindexing]:
    """Let the store read all memories anew, and wait for none of it.

    What is over at once is told, and else how much waits.
    """
    ended: list[Result] = []
    reindex_memories(script).addCallbacks(ended.append, _log)
    if ended and not ended[0].ok:
        return ended[0]
    told = ended[0].message if ended else BEGUN.replace("{name}", str(script.key))
    return Result(True, told, Reindexing(memory_status(script).data.waiting))


def _log(failure: Failure) -> None:
    """Nobody waits for it any more."""
    logger.log_err(f"[assistant] indexing anew failed: {failure.getTraceback()}")


MOST_HOURS = 24.0


@dataclass(frozen=True, slots=True)
class Sleep:
    """An assistant asleep or awake, and what its nights are like."""

    mode: Annotated[str, note("`awake` or `sleep`.")]
    phase: Annotated[str | None, note("What it is at in its sleep.")]
    until: Annotated[str | None, note("When it wakes by itself (ISO 8601).")]
    schedule: dict[str, object]
    night: Annotated[dict[str, object], note("How far this night has come.")]
    last_night: dict[str, object]


@dataclass(frozen=True, slots=True)
class Asleep:
    """The end of a sleep."""

    until: Annotated[str, note("When it wakes by itself (ISO 8601).")]


def sleep_status(script: AssistantScript) -> Result[Sleep]:
    """Sleep and nights of an assistant: until when, and what the last one came to."""
    data = Sleep(
        state.read(script, "operating_mode"),
        state.read(script, "sleep_phase"),
        state.read(script, "scheduled_wake_time"),
        modes.nights(script).model_dump(),
        state.read(script, "consolidation_progress"),
        state.read(script, "last_night"),
    )
    told = sleep_sentence(script)
    night = ", ".join(f"{name} {value}" for name, value in data.last_night.items())
    last = f"The last night: {one_line(night, 300)}" if night else "There was no night yet."
    return Result(True, f"{told} {last}", data)


def sleep_sentence(script: AssistantScript) -> str:
    """A sentence on whether an assistant sleeps, and until or from when."""
    if modes.is_asleep(script):
        until = str(state.read(script, "scheduled_wake_time"))[:16].replace("T", " ")
        return f"{script.key} sleeps until {until} ({state.read(script, 'sleep_phase')})."
    nights = modes.nights(script)
    if not nights.enabled:
        return f"{script.key} is awake, and has no bedtime (sleep_schedule.enabled)."
    hour, hours = nights.sleep_start_hour, nights.sleep_duration_hours
    return f"{script.key} is awake, and sleeps from {hour}:00 on for {hours:g} hours."


def put_to_sleep(
    script: AssistantScript, *, hours: float | None = None, by: str = ""
) -> Result[Asleep]:
    """Put an assistant to sleep.

    Args:
        hours: for how long, up to 24; None: as its schedule says.
    """
    if script.work is None:
        return Result.unavailable(f"{script.key} is not running.")
    if hours is not None and not (0 < hours <= MOST_HOURS):
        return Result.invalid(f"{hours:g} hours cannot be; a night is up to {MOST_HOURS:g} hours.")
    if state.is_stopped(script):
        stopped = Result.conflict(f"{script.key} is stopped")
        return stopped.with_typed(f": assistant emergency clear {script.key}")
    until = modes.hour(script) + timedelta(hours=hours) if hours is not None else None
    with signed(by):
        wakes = scheduler.put_to_sleep(script, "somebody put it to sleep", until=until, by=by)
    script.beat_soon()
    them = wording(script).them
    told = f"{script.key} sleeps until {wakes:%Y-%m-%d %H:%M}, or until somebody speaks to {them}."
    return Result(True, told, Asleep(wakes.isoformat()))


def wake_up(script: AssistantScript, *, by: str = "") -> Result:
    """Wake an assistant. What its night has not done yet, the next one does."""
    if script.work is None:
        return Result.unavailable(f"{script.key} is not running.")
    with signed(by):
        slept = scheduler.wake_up(script, "somebody woke it", by=by)
    if not slept:
        return Result.conflict(f"{script.key} is awake already.")
    script.beat_soon()
    return Result(True, f"{script.key} is awake.")
