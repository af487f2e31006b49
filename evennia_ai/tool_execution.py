"""Running a turn or one tool for an assistant, as Deferreds: where the engine meets Evennia."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai import state
from evennia_ai.core.conversation import Message
from evennia_ai.core.execution import ExecutionConfig
from evennia_ai.core.react import Stop
from evennia_ai.core.toolspec import ToolCall, ToolResult
from evennia_ai.core.turn import Turn
from evennia_ai.engine import tick
from evennia_ai.engine.ports import Model, Ports
from evennia_ai.engine.toolboxes import Gated, Protected
from evennia_ai.errors import StaleEpochError
from evennia_ai.tools import CharacterTools


@dataclass(frozen=True, slots=True)
class ScriptKeeper:
    """Checkpoints of a turn, on the script that runs it."""

    script: Any

    def fence(self, turn: Turn) -> None:
        """Raise StaleEpochError when the turn was cancelled in the meantime."""
        epoch = self.script.ndb.work.epoch
        if turn.epoch != epoch:
            raise StaleEpochError(turn.epoch, epoch)

    def before_effect(self, turn: Turn, call: ToolCall) -> None:
        """Note durably that this call is about to happen."""
        self.fence(turn)
        state.note_effect(self.script, turn, call)


def toolbox(character: Any, clock: Any) -> Gated:
    """The tools of a character, with everything around them that keeps a mistake a value."""
    return Gated(Protected(CharacterTools(character, clock), _report))


def _report(call: ToolCall, error: BaseException) -> None:
    logger.log_trace(f"[assistant] tool {call.name} raised {error!r}")


def execute_react_loop(
    script: Any,
    turn: Turn,
    model: Model,
    compose: Callable[[Turn], list[Message]],
    clock: Any,
) -> Deferred[Stop]:
    """Run one turn. Cancelling the Deferred drops the model call and starts nothing more."""
    ports = Ports(model, toolbox(script.obj, clock), ScriptKeeper(script), compose)
    config = ExecutionConfig.from_stored(state.read(script, "execution_config"))
    return Deferred.fromCoroutine(tick.run(turn, ports, config))


def execute_tool_call(
    character: Any, call: ToolCall, turn: Turn, clock: Any
) -> Deferred[ToolResult]:
    """Run one tool by hand, under the same gate as the model's calls."""
    return Deferred.fromCoroutine(toolbox(character, clock).run(call, turn))
