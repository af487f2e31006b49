"""The state of an assistant's memory: its size, its index, and the nights that consolidate it."""

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
from evennia_ai.core.memory.night import summary
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.core.text.words import counted
from evennia_ai.memory import indexing, modes
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.opening import STORE
from evennia_ai.models import EntityProfile
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.settings.changing import signed
from evennia_ai.operations.times import as_shown
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import wording

Report = Callable[[int, int], None]
OK, OFF, FAILED = "ok", "off", "failed"
NO_STORE = f"{STORE} is 'none'"
UNITS = {
    "journal": "journal entries",
    "fact": "facts",
    "insight": "insights",
    "lore": "lore entries",
}


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """The state of an assistant's memory, and the progress of its index."""

    enabled: bool
    state: Annotated[str, note("`ok`, `off` or `failed`, as in the game's health report.")]
    counts: Annotated[dict[str, int], note("Number of memories of each kind.")]
    characters: int
    people: Annotated[int, note("Number of people with a profile.")]
    unremembered: Annotated[int, note("Number of people who do not want to be remembered.")]
    waiting: Annotated[int, note("Number of memories that are not indexed yet.")]
    removed: Annotated[int, note("Number of deleted memories that are still in the index.")]
    stale: Annotated[int, note("Number of memories indexed with another embedding model.")]
    model: Annotated[str, note("Name of the embedding model.")]
    problem: Annotated[str, note("Why search by meaning is not possible now, or empty.")]
    store: dict[str, object]
    mode: Annotated[str, note("`awake` or `sleep`.")]
    last_night: dict[str, object]


def memory_status(script: AssistantScript) -> Result[MemoryStatus]:
    """Report an assistant's memory: its size, and the state of its index."""
    memories = rows.of(script.pk)
    by_kind = memories.order_by().values_list("kind").annotate(Count("pk"))
    size = memories.aggregate(size=Sum(Length("text")))["size"] or 0
    index, now = indexing.status(script), condition_of(script)
    config = state.memory_config(script) if script.work is not None else None
    counts = {str(kind): 0 for kind in MemoryKind} | dict(by_kind)
    # All lore that it can be told, which is the game's, not only that of its own card.
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
    """The state of the search of memories by meaning.

    Attributes:
        state: "ok", "off" (by the settings) or "failed".
        problem: reason why it does not work, or "".
    """

    state: str = OK
    problem: str = ""


def condition_of(*scripts: Assistant) -> Condition:
    """The condition of the memory of some assistants: the first problem among them.

    `assistant`, `assistant status`, `aimemory` and the game's health all report this. It costs no
    query except for the first call after a start.
    """
    # A store that settings switch off is not a failure.
    if problem := services.memory().problem:
        return Condition(OFF if problem.startswith(NO_STORE) else FAILED, problem)
    stale = indexing.stale_problem(*(script for script in scripts if script.work is not None))
    return Condition(FAILED, stale) if stale else Condition()


class MemorySummary(TypedDict):
    """The state of a memory in brief, as a part of an assistant's status."""

    state: Annotated[str, note("`ok`, `off` or `failed`.")]
    problem: Annotated[str, note("Why search by meaning is not possible now, or empty.")]
    notice: Annotated[str, note("A restriction, such as search by words only, or empty.")]
    waiting: Annotated[
        int, note("Number of memories still to be added to or removed from the index.")
    ]
    mode: Annotated[str, note("`awake` or `sleep`.")]


def summary_of(script: AssistantScript) -> MemorySummary:
    """Summarize the state of an assistant's memory."""
    now = condition_of(script)
    return {
        "state": now.state,
        "problem": now.problem,
        "notice": services.memory().notice,
        "waiting": sum(rows.count_waiting(script.pk)),
        "mode": state.read(script, "operating_mode"),
    }


def _status_lines(script: AssistantScript, data: MemoryStatus) -> list[str]:
    kinds = ", ".join(counted(count, UNITS[kind]) for kind, count in data.counts.items())
    reindex = f"aimemory {script.key} reindex"
    stale = f"{data.stale} of another model: {reindex}" if data.stale else ""
    waits = f"{data.waiting} waiting, {data.removed} to be removed"
    lines = [
        f"{script.key}'s memory:" if data.enabled else f"{script.key} remembers nothing new:",
        f"  holds      {kinds}; {data.characters:,} characters",
        f"  people     {data.people} known, {data.unremembered} do not want to be remembered",
        f"  index      {'; '.join(filter(None, (data.model or 'no model', waits, stale)))}",
    ]
    if data.problem:
        lines.append(f"  problem    {data.problem}")
    night = _last_night(script) or "none completed yet"
    return [*lines, f"  night      {night}; now {script.silence_for_staff or modes.mood(script)}"]


def _last_night(script: AssistantScript) -> str:
    """The end of the last completed night and its results; "" before the first."""
    last = state.read(script, "last_night")
    return f"{as_shown(last['at'])}: {summary(last)}" if "at" in last else ""


