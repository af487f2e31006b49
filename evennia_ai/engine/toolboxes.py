"""Toolbox wrappers, one concern each. They are stacked like this, from the outside in.

    Logged(Timed(Gated(Offered(Timely(Confirmed(Noted(Cached(Retried(Protected(Confined(tools)))))))))))

`Fitted` (for small models) and `Findable` (for many tools) come right inside `Gated`. The outcome
of a call is always a ToolResult; only a cancelled turn raises.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evennia_ai.core.hearing.staleness import PAGE, WAIT
from evennia_ai.core.turn.executions import name_of, tool_executed
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import CheckpointStore, Specs, Toolbox
from evennia_ai.errors import (
    CircuitOpenError,
    NobodyListensError,
    StaleEpochError,
    ToolDeniedError,
    ToolError,
    ToolTimeoutError,
)
from evennia_ai.resilience import (
    CircuitBreakerConfig,
    CircuitBreakerRegistry,
    RetryConfig,
    RetryPlan,
    ToolResultCache,
    get_cache_key,
)
from evennia_ai.resilience.caching import TICK

Check = Callable[[ToolSpec, Mapping[str, Any]], str]
Wait = Callable[[float], Awaitable[object]]
MOST_NAMED = 40  # tool names in the error for an unknown one
# Any error of a tool but ToolError is a defect, also the ValueError that breakers usually exclude.
OF_TOOLS = CircuitBreakerConfig(excluded_exceptions=())


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Base of wrappers that change one thing about how a call is run."""

    inner: Toolbox
    specs: Callable[[], Specs] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # The innermost method itself, so that a lookup does not pass through ten wrappers.
        object.__setattr__(self, "specs", self.inner.specs)


@dataclass(frozen=True, slots=True)
class Logged(Wrapper):
    """Adds an audit event about each call to the turn.

    Args:
        clock: seconds.
    """

    clock: Callable[[], float]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call."""
        began = self.clock()
        result = await self.inner.run(call, turn)
        spec = self.specs().get(call.name)
        # After the call: `acts` lists completed calls, and a cancelled one is recorded elsewhere.
        turn.acts.append(name_of(turn, call.name, spec))
        seconds = self.clock() - began
        event = tool_executed(turn, call, result, seconds=seconds, spec=spec)
        turn.audit_events.append(event)
        turn.ran.append(event)
        return result


@dataclass(frozen=True, slots=True)
class Gated(Wrapper):
    """Refuses calls of unknown tools, and arguments that do not fit the schema.

    Args:
        check: gives the problem with arguments, or "".
    """

    check: Check

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, or return the problem."""
        specs = self.specs()
        spec = specs.get(call.name)
        if spec is None:
            names = ", ".join(list(specs)[:MOST_NAMED])
            text = f"there is no tool {call.name!r}; there are {names}"
            return ToolResult(False, text, Fault.UNKNOWN_TOOL)
        problem = call.problem or self.check(spec, call.arguments)
        if problem:
            return ToolResult(False, problem, Fault.BAD_ARGUMENTS)
        return await self.inner.run(call, turn)


@dataclass(frozen=True, slots=True)
class Timed(Wrapper):
    """Bounds the time of a call by what its tick has left.

    Args:
        left: gives the seconds left, or None without a limit; raises LimitReachedError at 0.
    """

    left: Callable[[], float | None]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call."""
        # The last answer after a limit is exempt, since that limit may have been this one.
        seconds = None if turn.stopped_by else self.left()
        if seconds is not None:
            call = replace(call, deadline_seconds=seconds)
        return await self.inner.run(call, turn)


@dataclass(frozen=True, slots=True)
class Timely(Wrapper):
    """Redirects or drops an answer that comes too late for its situation.

    Args:
        timed: gives the call to run now, or a result if it is not run; raises NobodyListensError
            if the turn ends with it.
    """

    timed: Callable[[Turn, ToolSpec, ToolCall], ToolCall | ToolResult]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, and tell the model if it was redirected.

        Raises:
            NobodyListensError: the redirected call failed, and there is no other way.
        """
        timely_call = self.timed(turn, self.inner.specs()[call.name], call)
        if isinstance(timely_call, ToolResult):
            return timely_call
        if timely_call is call:
            return await self.inner.run(call, turn)
        # A checkpoint taken during the call must not say that it has gone out already.
        turn.stale_way = WAIT
        result = await self.inner.run(timely_call, turn)
        if result.success:
            turn.stale_way = timely_call.name
        # A page is the last way to reach a person; more model calls would be wasted.
        elif timely_call.name == PAGE:
            raise NobodyListensError(result.text)
        text = f"its moment was over, so it went by {timely_call.name}: {result.text}"
        return replace(result, text=text)


