"""Consolidation while awake: extracting facts and reflecting in quiet moments.

It starts after a talk is over, or when many entries have piled up, and never while somebody waits
for an answer. The model calls run beside the turns. Calls per day and lookups are limited, and
counted before the call, so that calls cut off by a crash or a stop count as well. Results are
stored in one transaction, as at night, so that nothing is lost or stored twice.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai.agent import outages, queueing
from evennia_ai.consolidation import consolidating, extraction, reflecting
from evennia_ai.consolidation.night import MemoryWork
from evennia_ai.core.memory.profiles import MEETING_SECONDS
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.errors import AssistantError, ConfigurationError, StaleEpochError
from evennia_ai.memory import modes
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.runtime.work import Work
from evennia_ai.tools.inner_calls import Asker

# Minimum gap, so that the first short talks of a day do not use up the few calls.
GAP_SECONDS = 3600.0
LOOK_UPS = 3  # extra calls for lookups in one round of reflection
WHY = "while awake"
# A stop is no error, and `assistant check` reports a model that is set up wrongly.
NOT_LOGGED = (CancelledError, StaleEpochError, ConfigurationError)


FACTS_FAILED, REFLECTION_FAILED = "draws no facts from its journal", "thinks nothing over"


def is_due(script: Assistant) -> bool:
    """True if facts should be extracted now. Called at every idle beat, so it runs no query."""
    work, now = script.work, script.clock.seconds()
    if work.sort_after is None:
        # After a restart the talks are not known; give them time to go on.
        work.sort_after = now + MEETING_SECONDS
    if work.unsorted == 0 or now < work.sort_after or work.resting or work.compacting:
        return False
    config = state.memory_config(script)
    if not config.enabled or _today(script)["calls"] >= config.awake_calls_per_day:
        return False
    return _is_quiet(work, now) or (work.unsorted or 0) >= consolidating.BATCH


def may_reflect(script: Assistant) -> bool:
    """True if it is time to check for reflection. Runs no query, like `is_due`."""
    work, now = script.work, script.clock.seconds()
    if work.reflect_after is None:
        work.reflect_after = now + MEETING_SECONDS
    if not work.has_news or now < work.reflect_after or work.resting or work.compacting:
        return False
    config = state.memory_config(script)
    if not config.enabled or _today(script)["reflections"] >= config.awake_reflections_per_day:
        return False
    # Assistants that sleep reflect at night, unless an interval is set.
    by_night = modes.sleep_schedule_of(script).enabled and not state.read(
        script, "reflection_interval"
    )
    return not by_night and _is_quiet(work, now)


def _is_quiet(work: Work, now: float) -> bool:
    return all(now - talk.last_at >= MEETING_SECONDS for talk in work.talks.values())


def _today(script: Assistant) -> dict[str, Any]:
    """Today's numbers of calls and reflections, and entries whose answer could not be parsed."""
    day, known = modes.now(script).date().isoformat(), state.read(script, "facts_awake")
    fresh = {"day": day, "calls": 0, "skipped": [], "reflections": 0}
    return {**fresh, **known} if known.get("day") == day else fresh


def begin(script: Assistant) -> None:
    """Start extracting facts from one batch. Errors are logged; a stop cancels it like a tick."""
    script.work.sort_after = script.clock.seconds() + GAP_SECONDS
    _run(script, _draw_facts(script), FACTS_FAILED)


def begin_reflection(script: Assistant) -> None:
    """Start a round of reflection if enough has happened; otherwise like `begin`."""
    script.work.reflect_after = script.clock.seconds() + GAP_SECONDS
    _run(script, _reflect(script), REFLECTION_FAILED)


def _run(script: Assistant, asked: Coroutine[Any, Any, None], what: str) -> None:
    work = script.work
    running = Deferred.fromCoroutine(asked)
    if not running.called:
        work.resting = running
    running.addBoth(partial(_close, script, work, running, what))


def _close(
    script: Assistant, work: Work, running: Deferred[None], what: str, outcome: Failure | None
) -> None:
    # A stop may have cleared it, and a new one may have started since.
    if work.resting is running:
        work.resting = None
    if not isinstance(outcome, Failure) or outcome.check(*NOT_LOGGED):
        return
    if outcome.check(AssistantError):
        why = outcome.getErrorMessage()
        logger.log_warn(f"[assistant] {script.key} {what} now: {why}")
    else:
        logger.log_err(f"[assistant] {script.key}: {outcome.getTraceback()}")


async def _draw_facts(script: Assistant) -> None:
    work, today = script.work, _today(script)
    client, fence = script.client(), Fence.of(script)
    if client.provider_name == "local" or outages.is_resting(script):
        return
    work.unsorted = consolidating.count_pending(script)
    if not work.unsorted:
        work.sort_after = script.clock.seconds()  # nothing was done: no gap for the next talk
    if not consolidating.count_pending(script, today["skipped"]):
        return
    count = partial(_count_call, script)
    count()
    spare = state.memory_config(script).awake_calls_per_day - today["calls"] - 1
    client = services.work().client(fence.run, client)
    asker = Asker(script, client, fence, spare=spare, before_spare=count)
    skipped = await extraction.draw(
        MemoryWork(script, fence, asker),
        ContextType.SLEEP_CONSOLIDATE,
        Purpose.FACTS_AWAKE,
        why=WHY,
        batches=1,
        skipped=today["skipped"],
    )
    if skipped != today["skipped"]:
        state.write(script, facts_awake={**_today(script), "skipped": skipped})
    work.unsorted = consolidating.count_pending(script)


def _count_call(script: Assistant) -> None:
    today = _today(script)
    state.write(script, facts_awake={**today, "calls": today["calls"] + 1})


async def _reflect(script: Assistant) -> None:
    """Do one round of reflection, audience by audience, until a message arrives."""
    client, today = script.client(), _today(script)
    if client.provider_name == "local" or outages.is_resting(script):
        return
    seconds_left = _seconds_left(script)
    threshold = 1 if seconds_left == 0 else state.memory_config(script).reflection_threshold
    if not _is_underway(script) and reflecting.due(script, threshold) is None:
        _postpone(script, seconds_left)
        return
    # Before the first call, so that a crash cannot repeat rounds without end.
    today["reflections"] += 1
    state.write(script, facts_awake=today)
    fence = Fence.of(script)
    client = services.work().client(fence.run, client)
    session = MemoryWork(script, fence, Asker(script, client, fence, spare=LOOK_UPS))
    while await reflecting.reflect(session, threshold) and _is_underway(script):
        if queueing.is_called(script):
            return


def _is_underway(script: Assistant) -> bool:
    return "round" in state.read(script, "reflection_state")


def _seconds_left(script: Assistant) -> float | None:
    """Seconds until the next reflection is due by the interval; None if no interval is set."""
    beats = int(state.read(script, "reflection_interval"))
    if not beats:
        return None
    last = state.read(script, "reflection_state").get("last_reflection")
    seconds: float = beats * state.read(script, "tick_rate")
    return 0.0 if last is None else max(0.0, last + seconds - script.clock.seconds())


def _postpone(script: Assistant, left: float | None) -> None:
    """Check again after the next turn, or when the interval is over."""
    work = script.work
    work.has_news = bool(left)
    if left:
        work.reflect_after = script.clock.seconds() + min(left, GAP_SECONDS)
