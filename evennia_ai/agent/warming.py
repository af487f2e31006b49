"""Warming of the demo brain: it has read how each prompt begins before anybody asks.

The model keeps what it has read of a prompt, so the first answer then comes as fast as the second.
Nobody waits for this, nobody pays for it, and whatever goes wrong the first question tells. One
is warmed at a time, and whoever asks meanwhile goes first: the model reads one thing at once.
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
from evennia_ai.errors import CircuitOpenError, ConfigurationError, ModelError
from evennia_ai.llm import local
from evennia_ai.memory import grounding
from evennia_ai.prompts import stable_head
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tool_execution import specs_of_game

# Each takes some four seconds of both processors of a small machine.
MOST_WARMED = 4
GREETING = "hello"
# Texts that are compared in one go: a second of one processor, for which a question has to wait.
PORTION = 30
_warmed: set[int] = set()
_going: list[Deferred[None]] = []
_one_at_a_time = DeferredLock()


def begin(script: Assistant) -> Deferred[None] | None:
    """Let the demo brain read how an assistant's prompts begin, in the background.

    Returns:
        What fires when that is done; None where there is nothing to warm: another model answers,
        its weights are not here yet, or enough assistants were warmed in this process.
    """
    if script.pk in _warmed or len(_warmed) >= MOST_WARMED or script.silence:
        return None
    try:
        is_small = script.endpoint().is_local
    except ConfigurationError:
        return None
    if not is_small or not _is_here():
        return None
    _warmed.add(script.pk)
    warming = Deferred.fromCoroutine(_warm(script))
    _going.append(warming)
    return warming.addErrback(_tell, script).addBoth(lambda _: _going.remove(warming))


def is_under_way() -> bool:
    """True while the demo brain reads ahead for any assistant."""
    return bool(_going)


def give_way() -> None:
    """Drop what is being read ahead: somebody asks."""
    for warming in tuple(_going):
        warming.cancel()


async def _warm(script: Assistant) -> None:
    """Read the head of its prompts, and what its lines are compared with."""
    await _one_at_a_time.acquire()
    try:
        await _read_ahead(script)
    finally:
        _one_at_a_time.release()


async def _read_ahead(script: Assistant) -> None:
    texts, questions = grounding.texts_of(script)
    for first in range(0, max(len(texts), len(questions)), PORTION):
        part = slice(first, first + PORTION)
        await services.memory().likeness((GREETING,), texts[part], questions[part])
    client = services.pool().trial_client(script.endpoint())
    hint = UNASKED if preparation.is_small(client) else ""
    scene = preparation.scene_of(script, client, ContextType.TICK_EVENT, hint=hint)
    head = stable_head(scene, Turn(script.work.epoch, (), (), []), specs_of_game())
    await client.chat_completion([*head, user_message(GREETING)], max_tokens=1)


def _is_here() -> bool:
    """True where the model can be started without fetching anything; two looks at files."""
    return local.is_installed() and local.has_weights()


def _tell(failure: Failure, script: Assistant) -> None:
    failure.trap(ModelError, CircuitOpenError, ConfigurationError, CancelledError)
    why = "somebody asked" if failure.check(CancelledError) else str(failure.value)
    logger.log_info(f"[assistant] {script.key}: not warmed: {why}")


def forget() -> None:
    """Drop what is under way, and warm all anew: in tests others have the same numbers."""
    give_way()
    _warmed.clear()
