"""The toolboxes of a character: the registered tools, and those of MCP servers beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs, Toolbox
from evennia_ai.errors import ToolError, ToolTimeoutError
from evennia_ai.mcp.servers import RemoteServers
from evennia_ai.runtime.assistant import Character, Clock
from evennia_ai.tools.orders import as_ordered, may
from evennia_ai.tools.registry import SPECS, TOOL_REGISTRY
from evennia_ai.tools.results import as_result
from evennia_ai.tools.schema import fitted


@dataclass(frozen=True, slots=True)
class CharacterTools:
    """The registered tools, run as one character under the game's locks.

    A lock of the type `tool_<name>` on the character forbids or limits a tool; without one it is
    allowed.

    Args:
        clock: the reactor, or a test's clock.
    """

    character: Character
    clock: Clock

    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools on offer, by name."""
        return SPECS

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call, whose arguments fit the schema.

        Raises:
            ToolError: it may not or cannot be done.
            ToolTimeoutError: it took too long, and was cancelled.
        """
        tool = TOOL_REGISTRY[call.name]
        self.check(call.name, turn)
        seconds = _limit(tool.spec, call)
        given = {"turn": turn} if tool.takes_turn else {}
        with as_ordered(self.character, turn):
            outcome = tool.execute(self.character, **fitted(tool.spec, call.arguments), **given)
            if inspect.iscoroutine(outcome):
                outcome = Deferred.fromCoroutine(outcome)
            if isinstance(outcome, Deferred):
                outcome = await _within(seconds, outcome, self.clock, tool.name)
        return as_result(outcome)

    def check(self, name: str, turn: Turn) -> None:
        """Refuse a tool that this character, or whoever gave it the order, may not use.

        Raises:
            ToolError: it may not.
        """
        if self.character.is_superuser:  # every lock would open for it
            raise ToolError("an assistant does not act while a superuser is in its body")
        if not may(self.character, self.character, f"tool_{name}", turn, default=True):
            raise ToolError(f"you are not allowed to {name}")


def useful(character: Character, turn: Turn, specs: Specs) -> Specs:
    """Those of some tools that the model is to be shown now; a tool that cannot tell is shown."""
    idle = set()
    for name in specs:
        tool = TOOL_REGISTRY.get(name)
        try:
            if not (tool is None or tool.is_always_useful or tool.is_useful(character, turn)):
                idle.add(name)
        except Exception:
            logger.log_trace(f"[assistant] tool {name} could not say whether it is of use")
    return {name: spec for name, spec in specs.items() if name not in idle}


def _limit(spec: ToolSpec, call: ToolCall) -> float:
    if call.deadline_seconds is None:
        return spec.timeout_seconds
    if call.deadline_seconds <= 0:
        raise ToolTimeoutError(f"{spec.name} was not begun: there is no time left for it")
    return min(spec.timeout_seconds, call.deadline_seconds)


def _within(seconds: float, outcome: Deferred[object], clock: Clock, name: str) -> Deferred[Any]:
    """The outcome of a tool that waits, within so many seconds.

    A tool that does not end even when it is cancelled is left behind: its result reaches nobody.
    Cancelling what is returned here cancels the tool.
    """

    def leave(_: Deferred[object]) -> None:
        # First, so that what the cancelled tool still gives reaches nobody.
        timer.cancel()
        outcome.cancel()

    def give_up() -> None:
        outcome.cancel()
        waited.errback(ToolTimeoutError(f"{name} took longer than {seconds:g} s"))

    # While the timer runs the outcome counts, and not a moment longer.
    def pass_on(result: object) -> None:
        if timer.active():
            timer.cancel()
            waited.callback(result)

    waited: Deferred[Any] = Deferred(leave)
    timer = clock.callLater(seconds, give_up)
    outcome.addBoth(pass_on)
    return waited


@dataclass(frozen=True, slots=True)
class RemoteTools:
    """Adds what the servers offer; a tool of the game goes before one of the same name.

    Args:
        check: raises ToolError where the character may not use the tool of that name.
    """

    inner: Toolbox
    servers: RemoteServers
    check: Callable[[str, Turn], None]

    def specs(self) -> Specs:
        """The tools on offer, by name."""
        return self.servers.beside(self.inner.specs())

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call.

        Raises:
            ToolError: the tool says that it could not, or took too long.
            CircuitOpenError: its server is not being asked now.
        """
        if call.name in self.inner.specs() or call.name not in self.servers.specs():
            return await self.inner.run(call, turn)
        self.check(call.name, turn)
        try:
            given = fitted(self.servers.specs()[call.name], call.arguments)
            text = await self.servers.call(call.name, given, call.deadline_seconds)
        except ConnectionError as error:
            return ToolResult(False, str(error), Fault.UNAVAILABLE, error)
        return ToolResult(True, text)
