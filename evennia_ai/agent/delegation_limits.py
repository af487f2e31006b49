"""The limits of handing tasks on: each lets one more through, or asks somebody who may allow it."""

from __future__ import annotations

from collections.abc import Callable

from evennia_ai.approvals import checkpoints
from evennia_ai.core.safety.limits import DecisionReason, LimitKind, denial_text
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import LimitReachedError, ToolError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tasks import delegations, remote_tasks


def tasks_away(script: Assistant) -> int:
    """The number of an assistant's tasks that are with others, in the game and elsewhere."""
    return delegations.count_of(script) + remote_tasks.count_of(script)


async def pass_limits(script: Assistant, turn: Turn) -> None:
    """Let one more task through, or ask somebody who may allow it.

    Raises:
        ToolError: a limit forbids it.
    """
    root = delegations.root_of(script, turn.event)
    if root is None:
        raise ToolError("nobody waits for your own task any more; let it be, with noop")
    # A chain is its first assistant's: its cap, its settings, and its people who are asked.
    await _pass(
        root,
        turn,
        LimitKind.AGENT_HOPS,
        lambda: turn.hops,
        lambda: state.read(root, "max_agent_hops"),
        delegations.chain_of(turn),
        turn.event.hops_granted,
    )
    await _pass(
        script,
        turn,
        LimitKind.DELEGATIONS,
        lambda: turn.delegations,
        lambda: state.safety_config(script).loop.max_delegations_per_task,
        turn.scope,
    )
    await _pass_chain(root, turn)
    await _pass(
        script,
        turn,
        LimitKind.DELEGATES_AT_ONCE,
        lambda: tasks_away(script),
        lambda: _most_at_once(script),
        turn.scope,
    )


def _most_at_once(script: Assistant) -> int:
    config = ExecutionConfig.from_stored(state.read(script, "execution_config"))
    return config.sub_agent_budget


async def _pass_chain(root: Assistant, turn: Turn) -> None:
    """The same over all tasks of the chain, where others handed on some of them."""
    kind, chain = LimitKind.DELEGATIONS, turn.chain
    while turn.delegations < chain.used(kind) and 0 < (cap := chain.cap(kind)) <= chain.used(kind):
        hit = LimitReachedError(kind, used=chain.used(kind), cap=cap, amount=1, scope=chain.scope)
        await extend(root, turn, hit)


async def extend(owner: Assistant, turn: Turn, hit: LimitReachedError) -> None:
    """Go on only if somebody lets it, and let its chain go on as well."""
    before = turn.grants.get(hit.kind, 0.0)
    if not await checkpoints.TurnLimits(owner).extend(turn, hit):
        raise ToolError(denial(hit, DecisionReason(hit.reason)))
    turn.chain.grant(hit.kind, turn.grants.get(hit.kind, 0.0) - before)


async def _pass(
    owner: Assistant,
    turn: Turn,
    kind: LimitKind,
    used: Callable[[], float],
    base: Callable[[], float],
    scope: str,
    granted: int = 0,
) -> None:
    """Pass while there is room; else ask for one more, as often as it takes."""
    while (most := base()) and used() >= (cap := most + granted + turn.grants.get(kind, 0.0)):
        hit = LimitReachedError(kind, used=used(), cap=cap, amount=1, scope=scope)
        await extend(owner, turn, hit)


def denial(hit: LimitReachedError, reason: DecisionReason) -> str:
    """The error that the asking model reads where nobody lets it go on."""
    return denial_text(LimitKind(hit.kind), hit.cap, hit.scope, reason, has_partial=False)
