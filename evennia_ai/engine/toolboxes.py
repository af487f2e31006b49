"""Wrappers around a toolbox, one concern each. From the outside in they are used like this.

    Logged(Timed(Gated(Offered(Timely(Confirmed(Noted(Cached(Retried(Protected(Confined(tools)))))))))))

What a small model or a crowd of tools needs stands right behind the gate (`Fitted`, `Findable`).
Whatever happens inside, the outcome is a value; only a cancelled turn is an exception.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evennia_ai.core.hearing.staleness import PAGE, WAIT
from evennia_ai.core.turn.executions import name_of, tool_executed
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Keeper, Specs, Toolbox
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

Check = Callable[[ToolSpec, Mapping[str, Any]], str]
Wait = Callable[[float], Awaitable[object]]
MOST_NAMED = 40
# What a tool raises beside ToolError is a defect, of whatever kind.
OF_TOOLS = CircuitBreakerConfig(excluded_exceptions=())


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Offers the tools of the one inside; each changes one thing about how a call is run.

    Attributes:
        specs: gives the tools on offer, by name.
    """

    inner: Toolbox
    specs: Callable[[], Specs] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Asked of the one that knows, not from each to the next.
        object.__setattr__(self, "specs", self.inner.specs)


@dataclass(frozen=True, slots=True)
class Logged(Wrapper):
    """Puts down in the turn what came of each call, for the record.

    Args:
        clock: seconds.
    """

    clock: Callable[[], float]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call."""
        began = self.clock()
        result = await self.inner.run(call, turn)
        spec = self.specs().get(call.name)
        # After the call: `acts` tells what was done, and a cancelled call is recorded elsewhere.
        turn.acts.append(name_of(turn, call.name, spec))
        seconds = self.clock() - began
        told = tool_executed(turn, call, result, seconds=seconds, spec=spec)
        turn.facts.append(told)
        turn.ran.append(told)
        return result


@dataclass(frozen=True, slots=True)
class Gated(Wrapper):
    """Lets through only calls that name a tool on offer, with arguments that fit its schema.

    Args:
        check: says what is wrong with arguments, or "".
    """

    check: Check

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, or tell the model what is wrong with it."""
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
    """Gives no tool more time than its tick has left.

    Args:
        left: seconds that are left, or None without a limit; raises LimitReachedError with none.
    """

    left: Callable[[], float | None]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call."""
        # The last word after a limit has a time of its own: that limit may be this one.
        seconds = None if turn.stopped_by else self.left()
        if seconds is not None:
            call = replace(call, deadline_seconds=seconds)
        return await self.inner.run(call, turn)


@dataclass(frozen=True, slots=True)
class Timely(Wrapper):
    """Gives an answer whose moment is over another way, or none.

    Args:
        timed: gives the call as it is run now, or its result where it is not; raises
            NobodyListensError where the turn ends with it.
    """

    timed: Callable[[Turn, ToolSpec, ToolCall], ToolCall | ToolResult]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, and say where it went another way.

        Raises:
            NobodyListensError: whoever is elsewhere could not be told there either.
        """
        given = self.timed(turn, self.inner.specs()[call.name], call)
        if isinstance(given, ToolResult):
            return given
        if given is call:
            return await self.inner.run(call, turn)
        # What is set down while it is tried is that it has not gone this way.
        turn.stale_way = WAIT
        result = await self.inner.run(given, turn)
        if result.success:
            turn.stale_way = given.name
        # The page was the last way to reach them; nothing more is paid for.
        elif given.name == PAGE:
            raise NobodyListensError(result.text)
        told = f"its moment was over, so it went by {given.name}: {result.text}"
        return replace(result, text=told)


@dataclass(frozen=True, slots=True)
class Confirmed(Wrapper):
    """Asks a person before a dangerous call is run, and runs it only when they said yes.

    Args:
        ask: puts the question; its result tells the model that it has to wait.
        is_always: whether every dangerous call needs it, not only those whose tool says so.
    """

    ask: Callable[[Turn, ToolCall], ToolResult]
    is_always: bool

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, or ask whether it may be run."""
        spec = self.inner.specs()[call.name]
        is_dangerous = spec.category is ToolCategory.DANGEROUS and self.is_always
        if spec.needs_confirmation or is_dangerous:
            return self.ask(turn, call)
        return await self.inner.run(call, turn)


@dataclass(frozen=True, slots=True)
class Noted(Wrapper):
    """Notes durably what others will notice before it happens, so that it never happens twice."""

    keeper: Keeper

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call; when it failed the note is taken back, so that no question is lost."""
        if not self.inner.specs()[call.name].is_noticed:
            return await self.inner.run(call, turn)
        # Before and not after: a crash in between means silence, and not the same twice.
        self.keeper.before_effect(turn, call)
        result = await self.inner.run(call, turn)
        if result.success:
            turn.effects += 1
        else:
            self.keeper.forget_effect(turn)
        return result


