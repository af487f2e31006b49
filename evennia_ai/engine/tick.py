"""One tick: it answers events with the loop and says why the turn ended.

If a limit ends it, one more model call without tools gives waiting people a last answer.
"""

from __future__ import annotations

from dataclasses import replace

from evennia_ai.core.hearing.audience import ALONE, WAYS, words
from evennia_ai.core.hearing.chain import is_of_chain
from evennia_ai.core.hearing.inbox import OWN, TASK
from evennia_ai.core.safety.limits import LIMITS, DecisionReason, Denial, LimitKind, denial_text
from evennia_ai.core.safety.persona import holds_recital
from evennia_ai.core.text.cleaning import clean_speech, cut_at_sentence
from evennia_ai.core.text.words import number
from evennia_ai.core.turn.conversation import Message, as_fallback, turn_text, user_message
from evennia_ai.core.turn.execution import ExecutionPattern
from evennia_ai.core.turn.react import Done, Stop, StopReason
from evennia_ai.core.turn.speech import LONGEST_SPEECH, answer_call, call_from_json
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.bounds import Bounds
from evennia_ai.engine.ports import Ports
from evennia_ai.engine.react import CallGroup, expect_listener, failed_by, react
from evennia_ai.errors import CircuitOpenError, LimitReachedError, ModelError

CAUSE = (
    "You have to stop here: {what} ({used} {unit}). You have no tools now. In one or two sentences "
    "and in character, tell whoever you are answering what you found out so far and what is "
    "missing. Speak of your task, not of limits, steps or tools."
)

ALOUD = ("say", "channel")  # the tools among the answers whose words others hear


async def run(turn: Turn, ports: Ports, pattern: ExecutionPattern) -> Stop:
    """Answer the turn's events, or continue a turn from its checkpoint.

    A limit that no person extends ends it with a last answer to those who wait.

    Raises:
        NobodyListensError: the person who asked has left, and no one else hears the answer.
    """
    # A turn that continues after a restart contains its events already.
    if not turn.said:
        text = turn_text(turn.events, turn.overheard, shows_trust=True)
        turn.said.append(user_message(text))
    bounds = Bounds(turn, ports, pattern, turn.iterations)
    try:
        await bounds.visit()
        return await react(turn, ports, bounds)
    except LimitReachedError as hit:
        is_told = ends_in_words(hit, turn) and await wrap_up(turn, ports, hit)
        return replace(_ended_by(hit, turn), is_told=is_told)


def _ended_by(hit: LimitReachedError, turn: Turn) -> Stop:
    reason = DecisionReason(hit.reason or DecisionReason.NO_BUS)
    partial = bool(turn.found_out)
    detail = denial_text(LimitKind(hit.kind), hit.cap, hit.scope, reason, has_partial=partial)
    if turn.problem:
        problem = words(WAYS["log"], turn.problem, turn.kept_audiences)
        detail = f"{detail}; the last call failed: {problem}"
    # The limit only ended the retries; the failure is the service's, which must not lock the
    # assistant.
    if isinstance(hit.__cause__, ModelError):
        cause = hit.__cause__
        return failed_by(cause, Stop(StopReason.LLM_ERROR, f"{cause}; {detail}", limit=hit))
    # A turn in which every step failed counts as one more error in a row.
    is_counted = hit.kind == LimitKind.ITERATIONS and bool(turn.problem) and not partial
    return Stop(StopReason.MAX_ITERATIONS, detail, is_counted, hit)


def ends_in_words(hit: LimitReachedError, turn: Turn) -> bool:
    """True if the limit's row asks for a last answer, and there is a person to hear it."""
    is_said = LIMITS[LimitKind(hit.kind)].denial is Denial.WRAP_UP and turn.event.kind != OWN
    # If the limit of a whole chain ended the turn, another assistant is told nothing: it would
    # only answer again.
    is_from_assistant = turn.event.hops > 0 and turn.event.kind != TASK
    return is_said and not (is_from_assistant and is_of_chain(hit.scope))


async def wrap_up(turn: Turn, ports: Ports, hit: LimitReachedError) -> bool:
    """Say how far the turn came, by one model call without tools, which no person must extend.

    Returns:
        True if something was said.

    Raises:
        NobodyListensError: the person who waited has left.
    """
    # Before money is spent on an answer that no one would hear.
    expect_listener(turn, ports)
    turn.stopped_by = hit.kind
    turn.model_calls += 1
    # Some services refuse tool calls in the history of a request without tools, so the messages
    # are sent as plain text.
    prompt = ports.compose(turn, {})
    try:
        reply = await ports.model.ask(with_cause(as_fallback(prompt.messages), hit), ())
    except (ModelError, CircuitOpenError, LimitReachedError):
        return False
    ports.checkpoint_store.fence(turn)
    turn.count(prompt.credible(reply.usage))
    # A call that is itself the content leaves no words beside it.
    written = None if reply.tool_calls else call_from_json(reply.content, "last")
    meant = next(iter(reply.tool_calls), written)
    text = _spoken_text(meant, "" if written is not None else reply.content)
    if not text:
        return False
    call = answer_call(text, turn.event, f"last_{turn.event.id}")
    # Words that it would whisper are not said aloud.
    if meant is not None and meant.name in ALONE and call.name in ALOUD:
        call = replace(call, name=meant.name, arguments={**meant.arguments, "message": text})
    if holds_recital((call,), prompt.instructions):
        return False
    group = CallGroup((call,), turn, 1)
    result = await ports.toolbox.run(call, turn)
    group.add(Done(call, ports.toolbox.specs().get(call.name), result))
    return result.success


def _spoken_text(call: ToolCall | None, content: str) -> str:
    """The text of a reply that can be said: the message of the call in it, or its content."""
    message = call.arguments.get("message") if call is not None else None
    text = message if isinstance(message, str) else content
    return cut_at_sentence(clean_speech(text), LONGEST_SPEECH)


def with_cause(messages: list[Message], hit: LimitReachedError) -> list[Message]:
    """The prompt with the cause in its system message."""
    # At the end it would follow a tool result, where some services refuse a message.
    limit = LIMITS[LimitKind(hit.kind)]
    cause = CAUSE.format(what=limit.text, used=number(hit.cap), unit=limit.unit)
    head, *rest = messages
    if head["role"] != "system":
        return [{"role": "system", "content": cause}, *messages]
    return [{**head, "content": f"{cause}\n\n{head['content']}"}, *rest]
