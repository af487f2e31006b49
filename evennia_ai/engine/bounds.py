"""The limits of one turn, checked before each step; a person may extend them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.settings.safety import Loop
from evennia_ai.core.turn.execution import ExecutionMode, ExecutionPattern
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Ports
from evennia_ai.errors import LimitReachedError


def require_room(turn: Turn, loop: Loop, tokens: int) -> None:
    """Raise unless a turn's limits have room for an auxiliary model call and for the answer itself.

    No person is asked to extend them, because the turn can do without such a call.

    Args:
        tokens: of the call, prompt and answer together.

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
        return self.first_step + self._cap(LimitKind.ITERATIONS, self.pattern.max_iterations)

    @property
    def is_used_up(self) -> bool:
        """True if the next step is left to the next tick, which is no limit to extend."""
        is_step = self.pattern.mode is ExecutionMode.SINGLE_ACTION
        return is_step and self.turn.iterations >= self.last_step

    async def visit(self) -> None:
        """Count a tick of the task in its context."""
        used = self.turn.visits
        await self._check(LimitKind.CONTEXT_VISITS, used, lambda: self._loop.max_context_visits)
        self.turn.visits += 1

    async def step(self) -> None:
        """Count a step of the loop, with its model call."""
        turn, used = self.turn, self.turn.iterations - self.first_step
        await self._check(LimitKind.ITERATIONS, used, lambda: self.pattern.max_iterations)
        await self.model_call()
        kind = LimitKind.TASK_ITERATIONS
        await self._check(kind, turn.iterations, lambda: self._loop.max_iterations_per_task)
        await self._within_chain(kind, turn.iterations)
        turn.iterations += 1
        turn.chain.steps += 1

    async def model_call(self) -> None:
        """Count a model call, of the loop or an auxiliary one."""
        turn, kind = self.turn, LimitKind.MODEL_CALLS
        await self._check(kind, turn.model_calls, lambda: self._loop.max_model_calls_per_tick)
        kind = LimitKind.TASK_TOKENS
        await self._check(kind, turn.tokens, lambda: self._loop.max_tokens_per_task)
        await self._within_chain(kind, turn.tokens)
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

    @property
    def _loop(self) -> Loop:
        """The present limits: settings may change while a person is asked."""
        return self.ports.limits.config.loop

    async def tool_call(self) -> None:
        """Count a tool call in this context."""
        kind, used = LimitKind.TOOL_CALLS, self.turn.tool_calls
        await self._check(kind, used, lambda: self._loop.max_tool_calls_per_context)
        self.turn.tool_calls += 1

    def note_cut(self, calls: int) -> None:
        """Record that a reply had more calls than may be run."""
        most = self.pattern.calls_per_reply
        if calls > most:
            kind, scope = LimitKind.CALLS_PER_REPLY, self.turn.scope
            hit = LimitReachedError(kind, used=calls, cap=most, amount=0, scope=scope)
            self.ports.limits.cut(self.turn, hit)

    def _cap(self, kind: LimitKind, base: float) -> float:
        # 0 is no limit, and a grant must not turn it into one.
        return base and base + self.turn.grants.get(kind, 0)

    async def _check(self, kind: LimitKind, used: float, base: Callable[[], float]) -> None:
        # A loop, because a grant may be smaller than what is already used.
        while (cap := self._cap(kind, base())) and used >= cap:
            amount, scope = base(), self.turn.scope
            await self.extend(
                LimitReachedError(kind, used=used, cap=cap, amount=amount, scope=scope)
            )

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
