"""The ReAct loop: ask the model, run the tools it calls, show it the results, and repeat."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evennia_ai.core.hearing.audience import WAYS, words
from evennia_ai.core.safety.monitor import Caution, Halt
from evennia_ai.core.safety.persona import REFUSAL, holds_recital
from evennia_ai.core.turn.conversation import Message, call_message, result_message
from evennia_ai.core.turn.react import Done, Stop, StopReason, objection, reason_of, repetition
from evennia_ai.core.turn.speech import spoken_call
from evennia_ai.core.turn.tokens import ADVICE, Advisory, advise
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec, offered_name
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.bounds import Bounds
from evennia_ai.engine.ports import Ports, Prompt, Reply
from evennia_ai.errors import (
    CircuitOpenError,
    ContextLengthError,
    LimitReachedError,
    ModelError,
    NobodyListensError,
)

NOT_REACHED = ToolResult(False, "not done: the turn ended before it", Fault.NOT_RUN)
ONE_AT_A_TIME = "not done: one call at a time; ask again if it is still wanted"
NOOP = StopReason.NOOP.value
LAST_STEP = "one step is left: answer now"
# Used in place of an invented tool name, which may quote what was said in a private turn.
UNKNOWN_TOOL = "a tool that does not exist"


async def react(turn: Turn, ports: Ports, bounds: Bounds) -> Stop:
    """Run one turn to its end. At any moment, each call in `turn.said` has a result.

    Raises:
        LimitReachedError: a limit ends the turn, and no person extended it.
        NobodyListensError: the person who asked has left, and no one else hears the answer.
    """
    advisory = Advisory.NONE
    while not bounds.is_used_up:
        ports.checkpoint_store.fence(turn)  # it may have been stopped while it waited
        specs = ports.shown(ports.toolbox.specs())
        prompt = ports.compose(turn, specs)
        expect_listener(turn, ports)  # before money is spent; `_ask` repeats it before it speaks
        if prompt.usage_ratio > 1:
            return Stop(StopReason.CRITICAL_TOKENS, prompt.fullness.unfit())
        try:
            await bounds.step()
            reply = await _ask(turn, ports, bounds, prompt, specs)
        except (ModelError, CircuitOpenError) as error:
            if _shorten(turn, error):
                continue
            return _stopped_by(error, prompt)
        calls = _calls_of(reply, turn)
        refusal = REFUSAL if holds_recital(calls, prompt.instructions) else ""
        if not calls or (refusal and turn.has_recited):  # a recital is refused only once
            return _silent(turn, reply, recites=bool(refusal))
        turn.has_recited |= bool(refusal)
        turn.is_talk = calls[0].is_spoken and {each["role"] for each in turn.said} <= {"user"}
        about = reply if calls is reply.tool_calls else Reply()  # a call made of text has none
        group = CallGroup(calls, turn, bounds.pattern.calls_per_reply, about.beside)
        turn.reasoning = about.content
        bounds.note_cut(len(calls))
        await _run(group, ports, bounds, refusal)
        stop = _end_after(group, bounds)
        if stop is None and advisory is Advisory.CRITICAL:  # warned already, and still no answer
            fill = f"{prompt.tokens} of {prompt.max_tokens} tokens of context are used"
            stop = Stop(StopReason.CRITICAL_TOKENS, fill)
        if stop is not None:
            return stop
        advisory = advise(prompt.ratio_with(reply.usage, group.messages))
        is_last = turn.iterations == bounds.last_step - 1
        group.tell(ADVICE[advisory] or (LAST_STEP if is_last else ""))
        ports.checkpoint_store.checkpoint(turn)
    steps = f"{turn.iterations} steps without an answer"
    return Stop(StopReason.MAX_ITERATIONS, _shown(turn, turn.problem) or steps)


def _with_offered_names(reply: Reply, specs: Collection[str]) -> Reply:
    """The reply with each tool named as it was offered, though the model wrote "Look-At"."""
    if not [call for call in reply.tool_calls if call.name not in specs]:
        return reply
    calls = (replace(call, name=offered_name(call.name, specs)) for call in reply.tool_calls)
    return replace(reply, tool_calls=tuple(calls))


def _calls_of(reply: Reply, turn: Turn) -> Sequence[ToolCall]:
    """The calls of a reply; if none can be read, its text becomes a spoken answer."""
    calls = reply.tool_calls
    if [call for call in calls if not call.problem or call.name == NOOP]:
        return calls
    return spoken_call(reply.content, turn.event, turn.iterations) or calls


def _shown(turn: Turn, text: str) -> str:
    """Text of a turn for staff and logs; of a private turn only its length."""
    return words(WAYS["log"], text, turn.kept_audiences) if text else ""


def _end_after(group: CallGroup, bounds: Bounds) -> Stop | None:
    """The stop that a reply's calls lead to, or None."""
    if group.halt is not None:
        return Stop(StopReason.MAX_ITERATIONS, group.halt.detail, False, halt=group.halt)
    reason = reason_of(group.done, terminal_ends=bounds.pattern.terminal_ends_loop)
    return Stop(reason) if reason is not None else None


async def _ask(
    turn: Turn, ports: Ports, bounds: Bounds, prompt: Prompt, specs: Mapping[str, ToolSpec]
) -> Reply:
    """The reply of one step; the call is repeated if a limit on time or money is extended."""
    while True:
        try:
            reply = await ports.model.ask(prompt.messages, tuple(specs.values()))
            break
        except LimitReachedError as hit:
            await bounds.extend(hit)
    ports.checkpoint_store.fence(turn)
    turn.count(prompt.credible(reply.usage))
    expect_listener(turn, ports)
    # Staff get a notice that another model answered once per turn, not at each step.
    if reply.notice and reply.notice not in turn.notices:
        turn.notices.append(reply.notice)
    return _with_offered_names(reply, specs)