def reindex_memories(
    script: AssistantScript, *, report: Report | None = None
) -> Deferred[Result[int]]:
    """Index all memories again, such as after a change of the embedding model.

    Args:
        report: called with the number done and the number of all.

    Returns:
        The number of memories that were indexed.
    """

    def done(count: int) -> Result[int]:
        status = indexing.status(script)
        problem = status.problem
        text = f"{script.key}: {counted(count, 'memories')} indexed by {status.model}."
        if problem:
            text = f"{text} It ended early: {problem}"
            return Result(False, text, count, ProblemKind.UNAVAILABLE)
        return Result(True, text, count)

    return indexing.reindex(script, report).addCallback(done)


BEGUN = "{name}'s memories are being indexed anew."


@dataclass(frozen=True, slots=True)
class Reindexing:
    """The number of memories still to be indexed; `memory/status/` shows the progress."""

    waiting: int


def begin_reindexing(script: AssistantScript) -> Result[Reindexing]:
    """Start indexing all memories again, without waiting for the end.

    Where it ends at once, such as by an error, the result says so; else how many are waiting.
    """
    # Filled before the next line where the Deferred has fired already, as on a store that is down.
    results: list[Result] = []
    reindex_memories(script).addCallbacks(results.append, _log)
    if results and not results[0].ok:
        return results[0]
    message = results[0].message if results else BEGUN.replace("{name}", str(script.key))
    return Result(True, message, Reindexing(memory_status(script).data.waiting))


def _log(failure: Failure) -> None:
    # The caller has its answer already, so the log is the only place for an error.
    logger.log_err(f"[assistant] indexing anew failed: {failure.getTraceback()}")


MOST_HOURS = 24.0  # of one sleep


@dataclass(frozen=True, slots=True)
class Sleep:
    """An assistant's sleep: its present state, its schedule, and its last night."""

    mode: Annotated[str, note("`awake` or `sleep`.")]
    phase: Annotated[str | None, note("Phase of its sleep, or empty.")]
    until: Annotated[str | None, note("Time at which it wakes by itself (ISO 8601).")]
    schedule: dict[str, object]
    night: Annotated[dict[str, object], note("Progress of this night.")]
    last_night: dict[str, object]


@dataclass(frozen=True, slots=True)
class Asleep:
    """The time at which a sleep ends."""

    until: Annotated[str, note("Time at which it wakes by itself (ISO 8601).")]


def sleep_status(script: AssistantScript) -> Result[Sleep]:
    """Report an assistant's sleep: its present state, its schedule, and its last night."""
    data = Sleep(
        state.read(script, "operating_mode"),
        state.read(script, "sleep_phase"),
        state.read(script, "scheduled_wake_time"),
        modes.sleep_schedule_of(script).model_dump(),
        state.read(script, "consolidation_progress"),
        state.read(script, "last_night"),
    )
    now = sleep_sentence(script)
    night = _last_night(script)
    last = f"The last night ended {night}." if night else "No night has been completed yet."
    return Result(True, f"{now} {last}", data)


def sleep_sentence(script: AssistantScript) -> str:
    """A sentence that says if an assistant sleeps, and until or from when."""
    if modes.is_asleep(script):
        until = str(state.read(script, "scheduled_wake_time"))[:16].replace("T", " ")
        return f"{script.key} sleeps until {until} ({state.read(script, 'sleep_phase')})."
    nights = modes.sleep_schedule_of(script)
    if not nights.enabled:
        return f"{script.key} is awake, and has no sleep schedule (sleep_schedule.enabled)."
    hour, hours = nights.sleep_start_hour, nights.sleep_duration_hours
    return f"{script.key} is awake, and sleeps from {hour}:00 on for {hours:g} hours."


def put_to_sleep(
    script: AssistantScript, *, hours: float | None = None, by: str = ""
) -> Result[Asleep]:
    """Put an assistant to sleep.

    Args:
        hours: duration, up to 24; None: by its schedule.
    """
    if script.work is None:
        return Result.unavailable(f"{script.key} is not running.")
    if hours is not None and not (0 < hours <= MOST_HOURS):
        return Result.invalid(
            f"A night cannot have {hours:g} hours; it has at most {MOST_HOURS:g}."
        )
    if state.is_stopped(script):
        stopped = Result.conflict(f"{script.key} is stopped")
        return stopped.with_typed(f": assistant emergency clear {script.key}")
    # Nights are kept in the time zone of the game, by which their schedule is set.
    until = modes.now(script) + timedelta(hours=hours) if hours is not None else None
    with signed(by):
        wakes = scheduler.put_to_sleep(script, "someone put it to sleep", until=until, by=by)
    script.beat_soon()
    them = wording(script).them
    until_when = f"until {wakes:%Y-%m-%d %H:%M}, or until someone speaks to {them}"
    return Result(True, f"{script.key} sleeps {until_when}.", Asleep(wakes.isoformat()))


def wake_up(script: AssistantScript, *, by: str = "") -> Result:
    """Wake an assistant; the next night does what this one has not done yet."""
    if script.work is None:
        return Result.unavailable(f"{script.key} is not running.")
    with signed(by):
        slept = scheduler.wake_up(script, "someone woke it", by=by)
    if not slept:
        return Result.conflict(f"{script.key} is already awake.")
    script.beat_soon()
    return Result(True, f"{script.key} is awake.")
