"""The one tray carried through a tick."""

from __future__ import annotations

from dataclasses import dataclass, field

from evennia_ai.core.conversation import Message
from evennia_ai.core.inbox import Event


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls, as the service reports them; 0 where it is silent."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(slots=True)
class Turn:
    """Everything one tick works on: plain copies, never the database's own lists.

    Attributes:
        epoch: the assistant's epoch when the turn began; a later one means it was cancelled.
        event: what is being answered.
        history: the conversation before this turn.
        said: messages this turn adds to it.
        iterations: model calls made so far.
    """

    epoch: int
    event: Event
    history: list[Message] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
