"""The toolboxes of a character: registered tools and tools of MCP servers.

It also converts what a tool returns to text for the model.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs, Toolbox
from evennia_ai.errors import ToolError, ToolTimeoutError
from evennia_ai.mcp.servers import RemoteServers
from evennia_ai.runtime.assistant import Character, Clock
from evennia_ai.tools.orders import as_ordered, may
from evennia_ai.tools.registry import SPECS, TOOL_REGISTRY
from evennia_ai.tools.schema import fitted

# Of a result, about 1,000 tokens.
MOST_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class CharacterTools:
    """The registered tools, run as one character under the game's locks.

    A lock of type `tool_<name>` on the character restricts a tool; without one it is allowed.
    """

    character: Character
    clock: Clock

    def specs(self) -> Mapping[str, ToolSpec]:
        """The available tools, by name."""
        return SPECS

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call, with arguments that match the schema.

        Raises:
            ToolError: the action is forbidden or not possible.
            ToolTimeoutError: it took too long and was cancelled.
        """
        tool = TOOL_REGISTRY[call.name]
        self.check(call.name, turn)
        # Locks would check the rights of that player's account, for what anybody asks it to do.
        if tool.spec.category is ToolCategory.DANGEROUS and self.character.sessions.count():
            raise ToolError("you do not do that while a player is in your body")
        seconds = _timeout_of(tool.spec, call)
        extra = {"turn": turn} if tool.takes_turn else {}
        with as_ordered(self.character, turn):
            outcome = tool.execute(self.character, **fitted(tool.spec, call.arguments), **extra)
            if inspect.iscoroutine(outcome):
                outcome = Deferred.fromCoroutine(outcome)
            if isinstance(outcome, Deferred):
                outcome = await _with_timeout(seconds, outcome, self.clock, tool.name)
        return as_result(outcome)

    def check(self, name: str, turn: Turn) -> None:
        """Check that the character, and everybody who gave the order, may use a tool.

        Raises:
            ToolError: they may not.
        """
        if self.character.is_superuser:  # bypasses every lock
            raise ToolError("an assistant does not act while a superuser is in its body")
        if not may(self.character, self.character, f"tool_{name}", turn, default=True):
            raise ToolError(f"you are not allowed to {name}")


def _timeout_of(spec: ToolSpec, call: ToolCall) -> float:
    if call.deadline_seconds is None:
        return spec.timeout_seconds
    if call.deadline_seconds <= 0:
        raise ToolTimeoutError(f"{spec.name} was not begun: there is no time left for it")
    return min(spec.timeout_seconds, call.deadline_seconds)


def _with_timeout(
    seconds: float, outcome: Deferred[object], clock: Clock, name: str
) -> Deferred[Any]:
    """The outcome of an asynchronous tool, with a timeout.

    A tool that does not end when it is cancelled is abandoned, and its result dropped. Cancelling
    the returned Deferred cancels the tool.
    """

    # Not `addTimeout`, which would wait for a tool that ignores its cancellation.
    def cancel(_: Deferred[object]) -> None:
        # The timer first: without it `pass_on` drops whatever the cancelled tool returns.
        timer.cancel()
        outcome.cancel()

    def give_up() -> None:
        outcome.cancel()
        waited.errback(ToolTimeoutError(f"{name} took longer than {seconds:g} s"))

    # The timer also serves as the flag for whether the outcome still counts.
    def pass_on(result: object) -> None:
        if timer.active():
            timer.cancel()
            waited.callback(result)

    waited: Deferred[Any] = Deferred(cancel)
    timer = clock.callLater(seconds, give_up)
    outcome.addBoth(pass_on)
    return waited


@dataclass(frozen=True, slots=True)
class RemoteTools:
    """Adds the tools of MCP servers. The game's own tools take precedence on equal names.

    Args:
        check: raises ToolError if the character may not use the tool of that name.
    """

    inner: Toolbox
    servers: RemoteServers
    check: Callable[[str, Turn], None]

    def specs(self) -> Specs:
        """The available tools, by name."""
        return self.servers.merged_with(self.inner.specs())

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call.

        Raises:
            ToolError: the tool failed or took too long.
            CircuitOpenError: the circuit breaker of its server is open.
        """
        if call.name in self.inner.specs() or call.name not in self.servers.specs():
            return await self.inner.run(call, turn)
        self.check(call.name, turn)
        try:
            arguments = fitted(self.servers.specs()[call.name], call.arguments)
            text = await self.servers.call(call.name, arguments, call.deadline_seconds)
        except ConnectionError as error:
            # The server is away: a fault of its own kind, which the model can tell from a failure.
            return ToolResult(False, str(error), Fault.UNAVAILABLE, error)
        return ToolResult(True, text)


def bounded(text: str) -> str:
    """Truncate a result, because a tool may return a whole book."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… (the first {MOST_CHARACTERS:,} of {len(text):,} characters)"


def _plain(value: object) -> Any:
    """Convert containers, such as Evennia's _SaverDict, for JSON; other objects become text."""
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, (Sequence, Set)) and not isinstance(value, (str, bytes)):
        return list(value)
    return str(value)


def _as_text(value: object) -> str:
    if value is None:
        return "done"
    # Before json.dumps, so that an object that becomes text is returned without JSON's quotes.
    if not isinstance(value, (dict, list, tuple, int, float)):
        value = _plain(value)
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _first_of(rest: Mapping[str, object], *names: str) -> Any:
    """The first of the named members that is not empty, or else all members."""
    return next((rest[name] for name in names if rest.get(name)), rest or None)


def as_result(value: object) -> ToolResult:
    """Convert what a tool returned to a result: text unchanged, data as JSON.

    Args:
        value: text, plain data, None, a result, or a mapping with "success" and more.
    """
    if isinstance(value, ToolResult):
        return value
    if not isinstance(value, Mapping) or "success" not in value:
        return ToolResult(True, bounded(_as_text(value)))
    rest = {name: item for name, item in value.items() if name != "success"}
    if value["success"]:
        data = rest["result"] if rest.keys() == {"result"} else rest or None
        return ToolResult(True, bounded(_as_text(data)))
    reason = _first_of(rest, "error", "message")
    text = "it did not work" if reason is None else _as_text(reason)
    return ToolResult(False, bounded(text), Fault.FAILED)
