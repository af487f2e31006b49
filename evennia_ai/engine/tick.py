"""One tick: what was heard goes in, the loop runs, and what is left is a turn and why it ended."""

from __future__ import annotations

from dataclasses import replace

from evennia_ai.core.hearing.audience import WAYS, words
from evennia_ai.core.safety.limits import DecisionReason, LimitKind, denial_text
from evennia_ai.core.turn.conversation import turn_text, user_message
from evennia_ai.core.turn.execution import ExecutionPattern
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.bounds import Bounds
from evennia_ai.engine.ports import Ports
from evennia_ai.engine.react import failed_by, react
from evennia_ai.engine.wrapup import ends_in_words, wrap_up
from evennia_ai.errors import LimitReachedError, ModelError


async def run(turn: Turn, ports: Ports, pattern: ExecutionPattern) -> Stop:
    """Answer the turn's events, or go on with a turn that was set down.

    A limit that nobody extends ends it with a last word to whoever waits.

    Raises:
        NobodyListensError: whoever asked has left, and nobody else hears the answer.
    """
    # A turn that goes on after a restart has said what it heard already.
    if not turn.said:
        told = turn_text(turn.events, turn.overheard, shows_trust=True)
        turn.said.append(user_message(told))
    bounds = Bounds(turn, ports, pattern, turn.iterations)
    try:
        await bounds.visit()
        return await react(turn, ports, bounds)
    except LimitReachedError as hit:
        is_told = ends_in_words(hit, turn) and await wrap_up(turn, ports, hit)
        return replace(_ended_by(hit, turn), is_told=is_told)


def _ended_by(hit: LimitReachedError, turn: Turn) -> Stop:
    """The stop of a turn that a limit ended; a failure of the model's service stays one."""
    reason = DecisionReason(hit.reason or DecisionReason.NO_BUS)
    partial = bool(turn.found_out)
    detail = denial_text(LimitKind(hit.kind), hit.cap, hit.scope, reason, has_partial=partial)
    if turn.problem:
        problem = words(WAYS["log"], turn.problem, turn.kept_audiences)
        detail = f"{detail}; the last call failed: {problem}"
    # The limit only ended the retries: what failed is the service, which locks nobody.
    if isinstance(hit.__cause__, ModelError):
        cause = hit.__cause__
        return failed_by(cause, Stop(StopReason.LLM_ERROR, f"{cause}; {detail}", limit=hit))
    # Steps that brought nothing but failures are one more error in a row.
    is_counted = hit.kind == LimitKind.ITERATIONS and bool(turn.problem) and not partial
    return Stop(StopReason.MAX_ITERATIONS, detail, is_counted, hit)
