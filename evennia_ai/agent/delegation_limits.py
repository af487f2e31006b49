"""The limits of delegation: each lets one more task through, or asks a person who may allow it."""

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


async def pass_limits(script: Assistant, turn: Turn) -> None:
    """Let one more task through, or ask a person who may allow it.

    Raises:
        ToolError: a limit forbids it.
    """
    root = delegations.root_of(script, turn.event)
    if root is None:
        raise ToolError("nobody waits for your own task any more; let it be, with noop")
    # The first assistant of a chain decides: its cap, its settings, and its people are asked.
    await _pass_limit(
        root,
        turn,
        LimitKind.AGENT_HOPS,
        lambda: turn.hops,
        lambda: state.read(root, "max_agent_hops"),
        delegations.chain_of(turn),
        turn.event.hops_granted,
    )
    await _pass_limit(
        script,
        turn,
        LimitKind.DELEGATIONS,
        lambda: turn.delegations,
        lambda: state.safety_config(script).loop.max_delegations_per_task,
        turn.scope,
    )
    await _pass_chain_limit(root, turn)
    await _pass_limit(
        script,
        turn,
        LimitKind.DELEGATES_AT_ONCE,
        lambda: delegations.count_of(script) + remote_tasks.count_of(script),
        lambda: (
            ExecutionConfig.from_stored(state.read(script, "execution_config")).sub_agent_budget
        ),
        turn.scope,
    )


async def _pass_chain_limit(root: Assistant, turn: Turn) -> None:
    """Apply the limit on delegations to the whole chain, where others delegated parts of it."""
    kind, chain = LimitKind.DELEGATIONS, turn.chain
    while turn.delegations < chain.used(kind) and 0 < (cap := chain.cap(kind)) <= chain.used(kind):
        hit = LimitReachedError(kind, used=chain.used(kind), cap=cap, amount=1, scope=chain.scope)
        await extend(root, turn, hit)


async def extend(owner: Assistant, turn: Turn, hit: LimitReachedError) -> None:
    """Go on only if a person or a setting allows it; the whole chain gets the grant."""
    # `TurnLimits.extend` adds to the turn's grants; the difference is what the chain gets.
    before = turn.grants.get(hit.kind, 0.0)
    if not await checkpoints.TurnLimits(owner).extend(turn, hit):
        raise ToolError(denial(hit, DecisionReason(hit.reason)))
    turn.chain.grant(hit.kind, turn.grants.get(hit.kind, 0.0) - before)


async def _pass_limit(
    owner: Assistant,
    turn: Turn,
    kind: LimitKind,
    used: Callable[[], float],
    base: Callable[[], float],
    scope: str,
    granted: int = 0,
) -> None:
    """Return while there is room; otherwise ask for one more, as often as it takes."""
    # Functions, read again at each round: while people are asked, counts and settings may change.
    while (most := base()) and used() >= (cap := most + granted + turn.grants.get(kind, 0.0)):
        hit = LimitReachedError(kind, used=used(), cap=cap, amount=1, scope=scope)
        await extend(owner, turn, hit)


def denial(hit: LimitReachedError, reason: DecisionReason) -> str:
    """The error that the model reads where nobody lets it go on."""
    return denial_text(LimitKind(hit.kind), hit.cap, hit.scope, reason, has_partial=False)