@dataclass(frozen=True, slots=True)
class Confirmed(Wrapper):
    """Asks a person before a dangerous call; it is run later, after a yes.

    Args:
        ask: asks the question; its result tells the model to wait.
        is_always: True: for every dangerous tool, not only those that demand it.
    """

    ask: Callable[[Turn, ToolCall], ToolResult]
    is_always: bool

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, or ask for permission."""
        spec = self.inner.specs()[call.name]
        is_dangerous = spec.category is ToolCategory.DANGEROUS and self.is_always
        if spec.needs_confirmation or is_dangerous:
            return self.ask(turn, call)
        return await self.inner.run(call, turn)


@dataclass(frozen=True, slots=True)
class Noted(Wrapper):
    """Stores the intent of a noticeable call before it is run, so that it is never run twice."""

    checkpoint_store: CheckpointStore

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call; after a failure the intent is removed, so that the message is answered."""
        if not self.inner.specs()[call.name].is_noticed:
            return await self.inner.run(call, turn)
        # Write-ahead: after a crash in between, the assistant is silent rather than acts twice.
        self.checkpoint_store.before_effect(turn, call)
        result = await self.inner.run(call, turn)
        if result.success:
            turn.effects += 1
        else:
            self.checkpoint_store.forget_effect(turn)
        return result


@dataclass(frozen=True, slots=True)
class Cached(Wrapper):
    """Caches successful results of cacheable tools; a noticeable call clears the tick's cache.

    Args:
        start: turns a coroutine into an object for several waiters (`Deferred.fromCoroutine`).
    """

    cache: ToolResultCache
    start: Callable[[Coroutine[Any, Any, ToolResult]], Any]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, unless its result is cached."""
        spec = self.inner.specs()[call.name]
        if spec.cacheable:
            result: ToolResult = await self._known(call, turn, spec)
            return result
        result = await self.inner.run(call, turn)
        if spec.is_noticed and result.success:  # it may have changed what other tools return
            self.cache.clear_tick()
        return result

    def _known(self, call: ToolCall, turn: Turn, spec: ToolSpec) -> Awaitable[ToolResult]:
        key: object = get_cache_key(call.name, **call.arguments)
        if spec.cache_scope == TICK:
            # Turns may overlap: one waits for a person while another is answered.
            key = turn.scope, key
        outcome: Any = self.cache.get_or_run(
            key,
            lambda: self.start(self._run_inner(call, turn)),
            scope=spec.cache_scope,
            ttl=spec.cache_ttl,
        )
        return _ready(outcome) if isinstance(outcome, ToolResult) else outcome

    async def _run_inner(self, call: ToolCall, turn: Turn) -> ToolResult:
        result = await self.inner.run(call, turn)
        # The cache shares only plain values. The retries, further in, have read the error already.
        return result if result.error is None else replace(result, error=None)


async def _ready(result: ToolResult) -> ToolResult:
    return result


@dataclass(frozen=True, slots=True)
class Retried(Wrapper):
    """Retries calls that failed for a temporary reason, within the tool's timeout.

    Only calls that may be repeated: those that no one notices, or whose tool is idempotent.

    Args:
        wait: waits for some seconds.
        clock: monotonic seconds.
        random: gives a number from 0 to 1.
    """

    config: RetryConfig
    wait: Wait
    clock: Callable[[], float]
    random: Callable[[], float]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, and again after a temporary failure."""
        spec = self.inner.specs()[call.name]
        if not spec.may_repeat:
            return await self.inner.run(call, turn)
        most = call.deadline_seconds
        plan = RetryPlan(
            self.config,
            deadline_seconds=spec.timeout_seconds
            if most is None
            else min(spec.timeout_seconds, most),
            clock=self.clock,
            random=self.random,
        )
        while True:
            # Each attempt gets only the time left, so that all together keep the tool's timeout.
            timed = replace(call, deadline_seconds=plan.seconds_left)
            result = await self.inner.run(timed, turn)
            # A failure without an error is the tool's answer, and would be the same again.
            seconds = plan.wait_after(result.error) if result.error is not None else None
            if seconds is None:
                return result
            await self.wait(seconds)