def expect_listener(turn: Turn, ports: Ports) -> None:
    """Raise unless some person can hear the answer.

    Raises:
        NobodyListensError: no one can.
    """
    if not ports.is_heard(turn):
        raise NobodyListensError(f"{turn.event.sender_name or 'whoever asked'} has left")


def _shorten(turn: Turn, error: Exception) -> bool:
    """Drop the history if the prompt is too long; False if that cannot help."""
    may_help = isinstance(error, ContextLengthError) and bool(turn.history)
    if may_help:  # the history is the part that grows; the question itself stays
        turn.history = []
    return may_help


def _stopped_by(error: ModelError | CircuitOpenError, prompt: Prompt) -> Stop:
    if isinstance(error, ContextLengthError):
        stop = Stop(StopReason.CRITICAL_TOKENS, prompt.fullness.refused(str(error)))
    else:
        stop = Stop(StopReason.LLM_ERROR, str(error))
    return failed_by(error, stop)


def failed_by(error: ModelError | CircuitOpenError, stop: Stop) -> Stop:
    """The stop with the consequences of an error of the model's service."""
    return replace(
        stop,
        is_counted=error.counts_as_error,
        is_of_service=error.is_of_service,
        may_lock=error.may_lock,
        trouble=error.trouble if error.is_of_service else "",
    )


async def _run(group: CallGroup, ports: Ports, bounds: Bounds, refusal: str) -> None:
    """Run the calls of one reply in order, with a checkpoint between two of them.

    Args:
        refusal: the reason to run none of them, or "".
    """
    pattern = bounds.pattern
    for call in group.calls:
        if group.done:  # after a crash, the calls before this one are not repeated
            ports.checkpoint_store.checkpoint(group.turn)
        ports.checkpoint_store.fence(group.turn)
        spec = ports.toolbox.specs().get(call.name)
        reason = refusal or objection(call, spec, group.done)
        if group.done and not pattern.allows_multi_tool:
            reason = reason or ONE_AT_A_TIME
        result = repetition(call, spec, group.done)
        if reason:
            result = ToolResult(False, reason, Fault.NOT_RUN)
        elif result is None:
            await bounds.tool_call()
            result = await _run_one(call, ports, bounds)
        group.add(Done(call, spec, result))
        if group.halt is not None:
            return


async def _run_one(call: ToolCall, ports: Ports, bounds: Bounds) -> ToolResult:
    """Run one call; it is repeated if a limit that it reached is extended."""
    while True:
        try:
            return await ports.toolbox.run(call, bounds.turn)
        except LimitReachedError as hit:
            await bounds.extend(hit)


class CallGroup:
    """The calls of one reply and their results, as messages of the turn.

    Args:
        most: number of calls to run; the others are left out, and the model is told so.
        beside: of the reply, see `Reply`.
    """

    def __init__(
        self,
        calls: Sequence[ToolCall],
        turn: Turn,
        most: int,
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        self.calls = tuple(calls[:most])
        self.turn = turn
        self.done: list[Done] = []
        self.halt: Halt | None = None
        self._alerts: list[str] = []
        left_out = len(calls) - most
        self._left_out = ""
        if left_out > 0:
            self._left_out = f"{left_out} more calls were left out: {most} a reply"
        # The messages from here on are replaced with each result.
        self._begins_at = len(turn.said)
        self._asked = call_message(*self.calls, beside=beside)
        # Services refuse a conversation with a call without a result, so each has one from now on.
        self.tell("")

    @property
    def messages(self) -> list[Message]:
        """The messages of this group in the conversation."""
        return self.turn.said[self._begins_at :]

    def add(self, done: Done) -> None:
        """Add the result of the next call, and let the monitor judge it."""
        self.done.append(done)
        name = done.call.name if done.spec is not None else UNKNOWN_TOOL
        verdict = self.turn.monitor.after_tool(done.call, done.result, name)
        if isinstance(verdict, Caution):
            self._alerts.append(verdict.note)
        elif isinstance(verdict, Halt):
            self.halt = verdict
        self.tell("")

    def tell(self, advisory: str) -> None:
        """Write the calls and their results into the turn, with advice in the last result."""
        results = [done.result for done in self.done]
        # A turn that is interrupted here is stored with a result for each call all the same.
        results += [NOT_REACHED] * (len(self.calls) - len(results))
        advice = "; ".join(filter(None, (self._left_out, *self._alerts, advisory)))
        messages = [result_message(*pair) for pair in zip(self.calls[:-1], results, strict=False)]
        messages.append(result_message(self.calls[-1], results[-1], advice))
        self.turn.said[self._begins_at :] = [self._asked, *messages]


def _silent(turn: Turn, reply: Reply, *, recites: bool) -> Stop:
    """The stop for a reply without anything to say."""
    # An assistant that has acted already may have nothing to add: that is no failure.
    if turn.effects and not reply.content.strip():
        return Stop(StopReason.NOOP)
    verdict = turn.monitor.after_reply_unparsable()
    halt = verdict if isinstance(verdict, Halt) else None
    why = "the model said its own instructions, twice" if recites else _describe_silence(reply)
    return Stop(StopReason.PARSE_ERROR, why, halt=halt)


def _describe_silence(reply: Reply) -> str:
    ending = f" (finish reason {reply.finish_reason})" if reply.finish_reason else ""
    if reply.finish_reason == "length":
        ending += "; its tokens were used up before it came to that: raise llm_max_tokens"
    if reply.content.strip():
        return f"the model's text holds nothing that can be said{ending}"
    return f"the model answered with neither text nor a tool call{ending}"
