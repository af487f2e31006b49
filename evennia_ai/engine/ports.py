"""What the engine needs of the world, each as small as can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from evennia_ai.core.conversation import Message
from evennia_ai.core.toolspec import ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn import Turn, Usage


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered: at most one of text and calls is used, calls first."""

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = ""


class Model(Protocol):
    """Something that answers a conversation."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """One model call.

        Raises:
            ModelError: the service failed.
            CircuitOpenError: the service is not being asked now.
        """


class Toolbox(Protocol):
    """The tools of one turn. Whatever a tool does, its outcome is a value."""

    def specs(self) -> Sequence[ToolSpec]:
        """The tools on offer."""

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call."""


class Keeper(Protocol):
    """Sets the tray down at named points."""

    def fence(self, turn: Turn) -> None:
        """Raise StaleEpochError when the turn was cancelled in the meantime."""

    def before_effect(self, turn: Turn, call: ToolCall) -> None:
        """Note durably that this call is about to happen."""


Compose = Callable[[Turn], list[Message]]


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a turn is run with."""

    model: Model
    toolbox: Toolbox
    keeper: Keeper
    compose: Compose