@dataclass(frozen=True, slots=True)
class Protected(Wrapper):
    """Turns errors of tools into results, and keeps a circuit breaker for each tool.

    A ToolError is a normal answer. A timeout or an unexpected error counts towards the breaker.

    Args:
        report: called for each unexpected error.
        fence: raises StaleEpochError if the turn was cancelled.
    """

    breakers: CircuitBreakerRegistry
    report: Callable[[Turn, ToolCall, BaseException], None]
    fence: Callable[[Turn], object] = lambda turn: None

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call if its breaker is closed and the turn was not cancelled."""
        # Also before each retry: after a stop, no call may begin.
        self.fence(turn)
        try:
            permit = self.breakers.get_or_create(f"tool:{call.name}", OF_TOOLS).acquire()
        except CircuitOpenError as error:
            return _unavailable(call, error)
        try:
            result = await self.inner.run(call, turn)
            permit.success()
            return result
        # A stop says nothing about the tool and must not open its breaker.
        except StaleEpochError:
            raise
        except ToolTimeoutError as error:
            permit.failure(error)
            return ToolResult(False, str(error), Fault.TIMEOUT, error)
        except ToolDeniedError as error:
            permit.success()  # the tool works; a lock of the game refused
            return ToolResult(False, str(error), Fault.DENIED, error)
        except ToolError as error:
            permit.success()
            return ToolResult(False, str(error), Fault.FAILED, error)
        except CircuitOpenError as error:
            return _unavailable(call, error)
        except Exception as error:
            self.fence(turn)  # an error caused by a stop says nothing about the tool
            permit.failure(error)
            self.report(turn, call, error)
            text = f"{call.name} failed inside the game; do something else"
            return ToolResult(False, text, Fault.INTERNAL, error)
        finally:
            permit.release()


@dataclass(frozen=True, slots=True)
class Confined(Wrapper):
    """Keeps private words of a turn from reaching people who may not know them.

    Args:
        guard: gives the call that may be run, or the result of another action; raises ToolError
            if nothing may be said.
    """

    guard: Callable[[Turn, ToolSpec, ToolCall], ToolCall | ToolResult]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, and note its addressee if it spoke to one person alone."""
        # The previous call's addressee would make this call's words private to that person.
        turn.addressee = ""
        # Checked last of all wrappers: people may come and go until the call is run. Most turns
        # hold nothing private and need no check of who listens.
        if turn.held:
            allowed = self.guard(turn, self.inner.specs()[call.name], call)
            if isinstance(allowed, ToolResult):
                return self._noted(call, turn, allowed)
            call = allowed
        return self._noted(call, turn, await self.inner.run(call, turn))

    def _noted(self, call: ToolCall, turn: Turn, result: ToolResult) -> ToolResult:
        if turn.addressee:
            turn.asides[call.id] = turn.addressee
        return result


def _unavailable(call: ToolCall, error: CircuitOpenError) -> ToolResult:
    text = f"{call.name} does not work at present; do without it"
    return ToolResult(False, text, Fault.UNAVAILABLE, error)
