"""Facts while awake: one that never sleeps draws them from its journal in a pause, a little a day.

A talk has to be over, or much has to wait; nobody may. The call runs beside the turns, and is one
of a few a day, counted before it is made: what a crash or a stop cuts off was one as well. What
comes of it is stored whole, as by night, so that nothing is lost or there twice.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai.agent import model_outages
from evennia_ai.consolidation import consolidating, extraction
from evennia_ai.consolidation.asking import Asker, fence_of
from evennia_ai.core.memory.profiles import MEETING_SECONDS
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.errors import AssistantError, ConfigurationError, StaleEpochError
from evennia_ai.memory import modes
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.work import Work

# Between two of them, so that a few a day are not used up by the first short talks.
GAP_SECONDS = 3600.0
WHY = "while awake"
# A stop, and a model that is set up wrongly, of which `assistant check` tells.
UNTOLD = (CancelledError, StaleEpochError, ConfigurationError)


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


def _is_quiet(work: Work, now: float) -> bool:
    return all(now - talk.last_at >= MEETING_SECONDS for talk in work.talks.values())


def _today(script: Assistant) -> dict[str, Any]:
    """The calls of this day, and the entries of which no answer could be read."""
    day, known = modes.hour(script).date().isoformat(), state.read(script, "facts_awake")
    return dict(known) if known.get("day") == day else {"day": day, "calls": 0, "skipped": []}


def begin(script: Assistant) -> None:
    """Draw facts from one batch beside all else; it never fails, and can be stopped as a tick."""
    work = script.work
    work.sort_after = script.clock.seconds() + GAP_SECONDS
    running = Deferred.fromCoroutine(_draw(script))
    if not running.called:
        work.resting = running
    running.addBoth(partial(_close, script, work, running))


def _close(script: Assistant, work: Work, running: Deferred[None], outcome: Failure | None) -> None:
    if work.resting is running:
        work.resting = None
    if not isinstance(outcome, Failure) or outcome.check(*UNTOLD):
        return
    if outcome.check(AssistantError):
        why = outcome.getErrorMessage()
        logger.log_warn(f"[assistant] {script.key} draws no facts from its journal now: {why}")
    else:
        logger.log_err(f"[assistant] {script.key}: {outcome.getTraceback()}")


async def _draw(script: Assistant) -> None:
    work, today = script.work, _today(script)
    client = script.client()
    if client.provider_name == "local" or model_outages.is_resting(script):
        return
    work.unsorted = consolidating.count_pending(script)
    if not work.unsorted:
        work.sort_after = script.clock.seconds()  # the next talk need not wait for the hour
    if not consolidating.count_pending(script, today["skipped"]):
        return
    today["calls"] += 1
    state.write(script, facts_awake=today)
    asker = Asker(script, client, fence_of(script))
    skipped = await extraction.draw(
        script, asker, Purpose.FACTS_AWAKE, why=WHY, batches=1, skipped=today["skipped"]
    )
    if skipped != today["skipped"]:
        state.write(script, facts_awake={**today, "skipped": skipped})
    work.unsorted = consolidating.count_pending(script)
