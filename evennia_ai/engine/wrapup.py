"""The last word after a limit: one model call without tools, said to whoever waits."""

from __future__ import annotations

from evennia_ai.core.hearing.chain import is_of_chain
from evennia_ai.core.hearing.inbox import OWN, TASK
from evennia_ai.core.safety.limits import LIMITS, Denial, LimitKind
from evennia_ai.core.text.cleaning import clean_speech, cut_at_sentence
from evennia_ai.core.text.words import number
from evennia_ai.core.turn.conversation import Message, as_fallback
from evennia_ai.core.turn.react import Done
from evennia_ai.core.turn.speech import LONGEST_SPEECH, answer_call, call_from_json
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Ports, Reply
from evennia_ai.engine.react import CallGroup, expect_listener
from evennia_ai.errors import CircuitOpenError, LimitReachedError, ModelError

CAUSE = (
    "You have to stop here: {what} ({used} {unit}). You have no tools now. In one or two sentences "
    "and in character, tell whoever you are answering what you found out so far and what is "
    "missing. Speak of your task, not of limits, steps or tools."
)


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
