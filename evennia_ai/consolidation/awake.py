"""Work with the memories while awake: facts are drawn in a pause, and things are thought over.

A talk has to be over, or much has to wait; nobody may. The calls run beside the turns. How often a
day and how many look-ups are bounded, and counted before anything is asked: what a crash or a stop
cuts off counts as well. What comes of it is stored whole, as by night, so that nothing is lost or
there twice.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai.agent import model_outages, queueing
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

# Between two of them, so that a few a day are not used up by the first short talks.
GAP_SECONDS = 3600.0
LOOK_UPS = 3  # in one round of reflection, beside the call for each answer
WHY = "while awake"
# A stop, and a model that is set up wrongly, of which `assistant check` tells.
UNTOLD = (CancelledError, StaleEpochError, ConfigurationError)


NO_FACTS, NO_THOUGHT = "draws no facts from its journal", "thinks nothing over"


def is_due(script: Assistant) -> bool:
    """True where facts are to be drawn now. Asked of every idle beat: no statement."""
    work, now = script.work, script.clock.seconds()
    if work.sort_after is None:  # a restart ends no talk
        work.sort_after = now + MEETING_SECONDS
    if work.unsorted == 0 or now < work.sort_after or work.resting or work.compacting:
        return False
    config = state.memory_config(script)
    if not config.enabled or _today(script)["calls"] >= config.awake_calls_per_day:
        return False
    return _is_quiet(work, now) or (work.unsorted or 0) >= consolidating.AT_ONCE


def may_reflect(script: Assistant) -> bool:
    """True where it is to look whether to think things over. Asked of every idle beat, as above."""
    work, now = script.work, script.clock.seconds()
    if work.reflect_after is None:
        work.reflect_after = now + MEETING_SECONDS
    if not work.has_news or now < work.reflect_after or work.resting or work.compacting:
        return False
    config = state.memory_config(script)
    if not config.enabled or _today(script)["reflections"] >= config.awake_reflections_per_day:
        return False
    by_night = modes.nights(script).enabled and not state.read(script, "reflection_interval")
    return not by_night and _is_quiet(work, now)


def _is_quiet(work: Work, now: float) -> bool:
    return all(now - talk.last_at >= MEETING_SECONDS for talk in work.talks.values())


def _today(script: Assistant) -> dict[str, Any]:
    """The calls and reflections of this day, and the entries of which no answer could be read."""
    day, known = modes.hour(script).date().isoformat(), state.read(script, "facts_awake")
    fresh = {"day": day, "calls": 0, "skipped": [], "reflections": 0}
    return {**fresh, **known} if known.get("day") == day else fresh


def begin(script: Assistant) -> None:
    """Draw facts from one batch beside all else; it never fails, and can be stopped as a tick."""
    script.work.sort_after = script.clock.seconds() + GAP_SECONDS
    _run(script, _draw(script), NO_FACTS)


def begin_reflection(script: Assistant) -> None:
    """Think over what came together, where that is enough; as `begin`."""
    script.work.reflect_after = script.clock.seconds() + GAP_SECONDS
    _run(script, _reflect(script), NO_THOUGHT)


def _run(script: Assistant, asked: Coroutine[Any, Any, None], what: str) -> None:
    work = script.work
    running = Deferred.fromCoroutine(asked)
    if not running.called:
        work.resting = running
    running.addBoth(partial(_close, script, work, running, what))


def _close(
    script: Assistant, work: Work, running: Deferred[None], what: str, outcome: Failure | None
) -> None:
    # A stop may have cleared it, and something else begun since.
    if work.resting is running:
        work.resting = None
    if not isinstance(outcome, Failure) or outcome.check(*UNTOLD):
        return
    if outcome.check(AssistantError):
        why = outcome.getErrorMessage()
        logger.log_warn(f"[assistant] {script.key} {what} now: {why}")
    else:
        logger.log_err(f"[assistant] {script.key}: {outcome.getTraceback()}")


async def _draw(script: Assistant) -> None:
    work, today = script.work, _today(script)
    client, fence = script.client(), Fence.of(script)
    if client.provider_name == "local" or model_outages.is_resting(script):
        return
    work.unsorted = consolidating.count_pending(script)
    if not work.unsorted:
        work.sort_after = script.clock.seconds()  # the next talk need not wait for the hour
    if not consolidating.count_pending(script, today["skipped"]):
        return
    count = partial(_count_call, script)
    count()
    spare = state.memory_config(script).awake_calls_per_day - today["calls"] - 1
    client = services.work().client(fence.run, client)
    asker = Asker(script, client, fence, spare=spare, before_spare=count)
    skipped = await extraction.draw(
        script,
        asker,
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
    """Think one round over, one audience after the other, until somebody waits."""
    client, today = script.client(), _today(script)
    if client.provider_name == "local" or model_outages.is_resting(script):
        return
    left = _seconds_left(script)
    threshold = 1 if left == 0 else state.memory_config(script).reflection_threshold
    if not _is_underway(script) and reflecting.due(script, threshold) is None:
        _look_later(script, left)
        return
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
    """Seconds until the interval is over since it last thought things over; None: there is none."""
    beats = int(state.read(script, "reflection_interval"))
    if not beats:
        return None
    last = state.read(script, "reflection_state").get("last_reflection")
    seconds: float = beats * state.read(script, "tick_rate")
    return 0.0 if last is None else max(0.0, last + seconds - script.clock.seconds())


def _look_later(script: Assistant, left: float | None) -> None:
    """Look again when something was said, or when the interval is over."""
    work = script.work
    work.has_news = bool(left)
    if left:
        work.reflect_after = script.clock.seconds() + min(left, GAP_SECONDS)
