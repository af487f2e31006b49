"""Running a turn or one tool for an assistant, as Deferreds: where the engine meets Evennia."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai import state
from evennia_ai.core.conversation import Message
from evennia_ai.core.execution import ExecutionConfig
from evennia_ai.core.inbox import Event
from evennia_ai.core.react import Stop
from evennia_ai.core.toolspec import ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn import Turn
from evennia_ai.engine import tick
from evennia_ai.engine.ports import Ports, Toolbox
from evennia_ai.engine.toolboxes import Fitted, Gated, Protected
from evennia_ai.errors import StaleEpochError
from evennia_ai.llm.client import UnifiedLLMClient
from evennia_ai.tools import CharacterTools


@dataclass(frozen=True, slots=True)
class ScriptKeeper:
    """Checkpoints of a turn, on the script that runs it."""

    script: Any

    def fence(self, turn: Turn) -> None:
        """Raise StaleEpochError when the turn was cancelled in the meantime."""
        epoch = self.script.work.epoch
        if turn.epoch != epoch:
            raise StaleEpochError(turn.epoch, epoch)

    def before_effect(self, turn: Turn, call: ToolCall) -> None:
        """Note durably that this call is about to happen."""
        self.fence(turn)
        state.note_effect(self.script, turn, call)


@dataclass(frozen=True, slots=True)
class Withdrawing:
    """Takes the note of an effect back when it failed, so that nobody's question is lost."""

    inner: Toolbox
    script: Any

    def specs(self) -> Sequence[ToolSpec]:
        """The tools on offer."""
        return self.inner.specs()

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call."""
        result = await self.inner.run(call, turn)
        if not result.success:
            state.forget_effect(self.script, turn)
        return result


def toolbox(character: Any, clock: Any, fitted_to: Event | None = None) -> Gated:
    """The tools of a character, with everything around them that keeps a mistake a value.

    Args:
        fitted_to: the event that a small model is to answer; None offers every tool.
    """
    tools: Toolbox = Protected(CharacterTools(character, clock), _report)
    return Gated(Fitted(tools, fitted_to) if fitted_to is not None else tools)


def _report(call: ToolCall, error: BaseException) -> None:
    logger.log_trace(f"[assistant] tool {call.name} raised {error!r}")


def execute_react_loop(
    script: Any,
    turn: Turn,
    model: UnifiedLLMClient,
    compose: Callable[[Turn], list[Message]],
    clock: Any,
) -> Deferred[Stop]:
    """Run one turn. Cancelling the Deferred drops the model call and starts nothing more."""
    fitted_to = None if model.supports_tools else turn.event
    tools = Withdrawing(toolbox(script.obj, clock, fitted_to), script)
    ports = Ports(model, tools, ScriptKeeper(script), compose)
    config = ExecutionConfig.from_stored(state.read(script, "execution_config"))
    return Deferred.fromCoroutine(tick.run(turn, ports, config))


def execute_tool_call(
    character: Any, call: ToolCall, turn: Turn, clock: Any
) -> Deferred[ToolResult]:
    """Run one tool by hand, under the same gate as the model's calls."""
    return Deferred.fromCoroutine(toolbox(character, clock).run(call, turn))
