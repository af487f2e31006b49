"""The loop: ask the model, run the tool it names, show it the result, until something ends it."""

from __future__ import annotations

from collections.abc import Sequence

from evennia_ai.core.conversation import Message, call_message, result_message
from evennia_ai.core.execution import ExecutionConfig
from evennia_ai.core.react import Stop, StopReason, after_tool
from evennia_ai.core.speech import spoken_call
from evennia_ai.core.toolspec import ToolCall, ToolCategory, ToolResult, arguments_problem
from evennia_ai.core.turn import Turn
from evennia_ai.engine.ports import Ports, Reply
from evennia_ai.errors import CircuitOpenError, ModelError

ONE_AT_A_TIME = "not done: one action at a time, ask again if it is still wanted"


async def react(turn: Turn, ports: Ports, config: ExecutionConfig) -> Stop:
    """Run one turn to its end. Every call in the history it leaves has its result."""
    problem = ""
    while turn.iterations < config.iterations:
        ports.keeper.fence(turn)
        turn.iterations += 1
        try:
            reply = await ports.model.ask(ports.compose(turn), ports.toolbox.specs())
        except ModelError as error:
            return Stop(StopReason.LLM_ERROR, str(error))
        except CircuitOpenError as error:
            return Stop(StopReason.LLM_ERROR, str(error), is_counted=False)
        ports.keeper.fence(turn)
        turn.usage = turn.usage + reply.usage
        calls = reply.tool_calls or spoken_call(reply.content, turn.event, turn.iterations)
        if not calls:
            return Stop(StopReason.PARSE_ERROR, _describe_silence(reply))
        result, reason = await _act(calls[0], turn, ports)
        turn.said += _record(calls, result)
        if reason is not None:
            return Stop(reason)
        problem = "" if result.success else result.text
    return Stop(StopReason.MAX_ITERATIONS, problem or f"{turn.iterations} steps without an answer")


async def _act(call: ToolCall, turn: Turn, ports: Ports) -> tuple[ToolResult, StopReason | None]:
    """Run one call; before a call that others will notice, that is noted durably.

    A call that the gate will refuse is not noted: a crash after it must not count as an answer.
    """
    spec = next((spec for spec in ports.toolbox.specs() if spec.name == call.name), None)
    if spec is None or call.problem:
        return await ports.toolbox.run(call, turn), None
    is_noticed = spec.category in (ToolCategory.TERMINAL, ToolCategory.DANGEROUS)
    if is_noticed and not arguments_problem(spec, call.arguments):
        ports.keeper.before_effect(turn, call)
    result = await ports.toolbox.run(call, turn)
    return result, after_tool(call.name, spec.category, success=result.success)


def _record(calls: Sequence[ToolCall], result: ToolResult) -> list[Message]:
    """The call that ran and its result. Calls beside it are not kept: they did not happen."""
    if len(calls) > 1:
        result = ToolResult(result.success, f"{result.text} (other calls {ONE_AT_A_TIME})")
    return [call_message(calls[0]), result_message(calls[0], result)]


def _describe_silence(reply: Reply) -> str:
    ending = f" (finish reason {reply.finish_reason})" if reply.finish_reason else ""
    if reply.content.strip():
        return f"the model's text holds nothing that can be said{ending}"
    return f"the model answered with neither text nor a tool call{ending}"
