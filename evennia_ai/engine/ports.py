"""The engine's ports to the world, each as small as can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.fullness import Fullness
from evennia_ai.core.turn.tokens import Counter, count_messages, estimate
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import TokenUsage, Turn
from evennia_ai.errors import LimitReachedError

Specs = Mapping[str, ToolSpec]


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer: at most one of text and calls is used, calls first.

    Attributes:
        model: which model answered, as its endpoint is described; "" when it is the only one.
        notice: why it was not the first choice, in words for staff, or "".
    """

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    finish_reason: str = ""
    model: str = ""
    notice: str = ""


class Model(Protocol):
    """Something that answers a conversation."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """One model call.

        Raises:
            LimitReachedError: a limit on time or money lets no call through, or ended this one.
            ContextLengthError: the prompt is too long for the model.
            ModelError: the service failed.
            CircuitOpenError: the service is not being asked now.
        """


class Toolbox(Protocol):
    """The tools of one turn. Whatever a tool does, its outcome is a value."""

    def specs(self) -> Specs:
        """The tools on offer, by name."""

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call."""


class Keeper(Protocol):
    """Sets the tray down at named points."""

    def fence(self, turn: Turn) -> None:
        """Raise StaleEpochError when the turn was cancelled in the meantime."""

    def before_effect(self, turn: Turn, call: ToolCall) -> None:
        """Note durably that this call is about to happen."""

    def forget_effect(self, turn: Turn) -> None:
        """The call that was noted did not happen after all."""

    def checkpoint(self, turn: Turn) -> None:
        """Set down what was said and done so far, so that a restart goes on from here."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of one model call, and how full they make the model's context.

    Attributes:
        tokens: counted or estimated, the tools' descriptions included.
        max_tokens: the size of the model's context.
        count: gives the tokens of a text.
        tool_tokens: those of the tools' descriptions.
        instructions: the rules in it, which are for the model and for nobody else.
        blocks: the texts that it was made of, by the keys of their components, without the talk.
        has_stable_head: its head is the same whoever speaks, and so tells nobody's words.
        sources: the texts of its components before they were filled in, by their keys.
    """

    messages: list[Message]
    tokens: int
    max_tokens: int
    count: Counter = estimate
    tool_tokens: int = 0
    instructions: str = ""
    blocks: list[tuple[str, str]] = field(default_factory=list)
    has_stable_head: bool = True
    sources: list[tuple[str, str]] = field(default_factory=list)

    @property
    def fullness(self) -> Fullness:
        """The prompt's use of the context, for whoever is told."""
        return Fullness(self.tokens, self.tool_tokens, self.max_tokens)

    @property
    def usage_ratio(self) -> float:
        """The fill of the context; above 1 the prompt does not fit."""
        return self.tokens / self.max_tokens

    def ratio_with(self, usage: TokenUsage, added: Sequence[Message]) -> float:
        """The fill of the context with these messages after the prompt.

        Args:
            usage: of the prompt's call; what the service counted goes before what we did.
        """
        tokens = self.credible(usage).prompt_tokens or self.tokens
        return (tokens + count_messages(added, self.count)) / self.max_tokens

    def credible(self, usage: TokenUsage) -> TokenUsage:
        """Learn a service's own count; one that took the prompt cannot have counted more."""
        most = self.max_tokens
        prompt = usage.prompt_tokens if usage.prompt_tokens <= most else self.tokens
        return TokenUsage(prompt, min(usage.completion_tokens, most))


Compose = Callable[[Turn, Specs], Prompt]


class Limits(Protocol):
    """The limits of a turn, and the way to somebody who may extend them."""

    @property
    def config(self) -> SafetyConfig:
        """The assistant's limits and checks."""

    async def extend(self, turn: Turn, hit: LimitReachedError) -> bool:
        """Ask whether a turn that reached a limit may go on; after a yes the grant is applied."""

    def cut(self, turn: Turn, hit: LimitReachedError) -> None:
        """Record that what went beyond a limit was left out."""


def always(_: Turn) -> bool:
    """Somebody hears it."""
    return True


def all_of(specs: Specs) -> Specs:
    """Show the model every tool on offer."""
    return specs


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a turn is run with.

    Attributes:
        shown: which of the tools on offer the model is shown at this step; a call of one of the
            others is judged and run like any.
        is_heard: whether anybody can still hear what a turn comes to.
    """

    model: Model
    toolbox: Toolbox
    keeper: Keeper
    compose: Compose
    limits: Limits
    shown: Callable[[Specs], Specs] = all_of
    is_heard: Callable[[Turn], bool] = always
