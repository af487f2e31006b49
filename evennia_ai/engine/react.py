"""The loop: ask the model, run the tools it names, show it the results, until something ends it."""

from __future__ import annotations

from collections.abc import Sequence

from evennia_ai.core.conversation import Message, call_message, result_message
from evennia_ai.core.execution import ExecutionPattern
from evennia_ai.core.react import Done, Stop, StopReason, objection, reason_of, repetition
from evennia_ai.core.speech import spoken_call
from evennia_ai.core.tokens import ADVICE, Advisory, advise
from evennia_ai.core.toolspec import Fault, ToolCall, ToolResult
from evennia_ai.core.turn import Turn
from evennia_ai.engine.ports import Ports, Prompt, Reply
from evennia_ai.errors import CircuitOpenError, ContextLengthError, ModelError

NOT_REACHED = ToolResult(False, "not done: the turn ended before it", Fault.NOT_RUN)
ONE_AT_A_TIME = "not done: one call at a time; ask again if it is still wanted"
LAST_STEP = "one step is left: answer now"


async def react(turn: Turn, ports: Ports, pattern: ExecutionPattern) -> Stop:
    """Run one turn to its end. At every moment each call in `turn.said` has its result."""
    last_step = turn.iterations + pattern.max_iterations
    advisory, problem = Advisory.NONE, ""
    while turn.iterations < last_step:
        ports.keeper.fence(turn)
        prompt = ports.compose(turn, ports.toolbox.specs())
        if prompt.usage_ratio > 1:
            return Stop(StopReason.CRITICAL_TOKENS, _describe_fullness(prompt))
        turn.iterations += 1
        try:
            reply = await _ask(turn, ports, prompt)
        except (ModelError, CircuitOpenError) as error:
            if _shorten(turn, error):
                continue
            return _stopped_by(error)
        calls = reply.tool_calls or spoken_call(reply.content, turn.event, turn.iterations)
        if not calls:
            return _silent(turn, reply)
        group = Group(calls, turn, pattern.calls_per_reply)
        await _run(group, ports, pattern)
        reason = reason_of(group.done, terminal_ends=pattern.terminal_ends_loop)
        if reason is not None:
            return Stop(reason)
        if advisory is Advisory.CRITICAL:
            return Stop(StopReason.CRITICAL_TOKENS, _describe_fullness(prompt))
        advisory = advise(prompt.ratio_with(reply.usage, group.messages))
        group.tell(ADVICE[advisory] or (LAST_STEP if turn.iterations == last_step - 1 else ""))
        ports.keeper.checkpoint(turn)
        problem = group.problem
    return Stop(StopReason.MAX_ITERATIONS, problem or f"{turn.iterations} steps without an answer")


async def _ask(turn: Turn, ports: Ports, prompt: Prompt) -> Reply:
    reply = await ports.model.ask(prompt.messages, tuple(ports.toolbox.specs().values()))
    ports.keeper.fence(turn)
    turn.usage = turn.usage + reply.usage
    if reply.notice and reply.notice not in turn.notices:
        turn.notices.append(reply.notice)
    return reply


def _shorten(turn: Turn, error: Exception) -> bool:
    """Leave the history out when the model says that the prompt is too long; once is all."""
    may_help = isinstance(error, ContextLengthError) and bool(turn.history)
    if may_help:
        turn.history = []
    return may_help


def _stopped_by(error: ModelError | CircuitOpenError) -> Stop:
    is_full = isinstance(error, ContextLengthError)
    reason = StopReason.CRITICAL_TOKENS if is_full else StopReason.LLM_ERROR
    return Stop(reason, str(error), is_counted=error.counts_as_error)


async def _run(group: Group, ports: Ports, pattern: ExecutionPattern) -> None:
    """Run the calls of one reply in order; between two of them the tray is set down."""
    for call in group.calls:
        if group.done:
            ports.keeper.checkpoint(group.turn)
        ports.keeper.fence(group.turn)
        spec = ports.toolbox.specs().get(call.name)
        refused = objection(call, spec, group.done)
        if group.done and not pattern.allows_multi_tool:
            refused = refused or ONE_AT_A_TIME
        result = repetition(call, spec, group.done)
        if refused:
            result = ToolResult(False, refused, Fault.NOT_RUN)
        elif result is None:
            result = await ports.toolbox.run(call, group.turn)
        group.add(Done(call, spec, result))


class Group:
    """The calls of one reply and their results, kept in the turn so that none is without one.

    Args:
        calls: as the model gave them.
        most: how many of them are run; the others are left out, and the model is told.
    """

    def __init__(self, calls: Sequence[ToolCall], turn: Turn, most: int) -> None:
        self.calls = tuple(calls[:most])
        self.turn = turn
        self.done: list[Done] = []
        left_out = len(calls) - most
        self._left_out = f"{left_out} more calls were left out: {most} a reply" * (left_out > 0)
        self._begins_at = len(turn.said)
        self.tell("")

    @property
    def messages(self) -> list[Message]:
        """What it adds to the conversation."""
        return self.turn.said[self._begins_at :]

    @property
    def problem(self) -> str:
        """The last thing that did not work, or ""."""
        return next((done.result.text for done in reversed(self.done) if done.has_failed), "")

    def add(self, done: Done) -> None:
        """Keep the result of the next call."""
        self.done.append(done)
        self.tell("")

    def tell(self, advisory: str) -> None:
        """Write the calls and their results into the turn, with a word of advice at the end."""
        results = [done.result for done in self.done]
        results += [NOT_REACHED] * (len(self.calls) - len(results))
        words = "; ".join(filter(None, (self._left_out, advisory)))
        told = [result_message(*pair) for pair in zip(self.calls[:-1], results, strict=False)]
        told.append(result_message(self.calls[-1], results[-1], words))
        self.turn.said[self._begins_at :] = [call_message(*self.calls), *told]


def _silent(turn: Turn, reply: Reply) -> Stop:
    """A reply without a word or a call: an end like any other for whoever has spoken already."""
    if turn.effects and not reply.content.strip():
        return Stop(StopReason.NOOP)
    return Stop(StopReason.PARSE_ERROR, _describe_silence(reply))


def _describe_fullness(prompt: Prompt) -> str:
    return f"{prompt.tokens} of {prompt.max_tokens} tokens of context are used"


def _describe_silence(reply: Reply) -> str:
    ending = f" (finish reason {reply.finish_reason})" if reply.finish_reason else ""
    if reply.content.strip():
        return f"the model's text holds nothing that can be said{ending}"
    return f"the model answered with neither text nor a tool call{ending}"
