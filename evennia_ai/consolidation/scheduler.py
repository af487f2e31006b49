"""The sleep schedule: each beat falls asleep, wakes up, or does one piece of the night's work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from types import MappingProxyType

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.python.failure import Failure

from evennia_ai.agent import queueing
from evennia_ai.consolidation import (
    awake,
    consolidating,
    profile_update,
    reflecting,
    scoring,
    tidying,
)
from evennia_ai.consolidation.night import NightWork
from evennia_ai.core.memory import night as rules
from evennia_ai.core.memory.schedule import SleepMove, move_at, night_end
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import AssistantError, ConfigurationError, StaleEpochError
from evennia_ai.memory import modes
from evennia_ai.messages import outgoing
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.runtime.work import Work
from evennia_ai.tools.inner_calls import Asker, PutOffError

LOCAL_MODEL = "the embedded model is asked nothing at night"
NO_BUDGET = "sleep_schedule.token_budget is 0"

# A step: does one piece, stores its results, and returns whether there was anything to do.
Piece = Callable[[NightWork], Awaitable[bool]]

# The order of the steps is in `core.memory.night`.
STEPS: Mapping[str, Piece] = MappingProxyType(
    {
        "score": scoring.score,
        "consolidate": consolidating.consolidate,
        "profiles": profile_update.update_profiles,
        "reflect": reflecting.reflect,
        "compact": tidying.compact,
        "prune": tidying.prune,
        "index": tidying.index,
        "end": tidying.end,
    }
)


# ---- awake or asleep ---------------------------------------------------------------------------


def move_of(script: Assistant) -> SleepMove | None:
    """The next beat's move, or None. Called at every idle beat, so it runs no query."""
    if modes.is_asleep(script):
        has_work = rules.step_of(state.read(script, "consolidation_progress")) is not None
        # Work that started while awake may still be running.
        has_work = has_work and script.work.resting is None
        is_called, is_over = queueing.is_called(script), modes.is_over(script)
        return move_at(is_asleep=True, is_called=is_called, is_over=is_over, has_work=has_work)
    move = None if script.work.aside else _move_awake(script)
    # Asked last, since it looks at everybody who waits, and nearly always there is no move.
    return None if move is not None and queueing.is_called(script) else move


def _move_awake(script: Assistant) -> SleepMove | None:
    """The move of an assistant that is awake and that nobody waits for."""
    schedule = modes.sleep_schedule_of(script)
    # Assistants that sleep extract facts at night.
    if not schedule.enabled and awake.is_due(script):
        return SleepMove.FACTS
    if awake.may_reflect(script):
        return SleepMove.THOUGHT
    if not schedule.enabled or modes.is_talking(script):
        return None
    is_night = night_end(modes.now(script), schedule) is not None
    was_awake = is_night and modes.was_awake(script)
    return move_at(is_asleep=False, is_night=is_night, was_awake=was_awake)


def put_to_sleep(
    script: Assistant, reason: str, *, until: datetime | None = None, by: str = ""
) -> datetime:
    """Put the assistant to sleep like `modes.fall_asleep`, and show it to the room."""
    slept = modes.is_asleep(script)
    wakes_at = modes.fall_asleep(script, reason, until=until, by=by)
    if not slept:
        outgoing.show(script.obj, modes.FALLS_ASLEEP, hops=1)
    return wakes_at


def wake_up(script: Assistant, reason: str, *, by: str = "") -> bool:
    """Wake the assistant like `modes.wake`, and show it to the room. Returns if it was asleep."""
    woke = modes.wake(script, reason, by=by)
    if woke:
        outgoing.show(script.obj, modes.WAKES, hops=1)
    return woke


def rest(script: Assistant) -> Deferred[bool]:
    """Make the beat's move about sleep.

    Returns:
        Whether the beat is done, and no goal is worked on.
    """
    move = move_of(script)
    if move is SleepMove.REST:
        return step(script).addCallback(lambda _: True)
    if move is SleepMove.FACTS:
        awake.begin(script)
    elif move is SleepMove.THOUGHT:
        awake.begin_reflection(script)
    elif move is SleepMove.NIGHT:
        put_to_sleep(script, move.value)
    elif move is not None:
        wake_up(script, move.value)
    return succeed(modes.is_asleep(script))


# ---- a piece of a night ------------------------------------------------------------------------


def step(script: Assistant) -> Deferred[None]:
    """Do one piece of the night's work. Errors are logged; a stop cancels it like a tick."""
    work = script.work
    # Counts as a tick, so that no turn starts beside it.
    work.is_ticking = True
    running = Deferred.fromCoroutine(_piece(script))
    if not running.called:
        work.resting = running
    return running.addBoth(partial(_close, script, work))


def _close(script: Assistant, work: Work, outcome: Failure | None) -> None:
    work.resting, work.is_ticking = None, False
    if isinstance(outcome, Failure) and not outcome.check(CancelledError, StaleEpochError):
        logger.log_err(f"[assistant] {script.key}: {outcome.getTraceback()}")


async def _piece(script: Assistant) -> None:
    night = _start_piece(script)
    while (due := rules.step_of(night.progress)) is not None:
        if await _try_step(night, due):
            return
        night.go_on()
    if night.is_changed:
        # No step stored anything, but some were postponed.
        night.save()


def _start_piece(script: Assistant) -> NightWork:
    progress = state.read(script, "consolidation_progress")
    refusals = progress.get("refused", 0)
    night = NightWork(script, Fence.of(script), refused=refusals, progress=progress)
    budget = modes.sleep_schedule_of(script).token_budget
    try:
        client = script.client()
    except ConfigurationError as error:
        night.absence = str(error)
        return night
    if client.provider_name == "local":
        night.absence = LOCAL_MODEL
    elif budget == 0:
        night.absence = NO_BUDGET
    else:
        client = services.work().client(night.fence.run, client)
        night.asker = Asker(script, client, night.fence, budget, progress["tokens"])
    return night


async def _try_step(night: NightWork, due: rules.NightStep) -> bool:
    """Do a piece of a step, or postpone the step. Returns whether something was done."""
    script = night.script
    if due.needs_memory and not state.memory_config(script).enabled:
        return False
    try:
        return await STEPS[due.name](night)
    except (CancelledError, StaleEpochError):
        raise
    except PutOffError as error:
        why = str(error)
    except AssistantError as error:
        why = str(error)
        # The service is down for the next steps as well: they must not try again in this piece.
        night.asker, night.absence = None, why
        logger.log_warn(f"[assistant] {script.key} sleeps without its model: {why}")
    except Exception as error:
        why = f"internal error: {error!r}"
        logger.log_trace(f"[assistant] {script.key}: step {due.name} of the night failed")
    night.put_off(one_line(why))
    return False
