"""The limits of one turn: checked before each step, and extended where somebody says yes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.safety.monitor import Halt
from evennia_ai.core.settings.safety import Loop
from evennia_ai.core.turn.execution import ExecutionMode, ExecutionPattern
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Ports
from evennia_ai.errors import LimitReachedError


def require_room(turn: Turn, loop: Loop, tokens: int) -> None:
    """Go on only where a turn's limits leave room for a model call beside its loop, and an answer.

    Nobody is asked for more: what the call is for can be had without it.

    Args:
        tokens: that the call takes, prompt and answer together.

    Raises:
        LimitReachedError: they do not.
    """
    chain, grants = turn.chain, turn.grants
    calls, task = LimitKind.MODEL_CALLS, LimitKind.TASK_TOKENS
    bounds = (
        (calls, turn.model_calls + 1, loop.max_model_calls_per_tick, grants, turn.scope),
        (task, turn.tokens + tokens, loop.max_tokens_per_task, grants, turn.scope),
        (task, chain.tokens + tokens, chain.most_tokens, chain.grants, chain.scope),
    )
    for kind, used, base, granted, scope in bounds:
        if base and used >= (cap := base + granted.get(kind, 0.0)):
            raise LimitReachedError(kind, used=used, cap=cap, amount=0, scope=scope)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one turn. Each check passes, or raises LimitReachedError.

    Attributes:
        first_step: model calls of the loop that its task made before this tick.
    """

    turn: Turn
    ports: Ports
    pattern: ExecutionPattern
    first_step: int

    @property
    def last_step(self) -> float:
        """The step after which the steps of this tick are used up."""
        return self.first_step + self._cap(LimitKind.ITERATIONS, self.pattern.max_iterations)

    @property
    def is_used_up(self) -> bool:
        """True where the next step belongs to the next beat: that is not a limit to extend."""
        is_step = self.pattern.mode is ExecutionMode.SINGLE_ACTION
        return is_step and self.turn.iterations >= self.last_step

    async def visit(self) -> None:
        """One more tick of the task in its context."""
        used = self.turn.visits
        await self._check(LimitKind.CONTEXT_VISITS, used, lambda: self._loop.max_context_visits)
        self.turn.visits += 1

    async def step(self) -> None:
        """One more step of the loop, which is one model call."""
        turn, used = self.turn, self.turn.iterations - self.first_step
        await self._check(LimitKind.ITERATIONS, used, lambda: self.pattern.max_iterations)
        await self.model_call()
        # Read anew: somebody may have been waited for.
        kind, most = LimitKind.TASK_ITERATIONS, self._loop.max_iterations_per_task
        if isinstance(turn.monitor.on_tick_start(self._cap(kind, most)), Halt):
            await self.grant(kind, turn.iterations, most)
        await self._within_chain(kind, turn.iterations)
        turn.iterations += 1
        turn.chain.steps += 1

    async def model_call(self) -> None:
        """One more model call, be it of the loop or beside it."""
        turn, kind = self.turn, LimitKind.MODEL_CALLS
        await self._check(kind, turn.model_calls, lambda: self._loop.max_model_calls_per_tick)
        # Again after each grant: what was granted may be less than what is used already.
        while isinstance(turn.monitor.before_model_call(turn.tokens, self._task_tokens), Halt):
            most = self._loop.max_tokens_per_task
            await self.grant(LimitKind.TASK_TOKENS, turn.tokens, most)
        await self._within_chain(LimitKind.TASK_TOKENS, turn.tokens)
        turn.model_calls += 1

    async def _within_chain(self, kind: LimitKind, own: int) -> None:
        """The same limit over all turns of the chain, where others of it had a part in that.

        Args:
            own: what this task used by itself.
        """
        chain = self.turn.chain
        while own < chain.used(kind) and (cap := chain.cap(kind)) and chain.used(kind) >= cap:
            amount, scope = chain.most(kind), chain.scope
            await self.extend(
                LimitReachedError(kind, used=chain.used(kind), cap=cap, amount=amount, scope=scope)
            )

    @property
    def _task_tokens(self) -> float:
        return self._cap(LimitKind.TASK_TOKENS, self._loop.max_tokens_per_task)

    @property
    def _loop(self) -> Loop:
        """As it holds now: a setting may change while somebody is asked."""
        return self.ports.limits.config.loop

    async def tool_call(self) -> None:
        """One more tool call in this context."""
        kind, used = LimitKind.TOOL_CALLS, self.turn.tool_calls
        await self._check(kind, used, lambda: self._loop.max_tool_calls_per_context)
        self.turn.tool_calls += 1

    def note_cut(self, calls: int) -> None:
        """Record that a reply held more calls than are run."""
        most = self.pattern.calls_per_reply
        if calls > most:
            kind, scope = LimitKind.CALLS_PER_REPLY, self.turn.scope
            hit = LimitReachedError(kind, used=calls, cap=most, amount=0, scope=scope)
            self.ports.limits.cut(self.turn, hit)

    def _cap(self, kind: LimitKind, base: float) -> float:
        # 0 is no limit, and stays none whatever was granted.
        return base and base + self.turn.grants.get(kind, 0)

    async def _check(self, kind: LimitKind, used: float, base: Callable[[], float]) -> None:
        while (cap := self._cap(kind, base())) and used >= cap:
            await self.grant(kind, used, base())

    async def grant(self, kind: LimitKind, used: float, amount: float) -> None:
        """Go on only if somebody lets it."""
        cap = amount + self.turn.grants.get(kind, 0)
        await self.extend(
            LimitReachedError(kind, used=used, cap=cap, amount=amount, scope=self.turn.scope)
        )

    async def extend(self, hit: LimitReachedError) -> None:
        """Go on only if somebody lets it; whatever happened meanwhile counts."""
        grants, chain = self.turn.grants, self.turn.chain
        before = grants.get(hit.kind, 0)
        may_go_on = await self.ports.limits.extend(self.turn, hit)
        # The whole chain of delegations shares what a person allowed one of its turns.
        chain.grant(hit.kind, grants.get(hit.kind, 0) - before)
        # Asking a person takes minutes, in which a stop may have come.
        self.ports.keeper.fence(self.turn)
        if not may_go_on:
            raise hit