@dataclass(frozen=True, slots=True)
class Cached(Wrapper):
    """Answers an equal call of a cacheable tool with the success of an earlier one.

    What a call that others notice has changed is looked at anew.

    Args:
        start: makes a coroutine something that several can wait for (`Deferred.fromCoroutine`).
    """

    cache: ToolResultCache
    start: Callable[[Coroutine[Any, Any, ToolResult]], Any]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, unless its result is known."""
        spec = self.inner.specs()[call.name]
        if spec.cacheable:
            result: ToolResult = await self._known(call, turn, spec)
            return result
        result = await self.inner.run(call, turn)
        if spec.is_noticed and result.success:  # the world is another now
            self.cache.clear_tick()
        return result

    def _known(self, call: ToolCall, turn: Turn, spec: ToolSpec) -> Awaitable[ToolResult]:
        outcome: Any = self.cache.get_or_run(
            get_cache_key(call.name, **call.arguments),
            lambda: self.start(self.inner.run(call, turn)),
            scope=spec.cache_scope,
            ttl=spec.cache_ttl,
        )
        return _ready(outcome) if isinstance(outcome, ToolResult) else outcome


async def _ready(result: ToolResult) -> ToolResult:
    return result


@dataclass(frozen=True, slots=True)
class Retried(Wrapper):
    """Tries a call again that failed for something that may pass, within the tool's own time.

    Only calls that nobody notices, or whose tool says that twice is as good as once.

    Args:
        wait: waits so many seconds.
        clock: seconds, monotonic.
        random: gives a number from 0 to 1.
    """

    config: RetryConfig
    wait: Wait
    clock: Callable[[], float]
    random: Callable[[], float]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call as often as it makes sense."""
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
            # Each try gets what is left, so that all together keep the tool's own time.
            timed = replace(call, deadline_seconds=plan.seconds_left)
            result = await self.inner.run(timed, turn)
            # A refusal without an error is the tool's answer, and the same at the second try.
            seconds = plan.wait_after(result.error) if result.error is not None else None
            if seconds is None:
                return result
            await self.wait(seconds)


@dataclass(frozen=True, slots=True)
class Protected(Wrapper):
    """Turns whatever a tool raises into a result, and keeps a breaker for each tool.

    A tool that says what cannot be done works as it should. One that is late, or fails in a way
    nobody expected, counts towards its breaker, and `report` is told of what nobody expected.

    Args:
        fence: raises StaleEpochError when the turn was cancelled.
    """

    breakers: CircuitBreakerRegistry
    report: Callable[[Turn, ToolCall, BaseException], None]
    fence: Callable[[Turn], object] = lambda turn: None

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, if its breaker lets it. After a stop none is begun, nor tried again."""
        self.fence(turn)
        try:
            permit = self.breakers.get_or_create(f"tool:{call.name}", OF_TOOLS).acquire()
        except CircuitOpenError as error:
            return _unavailable(call, error)
        try:
            result = await self.inner.run(call, turn)
            permit.success()
            return result
        # A stop is no outcome of the tool, and must not open its breaker.
        except StaleEpochError:
            raise
        except ToolTimeoutError as error:
            permit.failure(error)
            return ToolResult(False, str(error), Fault.TIMEOUT, error)
        except ToolDeniedError as error:
            permit.success()  # a lock that holds is not a defect of the tool
            return ToolResult(False, str(error), Fault.DENIED, error)
        except ToolError as error:
            permit.success()
            return ToolResult(False, str(error), Fault.FAILED, error)
        except CircuitOpenError as error:
            return _unavailable(call, error)
        except Exception as error:
            self.fence(turn)  # what a stop cut off says nothing of the tool
            permit.failure(error)
            self.report(turn, call, error)
            text = f"{call.name} failed inside the game; do something else"
            return ToolResult(False, text, Fault.INTERNAL, error)
        finally:
            permit.release()


@dataclass(frozen=True, slots=True)
class Confined(Wrapper):
    """Lets words of a turn leave only to those who may know them, asked right before they do.

    Args:
        guard: gives the call as it may be run, or what was done in its place; raises ToolError
            where nothing of it may leave.
    """

    guard: Callable[[Turn, ToolSpec, ToolCall], ToolCall | ToolResult]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, and note to whom alone it spoke."""
        # Left from the call before, it would make this one's words private to that person.
        turn.addressee = ""
        # Most turns hold nothing private, and need no look at who listens.
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
