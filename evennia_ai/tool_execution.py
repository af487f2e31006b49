"""Running a turn, or a single tool, for an assistant: where the engine meets Evennia."""

from __future__ import annotations

import random as randomness
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from evennia_ai import approvals
from evennia_ai.approvals.checkpoints import TurnLimits
from evennia_ai.budget.metering import TurnModel
from evennia_ai.core.hearing.audience import WAYS, may_leave
from evennia_ai.core.hearing.inbox import TASK
from evennia_ai.core.hearing.staleness import PAGE
from evennia_ai.core.turn.execution import ExecutionPattern
from evennia_ai.core.turn.react import Stop
from evennia_ai.core.turn.speech import ANSWERS
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.engine import tick
from evennia_ai.engine.offers import Findable, Fitted, Offered
from evennia_ai.engine.ports import Ports, Specs, Toolbox
from evennia_ai.engine.toolboxes import (
    Cached,
    Confined,
    Confirmed,
    Gated,
    Logged,
    Noted,
    Protected,
    Retried,
    Timed,
    Timely,
)
from evennia_ai.errors import StaleEpochError, UnableError
from evennia_ai.resilience import RetryConfig
from evennia_ai.runtime import ability, services, signals, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import kinds_of_locks
from evennia_ai.tasks import delegations, task_waits
from evennia_ai.tools import REGISTRY, CharacterTools
from evennia_ai.tools.leaving import PrivateWordsGuard
from evennia_ai.tools.moments import Moments, can_be_paged
from evennia_ai.tools.registry import SPECS
from evennia_ai.tools.running import RemoteTools
from evennia_ai.tools.schema import arguments_problem
from evennia_ai.tools.showing import is_by_need, shown

# Gives the values that are stored together with the record of a call.
Settle = Callable[[ToolResult], Mapping[str, Any]]
_TOOL_RETRY_CONFIG = RetryConfig()
# A lock of this type on the body, such as `tool_move`, withholds the tool of that name.
LOCK = "tool_"
# As many as a model of the demo brain's size can choose among; the game's own tools are added.
FOR_SMALL_MODELS = ANSWERS | {"emote", "look", "noop"}


@dataclass(frozen=True, slots=True)
class ScriptCheckpoints:
    """The engine's checkpoints of a turn, stored on the assistant's script."""

    script: Assistant

    def fence(self, turn: Turn) -> None:
        """Refuse to go on with a turn that was cancelled, or whose body cannot act any more.

        Raises:
            StaleEpochError: the turn was cancelled by a stop, a reset or a reload.
            UnableError: the body cannot act.
        """
        # Cancelling a Deferred reaches only what waits; code that runs finds out here.
        epoch = self.script.work.epoch
        if turn.epoch != epoch:
            raise StaleEpochError(turn.epoch, epoch)
        if why := ability.inability(self.script.obj):
            raise UnableError(turn.epoch, why.replace("{name}", str(self.script.key)))

    def before_effect(self, turn: Turn, call: ToolCall) -> None:
        """Store that this call is about to happen, so that a crash cannot make it happen twice."""
        self.fence(turn)
        turns.write_ahead_intent(self.script, turn, call)

    def forget_effect(self, turn: Turn) -> None:
        """Withdraw the note of a call that did not happen after all."""
        turns.clear_intent(self.script, turn)

    def checkpoint(self, turn: Turn) -> None:
        """Store what was said and done so far, so that a restart resumes here."""
        self.fence(turn)
        turns.checkpoint(self.script, turn)


