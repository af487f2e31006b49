"""The toolboxes of a character: the registered tools, and those of MCP servers beside them.

At the end: what a model reads of whatever a tool gave back.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs, Toolbox
from evennia_ai.errors import ToolError, ToolTimeoutError
from evennia_ai.mcp.servers import RemoteServers
from evennia_ai.runtime.assistant import Character, Clock
from evennia_ai.tools.orders import as_ordered, may
from evennia_ai.tools.registry import SPECS, TOOL_REGISTRY
from evennia_ai.tools.schema import fitted

MOST_CHARACTERS = 4_000


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


def bounded(text: str) -> str:
    """Text of a length that leaves room for others: a tool may give a whole book."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… (the first {MOST_CHARACTERS:,} of {len(text):,} characters)"


def _plain(value: object) -> Any:
    """A plain form for JSON: containers, such as Evennia's own, as such; all else by its name."""
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, (Sequence, Set)) and not isinstance(value, (str, bytes)):
        return list(value)
    return str(value)


def _as_text(value: object) -> str:
    if value is None:
        return "done"
    if not isinstance(value, (dict, list, tuple, int, float)):
        value = _plain(value)
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _only(rest: Mapping[str, object], *names: str) -> Any:
    """The first of these members that is there, else all of them."""
    return next((rest[name] for name in names if rest.get(name)), rest or None)


def as_result(value: object) -> ToolResult:
    """The result of a call: text as it is, data as JSON; what says it has failed has failed.

    Args:
        value: text, plain data, None, a result, or a mapping with "success" and more.
    """
    if isinstance(value, ToolResult):
        return value
    if not isinstance(value, Mapping) or "success" not in value:
        return ToolResult(True, bounded(_as_text(value)))
    rest = {name: item for name, item in value.items() if name != "success"}
    if value["success"]:
        told = rest["result"] if rest.keys() == {"result"} else rest or None
        return ToolResult(True, bounded(_as_text(told)))
    reason = _only(rest, "error", "message")
    text = "it did not work" if reason is None else _as_text(reason)
    return ToolResult(False, bounded(text), Fault.FAILED)
