"""The engine's ports: minimal interfaces to models, tools, storage and people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

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
    """A model's reply. If it has tool calls, the text is not spoken.

    Attributes:
        model: the model that answered, as its endpoint is described; "" if there is only one.
        notice: a sentence for staff on why the first choice did not answer, or "".
        beside: what the service wants back with the calls, such as the model's thoughts, by the
            name of the model; sent to no other model.
    """

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    finish_reason: str = ""
    model: str = ""
    notice: str = ""
    beside: Mapping[str, Any] = field(default_factory=dict)


class Model(Protocol):
    """A language model."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """Ask for one completion.

        Raises:
            LimitReachedError: a limit on time or money allows no call, or ended this one.
            ContextLengthError: the prompt is too long for the model.
            ModelError: the service failed.
            CircuitOpenError: the circuit breaker is open.
        """


class Toolbox(Protocol):
    """The tools of one turn. A failed call is a result, not an exception."""

    def specs(self) -> Specs:
        """The tools on offer, by name."""

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call."""


class CheckpointStore(Protocol):
    """The checkpoint store: makes the state of a turn durable."""

    def fence(self, turn: Turn) -> None:
        """Raise StaleEpochError if the turn was cancelled meanwhile."""

    def before_effect(self, turn: Turn, call: ToolCall) -> None:
        """Store the intent to make this call (write-ahead)."""

    def forget_effect(self, turn: Turn) -> None:
        """Remove the intent, because the call did not happen."""

    def checkpoint(self, turn: Turn) -> None:
        """Store the turn so far, so that it continues from here after a restart."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of one model call, and how full they make the model's context.

    Attributes:
        tokens: counted or estimated, including the tools' descriptions.
        tool_tokens: tokens of the tools' descriptions.
        instructions: its rules, which only the model may see.
        blocks: key and text of each component, without the conversation.
        has_stable_head: True if its head does not depend on the speaker, and so quotes no one.
        sources: key and text of each component before placeholders were filled in.
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
        """The prompt's use of the context, for messages to people."""
        return Fullness(self.tokens, self.tool_tokens, self.max_tokens)

    @property
    def usage_ratio(self) -> float:
        """The fill of the context; above 1 the prompt does not fit."""
        return self.tokens / self.max_tokens

    def ratio_with(self, usage: TokenUsage, added: Sequence[Message]) -> float:
        """The fill of the context if these messages are added to the prompt.

        Args:
            usage: of the prompt's call; the service's count takes precedence over ours.
        """
        tokens = self.credible(usage).prompt_tokens
        return (tokens + count_messages(added, self.count)) / self.max_tokens

    def credible(self, usage: TokenUsage) -> TokenUsage:
        """The service's usage, corrected where it is impossible."""
        # A service that accepted the prompt counted no more tokens than its context has; one that
        # counts none, such as the scripted model, is charged for by our own count.
        most = self.max_tokens
        prompt = usage.prompt_tokens if 0 < usage.prompt_tokens <= most else self.tokens
        return TokenUsage(prompt, min(usage.completion_tokens, most))


Compose = Callable[[Turn, Specs], Prompt]


class Limits(Protocol):
    """The limits of a turn, and the way to a person who may extend them."""

    @property
    def config(self) -> SafetyConfig:
        """The assistant's limits and checks."""

    async def extend(self, turn: Turn, hit: LimitReachedError) -> bool:
        """Ask whether a turn that reached a limit may go on; True after applying the grant."""

    def cut(self, turn: Turn, hit: LimitReachedError) -> None:
        """Record that the part beyond a limit was left out."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a turn needs.

    Attributes:
        shown: chooses the tools on offer that the model is shown at this step; a call of another
            one is run all the same.
        is_heard: True while a person can hear the turn's answer.
    """

    model: Model
    toolbox: Toolbox
    checkpoint_store: CheckpointStore
    compose: Compose
    limits: Limits
    shown: Callable[[Specs], Specs] = lambda specs: specs
    is_heard: Callable[[Turn], bool] = lambda turn: True