def guarded(script: Assistant, *, is_by_hand: bool = False) -> Toolbox:
    """An assistant's tools in the layers that turn every fault into a result the model can read.

    Args:
        is_by_hand: a person typed the call and its target, so no prompt can have tainted it.
    """
    clock, work = script.clock, script.work
    own, servers = CharacterTools(script.obj, clock), services.remote_servers()
    tools: Toolbox = RemoteTools(own, servers, own.check) if servers.are_any else own
    if not is_by_hand:
        tools = Confined(tools, PrivateWordsGuard(script, own.check))
    # Inside the retries, so that the breaker counts each attempt by itself.
    tools = Protected(tools, work.breakers, _report, ScriptCheckpoints(script).fence)
    # On the script's clock, so that tests can let the waits between attempts pass.
    wait = partial(deferLater, clock)
    tools = Retried(tools, _TOOL_RETRY_CONFIG, wait, clock.seconds, randomness.random)
    # Outermost: a cached result asks neither the breaker nor the tool.
    return Cached(tools, work.tool_cache, Deferred.fromCoroutine)


def _report(turn: Turn, call: ToolCall, error: BaseException) -> None:
    # Of a private turn only the type and the place: the error's text may quote its words.
    if may_leave(WAYS["log"], turn.kept_audiences).is_allowed:
        logger.log_trace(f"[assistant] tool {call.name} raised {error!r}")
    else:
        signals.log_fault(f"tool {call.name} raised {type(error).__name__}", error)


def _ask_person(script: Assistant, turn: Turn, call: ToolCall) -> ToolResult:
    """Ask a person about a dangerous call, unless its words may not leave the turn at all."""
    body = CharacterTools(script.obj, script.clock)
    spec = services.remote_servers().merged_with(body.specs())[call.name]
    # Checked here too: the guard stands further in, and the person who is asked reads the words.
    problem = PrivateWordsGuard(script, body.check).refusal(turn, spec, call)
    if problem:
        return ToolResult(False, problem, Fault.DENIED)
    return approvals.ask_about_call(script, turn, call)


def toolbox(
    script: Assistant,
    turn: Turn,
    pattern: ExecutionPattern,
    *,
    is_small: bool,
    is_grounded: bool = False,
) -> Toolbox:
    """The tools of one turn.

    Args:
        is_small: offer only what fits the event, as a small model needs it.
        is_grounded: the prompt holds already what looking around would tell: the model only
            answers, or uses a tool of the game.
    """
    # Inside the confirmation: a call that waits for a yes is not about to happen yet.
    tools: Toolbox = Noted(guarded(script), ScriptCheckpoints(script))
    tools = Confirmed(tools, partial(_ask_person, script), pattern.dangerous_requires_confirm)
    # Outside the confirmation: nobody is asked about an answer that comes too late.
    tools = Timely(tools, Moments(script, partial(_offers, script, turn, pattern)))
    return offered(script, turn, pattern, tools, is_small=is_small, is_grounded=is_grounded)


def offered(
    script: Assistant,
    turn: Turn,
    pattern: ExecutionPattern,
    tools: Toolbox,
    *,
    is_small: bool,
    is_grounded: bool,
) -> Toolbox:
    """Narrow tools to those that one turn may use; the arguments are those of `toolbox`."""
    hidden = _hidden(script, turn, pattern)
    # Stage directions in its speech become poses only where it may pose.
    turn.may_emote = "emote" not in hidden and pattern.offers(REGISTRY["emote"].spec)
    tools = Offered(tools, pattern, hidden)
    turn.may_use = tools.specs()
    if is_small:
        own = ANSWERS if is_grounded else FOR_SMALL_MODELS
        tools = Fitted(tools, turn.event, own | specs_of_game().keys())
    elif not is_by_need(turn, tools.specs()):
        tools = Findable(tools, turn.found, services.most_tools())
    # Outermost: a person is never asked about a call whose arguments make it impossible.
    return Gated(tools, arguments_problem)


def _offers(script: Assistant, turn: Turn, pattern: ExecutionPattern, name: str) -> bool:
    """True where a tool is on offer in a turn, whether the model is shown it or not."""
    hidden = _hidden(script, turn, pattern)
    return name not in hidden and pattern.offers(REGISTRY[name].spec)


