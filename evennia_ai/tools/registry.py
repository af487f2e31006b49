"""The registry of tools, and the toolbox that runs them as one character."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.core.toolspec import (
    ToolCall,
    ToolCategory,
    ToolResult,
    ToolSpec,
    spec_from_function,
)
from evennia_ai.core.turn import Turn
from evennia_ai.errors import ConfigurationError, ToolError

BUILT_IN = ("evennia_ai.tools.speech", "evennia_ai.tools.senses", "evennia_ai.tools.control")


@dataclass(frozen=True, slots=True)
class Tool:
    """A registered function and what the model is shown of it."""

    spec: ToolSpec
    function: Callable[..., Any]
    wants_turn: bool


REGISTRY: dict[str, Tool] = {}


def tool(
    *, category: str = "safe_chain", timeout_seconds: float = 30.0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as a tool.

    Args:
        category: "safe_chain" reads, "terminal" speaks, "dangerous" changes the world,
            "async_required" waits for something outside.
        timeout_seconds: for a function that returns a Deferred, or an `async def`: it is cancelled
            after this.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        spec = spec_from_function(
            function, category=ToolCategory(category), timeout_seconds=timeout_seconds
        )
        known = REGISTRY.get(spec.name)
        if known is not None and known.function.__module__ != function.__module__:
            raise ConfigurationError(
                f"two tools are named {spec.name!r}: one in {known.function.__module__}, "
                f"one in {function.__module__}; rename one of them"
            )
        REGISTRY[spec.name] = Tool(spec, function, "turn" in inspect.signature(function).parameters)
        return function

    return register


def load_modules(paths: Iterable[str] = ()) -> None:
    """Import the built-in tool modules and those of the game.

    Raises:
        ConfigurationError: a module cannot be imported.
    """
    for path in (*BUILT_IN, *paths):
        try:
            importlib.import_module(path)
        except ConfigurationError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"EVENNIA_AI_TOOL_MODULES names {path!r}, which cannot be imported: {error}"
            ) from error


@dataclass(frozen=True, slots=True)
class CharacterTools:
    """The registered tools, run as one character under the game's locks.

    A lock of the type `tool_<name>` on the character forbids or limits a tool; without one it is
    allowed.

    Args:
        clock: the reactor, or a test's clock.
    """

    character: Any
    clock: Any

    def specs(self) -> Sequence[ToolSpec]:
        """The tools on offer."""
        return [tool.spec for tool in REGISTRY.values()]

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call."""
        registered = REGISTRY[call.name]
        self._check_rights(call.name)
        given = {"turn": turn} if registered.wants_turn else {}
        outcome = registered.function(self.character, **call.arguments, **given)
        if inspect.iscoroutine(outcome):
            outcome = Deferred.fromCoroutine(outcome)
        if isinstance(outcome, Deferred):
            outcome = await self._waited(outcome, registered.spec)
        return ToolResult(True, "done" if outcome is None else str(outcome))

    def _check_rights(self, name: str) -> None:
        if self.character.is_superuser:
            raise ToolError("an assistant does not act while a superuser is in its body")
        if not self.character.access(self.character, f"tool_{name}", default=True):
            raise ToolError(f"you are not allowed to {name}")

    async def _waited(self, outcome: Deferred[Any], spec: ToolSpec) -> Any:
        try:
            return await outcome.addTimeout(spec.timeout_seconds, self.clock)
        except DeadlineError:
            raise ToolError(f"{spec.name} took longer than {spec.timeout_seconds:g} s") from None
