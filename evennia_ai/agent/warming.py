"""Warming up the demo brain: it reads the beginning of each prompt before anybody asks.

The model caches what it has read of a prompt, so that the first answer comes as fast as the second.
Nobody waits or pays for this, and errors show at the first question anyway. The model reads one
prompt at a time, so assistants are warmed one by one, and a real question goes first. The vectors
that lines are compared with are made meanwhile, by another model.
"""

from __future__ import annotations

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.python.failure import Failure

from evennia_ai.agent import preparation
from evennia_ai.core.memory.asked import UNASKED
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.core.turn.conversation import user_message
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import CircuitOpenError, ConfigurationError, ModelError
from evennia_ai.llm import local
from evennia_ai.memory import grounding
from evennia_ai.prompts import stable_head
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tool_execution import specs_of_game

# Assistants warmed per process; each takes about four seconds of both cores of a small machine.
MOST_WARMED = 4
GREETING = "hello"
# Texts, and as many questions, compared at once: a real question waits a quarter of a second for
# that. On a busy machine a portion may miss its deadline, and is tried again.
PORTION, MOST_TRIES = 10, 5
_warmed: set[int] = set()  # primary keys of scripts
_running: list[Deferred[None]] = []
_reading: list[Deferred[Reply]] = []  # model calls, which a real question cancels
_one_at_a_time = DeferredLock()


def begin(script: Assistant) -> Deferred[None] | None:
    """Let the demo brain read the beginning of an assistant's prompts, in the background.

    Returns:
        Fires when that is done. None where there is nothing to warm: another model answers, the
        weights are not downloaded yet, or enough assistants were warmed in this process.
    """
    if script.pk in _warmed or len(_warmed) >= MOST_WARMED or script.silence:
        return None
    try:
        is_small = script.endpoint().is_local
    except ConfigurationError:
        return None
    if not is_small or not (local.is_installed() and local.has_weights()):
        return None
    _warmed.add(script.pk)
    warming = Deferred.fromCoroutine(_warm(script))
    _running.append(warming)
    return warming.addErrback(_log_failure, script).addBoth(lambda _: _running.remove(warming))


def give_way() -> None:
    """Cancel reading ahead: a real question comes."""
    for reading in tuple(_reading):
        reading.cancel()


async def _warm(script: Assistant) -> None:
    """Read the head of its prompts, and what its lines are compared with."""
    await _one_at_a_time.acquire()
    try:
        await _read_ahead(script)
    finally:
        _one_at_a_time.release()


async def _read_ahead(script: Assistant) -> None:
    client = services.pool().trial_client(script.endpoint())
    hint = UNASKED if preparation.is_small(client) else ""
    inputs = preparation.prompt_inputs(script, client, ContextType.TICK_EVENT, hint=hint)
    head = stable_head(inputs, Turn(script.work.epoch, (), (), []), specs_of_game())
    reading = client.chat_completion([*head, user_message(GREETING)], max_tokens=1)
    _reading.append(reading)
    try:
        await _compare_ahead(script)  # meanwhile: the model reads in another process
        await reading
    finally:
        _reading.remove(reading)


async def _compare_ahead(script: Assistant) -> None:
    """Make the vectors of everything that its lines are compared with, in portions."""
    texts, questions = grounding.texts_of(script)
    for first in range(0, max(len(texts), len(questions)), PORTION):
        part = slice(first, first + PORTION)
        for _ in range(MOST_TRIES):
            likeness = await services.memory().likeness((GREETING,), texts[part], questions[part])
            if likeness is not None:
                break
        else:
            return


def _log_failure(failure: Failure, script: Assistant) -> None:
    failure.trap(ModelError, CircuitOpenError, ConfigurationError, CancelledError)
    why = "somebody asked" if failure.check(CancelledError) else str(failure.value)
    logger.log_info(f"[assistant] {script.key}: not warmed: {why}")


def forget() -> None:
    """Cancel what is under way and forget who was warmed: tests use the same numbers again."""
    give_way()
    for warming in tuple(_running):
        warming.cancel()
    _warmed.clear()