def _hidden(script: Assistant, turn: Turn, pattern: ExecutionPattern) -> frozenset[str]:
    """The tools that a turn has no use for, or must not use.

    Delegating needs a pattern that allows it, and reporting a task. A quiet task must go unnoticed,
    so whatever others would notice is left out.
    """
    hidden = set(_forbidden(script.obj))
    if not pattern.allows_sub_agents:
        hidden.add(delegations.DELEGATE)
    if turn.event.kind != TASK:
        hidden.add(task_waits.REPORT)
    elif task_waits.is_quiet(turn.event):
        every = services.remote_servers().merged_with(SPECS)
        noticed = {name for name, spec in every.items() if spec.is_noticed}
        # A report reaches only the one who gave the task; a lock on the body still withholds it.
        hidden |= noticed - {task_waits.REPORT}
    return frozenset(hidden)


def _forbidden(body: GameObject) -> frozenset[str]:
    """The tools that a lock withholds; the model does not even see them."""
    # Only lock types that exist: `access` answers no for a type without a lock.
    kinds = [kind for kind in kinds_of_locks(body) if kind.startswith(LOCK)]
    return frozenset(kind.removeprefix(LOCK) for kind in kinds if not body.access(body, kind))


def specs_of_game() -> Specs:
    """The tools that the game's own modules registered, by name."""
    package = __name__.partition(".")[0]
    return {
        name: tool.spec
        for name, tool in REGISTRY.items()
        if tool.module.partition(".")[0] != package
    }


def execute_react_loop(
    script: Assistant, turn: Turn, model: TurnModel, pattern: ExecutionPattern
) -> Deferred[Stop]:
    """Run one turn. Cancelling the Deferred drops the model call and starts nothing more."""
    offered = toolbox(
        script, turn, pattern, is_small=model.is_small, is_grounded=model.inputs.is_grounded
    )
    # Logging stands outside the time limit, so that a call which timed out is logged as well.
    tools = Logged(Timed(offered, model.time.left), script.clock.seconds)
    ports = Ports(
        model,
        tools,
        ScriptCheckpoints(script),
        model.compose,
        TurnLimits(script),
        partial(shown, script.obj, turn),
        is_heard=partial(_is_heard, script, pattern),
    )
    ring = script.work.recorded
    running = partial(_run, script, turn, pattern)
    # Without recording the loop gets the bare ports and pays nothing for the feature.
    if not ring.is_on:
        return Deferred.fromCoroutine(running(ports))
    return Deferred.fromCoroutine(ring.run(turn, ports, running, script.clock.seconds))


def _is_heard(script: Assistant, pattern: ExecutionPattern, turn: Turn) -> bool:
    return delegations.is_heard(script, turn.event) or (
        can_be_paged(script, turn.event) and _offers(script, turn, pattern, PAGE)
    )


async def _run(script: Assistant, turn: Turn, pattern: ExecutionPattern, ports: Ports) -> Stop:
    try:
        return await tick.run(turn, ports, pattern)
    finally:
        # The world changes between two turns, so what was seen in this one no longer holds.
        script.work.tool_cache.clear_tick()


def execute_tool_call(
    script: Assistant, call: ToolCall, turn: Turn, settle: Settle | None = None
) -> Deferred[ToolResult]:
    """Run one tool by hand, behind the same gate as the model's calls but without a confirmation.

    Args:
        settle: gives the values that are stored together with the record of the call.
    """
    tools = Logged(Gated(guarded(script, is_by_hand=True), arguments_problem), script.clock.seconds)
    beside = script.work.beside
    running = Deferred.fromCoroutine(_run_by_hand(script, tools, call, turn, settle))
    # Most tools end at once; only one that still runs has to be found by a stop.
    if running.called:
        return running
    beside.add(running)

    def end(outcome: ToolResult | Failure) -> ToolResult | Failure:
        beside.discard(running)
        return outcome

    return running.addBoth(end)


async def _run_by_hand(
    script: Assistant, tools: Toolbox, call: ToolCall, turn: Turn, settle: Settle | None
) -> ToolResult:
    result = await tools.run(call, turn)
    turns.save(script, turn, **(settle(result) if settle is not None else {}))
    return result
