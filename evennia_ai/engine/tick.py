"""One tick: what was heard goes in, the loop runs, and what is left is a turn and why it ended.

Where a limit ends it, whoever waits gets a last word: of one model call more, without tools.
"""

from __future__ import annotations

from dataclasses import replace

from evennia_ai.core.hearing.audience import WAYS, words
from evennia_ai.core.hearing.chain import is_of_chain
from evennia_ai.core.hearing.inbox import OWN, TASK
from evennia_ai.core.safety.limits import LIMITS, DecisionReason, Denial, LimitKind, denial_text
from evennia_ai.core.text.cleaning import clean_speech, cut_at_sentence
from evennia_ai.core.text.words import number
from evennia_ai.core.turn.conversation import Message, as_fallback, turn_text, user_message
from evennia_ai.core.turn.execution import ExecutionPattern
from evennia_ai.core.turn.react import Done, Stop, StopReason
from evennia_ai.core.turn.speech import LONGEST_SPEECH, answer_call, call_from_json
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.bounds import Bounds
from evennia_ai.engine.ports import Ports, Reply
from evennia_ai.engine.react import CallGroup, expect_listener, failed_by, react
from evennia_ai.errors import CircuitOpenError, LimitReachedError, ModelError

CAUSE = (
    "You have to stop here: {what} ({used} {unit}). You have no tools now. In one or two sentences "
    "and in character, tell whoever you are answering what you found out so far and what is "
    "missing. Speak of your task, not of limits, steps or tools."
)


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


def ends_in_words(hit: LimitReachedError, turn: Turn) -> bool:
    """True where somebody waits who is told in the words of the assistant, as the limit's row says.

    Where a whole chain has come to its end, no other assistant is told: it would only answer.
    """
    is_said = LIMITS[LimitKind(hit.kind)].denial is Denial.WRAP_UP and turn.event.kind != OWN
    is_among_us = turn.event.hops > 0 and turn.event.kind != TASK
    return is_said and not (is_among_us and is_of_chain(hit.scope))


async def wrap_up(turn: Turn, ports: Ports, hit: LimitReachedError) -> bool:
    """Say how far it came: one model call without tools, which asks nobody to extend it.

    Returns:
        Whether whoever waits has heard something.

    Raises:
        NobodyListensError: whoever waited has left.
    """
    # Before money is spent on words that nobody would hear.
    expect_listener(turn, ports)
    turn.stopped_by = hit.kind
    turn.model_calls += 1
    # Without tools some services refuse calls in the talk as well: so it is told as plain text.
    prompt = ports.compose(turn, {})
    try:
        reply = await ports.model.ask(with_cause(as_fallback(prompt.messages), hit), ())
    except (ModelError, CircuitOpenError, LimitReachedError):
        return False
    ports.keeper.fence(turn)
    turn.count(prompt.credible(reply.usage))
    words = _words(reply)
    if not words:
        return False
    call = answer_call(words, turn.event, f"last_{turn.event.id}")
    group = CallGroup((call,), turn, 1)
    result = await ports.toolbox.run(call, turn)
    group.add(Done(call, ports.toolbox.specs().get(call.name), result))
    return result.success


def _words(reply: Reply) -> str:
    """The sayable part of a reply; a model that still writes a call means its message."""
    told = next(iter(reply.tool_calls), None) or call_from_json(reply.content, "last")
    message = told.arguments.get("message", "") if told is not None else reply.content
    return cut_at_sentence(clean_speech(str(message)), LONGEST_SPEECH)


def with_cause(messages: list[Message], hit: LimitReachedError) -> list[Message]:
    """The prompt with the cause in its system message: some services refuse it after a result."""
    limit = LIMITS[LimitKind(hit.kind)]
    cause = CAUSE.format(what=limit.text, used=number(hit.cap), unit=limit.unit)
    head, *rest = messages
    if head["role"] != "system":
        return [{"role": "system", "content": cause}, *messages]
    return [{**head, "content": f"{cause}\n\n{head['content']}"}, *rest]
