"""The limits of one turn, checked before each step; a person may extend them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.settings.safety import Loop
from evennia_ai.core.turn.execution import ExecutionMode, ExecutionPattern
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Ports
from evennia_ai.errors import LimitReachedError

# The settings of the limits that hold for all patterns.
_OF_LOOP: dict[LimitKind, Callable[[Loop], float]] = {
    LimitKind.CONTEXT_VISITS: attrgetter("max_context_visits"),
    LimitKind.MODEL_CALLS: attrgetter("max_model_calls_per_tick"),
    LimitKind.TASK_ITERATIONS: attrgetter("max_iterations_per_task"),
    LimitKind.TASK_TOKENS: attrgetter("max_tokens_per_task"),
    LimitKind.TOOL_CALLS: attrgetter("max_tool_calls_per_context"),
}


def require_room(turn: Turn, loop: Loop, tokens: int) -> None:
    """Raise unless a turn's limits have room for an auxiliary model call and for the answer itself.

    No person is asked to extend them, because the turn can do without such a call.

    Raises:
        LimitReachedError: there is no room.
    """
    chain, grants = turn.chain, turn.grants
    calls, task = LimitKind.MODEL_CALLS, LimitKind.TASK_TOKENS
    bounds = (
        (calls, turn.model_calls + 1, loop.max_model_calls_per_tick, grants, turn.scope),
        (task, turn.tokens + tokens, loop.max_tokens_per_task, grants, turn.scope),
        (task, chain.tokens + tokens, chain.most_tokens, chain.grants, chain.scope),
    )
    for kind, used, base, granted, scope in bounds:
        # ">=": at the limit, no call would be left for the answer. 0 is no limit.
        if base and used >= (cap := base + granted.get(kind, 0.0)):
            raise LimitReachedError(kind, used=used, cap=cap, amount=0, scope=scope)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one turn. Each check passes or raises LimitReachedError.

    Attributes:
        first_step: steps that the task's loop made before this tick.
    """

    turn: Turn
    ports: Ports
    pattern: ExecutionPattern
    first_step: int

    @property
    def last_step(self) -> float:
        """The number of the last step that this tick may make."""
        most = self.pattern.max_iterations
        # 0 is no limit, and a grant must not turn it into one.
        return self.first_step + (most and most + self.turn.grants.get(LimitKind.ITERATIONS, 0))

    @property
    def is_used_up(self) -> bool:
        """True if the next step is left to the next tick, which is no limit to extend."""
        is_step = self.pattern.mode is ExecutionMode.SINGLE_ACTION
        return is_step and self.turn.iterations >= self.last_step

    async def visit(self) -> None:
        """Count a tick of the task in its context."""
        await self._check(LimitKind.CONTEXT_VISITS, self.turn.visits)
        self.turn.visits += 1

    async def step(self) -> None:
        """Count a step of the loop, with its model call."""
        turn, used = self.turn, self.turn.iterations - self.first_step
        await self._check(LimitKind.ITERATIONS, used)
        await self.model_call()
        await self._check(LimitKind.TASK_ITERATIONS, turn.iterations)
        await self._within_chain(LimitKind.TASK_ITERATIONS, turn.iterations)
        turn.iterations += 1
        turn.chain.steps += 1

    async def model_call(self) -> None:
        """Count a model call, of the loop or an auxiliary one."""
        turn = self.turn
        await self._check(LimitKind.MODEL_CALLS, turn.model_calls)
        await self._check(LimitKind.TASK_TOKENS, turn.tokens)
        await self._within_chain(LimitKind.TASK_TOKENS, turn.tokens)
        turn.model_calls += 1

    async def _within_chain(self, kind: LimitKind, own: int) -> None:
        """Check the same limit over all turns of the chain of delegations.

        Args:
            own: the use of this task alone; if that is all, its own limit has been checked already.
        """
        chain = self.turn.chain
        while own < chain.used(kind) and (cap := chain.cap(kind)) and chain.used(kind) >= cap:
            amount, scope = chain.most(kind), chain.scope
            await self.extend(
                LimitReachedError(kind, used=chain.used(kind), cap=cap, amount=amount, scope=scope)
            )

    async def tool_call(self) -> None:
        """Count a tool call in this context."""
        await self._check(LimitKind.TOOL_CALLS, self.turn.tool_calls)
        self.turn.tool_calls += 1

    def note_cut(self, calls: int) -> None:
        """Record that a reply had more calls than may be run."""
        most = self.pattern.calls_per_reply
        if calls > most:
            kind, scope = LimitKind.CALLS_PER_REPLY, self.turn.scope
            hit = LimitReachedError(kind, used=calls, cap=most, amount=0, scope=scope)
            self.ports.limits.cut(self.turn, hit)

    def _base(self, kind: LimitKind) -> float:
        """The present limit without grants: settings may change while a person is asked."""
        if kind is LimitKind.ITERATIONS:
            return self.pattern.max_iterations
        return _OF_LOOP[kind](self.ports.limits.config.loop)

    async def _check(self, kind: LimitKind, used: float) -> None:
        grants = self.turn.grants
        # A loop, because a grant may be smaller than what is already used. 0 is no limit.
        while (base := self._base(kind)) and used >= (cap := base + grants.get(kind, 0)):
            scope = self.turn.scope
            await self.extend(LimitReachedError(kind, used=used, cap=cap, amount=base, scope=scope))

    async def extend(self, hit: LimitReachedError) -> None:
        """Ask a person to extend a reached limit; raise it if that is refused."""
        grants, chain = self.turn.grants, self.turn.chain
        before = grants.get(hit.kind, 0)
        may_go_on = await self.ports.limits.extend(self.turn, hit)
        # What a person grants to one turn holds for its whole chain of delegations.
        chain.grant(hit.kind, grants.get(hit.kind, 0) - before)
        # Asking a person may take minutes, in which the turn may have been stopped.
        self.ports.checkpoint_store.fence(self.turn)
        if not may_go_on:
            raise hit
