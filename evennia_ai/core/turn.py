"""The one tray carried through a tick."""

from __future__ import annotations

from dataclasses import dataclass, field

from evennia_ai.core.conversation import Message
from evennia_ai.core.inbox import Event
from evennia_ai.core.overheard import Overheard


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
        events: what is being answered, oldest first: one message, or a burst of one person's.
        overheard: what else was heard before it, and may be told.
        history: the conversation before this turn.
        said: messages this turn adds to it.
        iterations: model calls made so far.
        found: names of tools that were looked up in this turn, and are on offer since.
        notices: what staff should know of how it was answered, such as a fallback model.
        effects: calls of it that others noticed.
        is_private: whether only turns for the same person may know of it.
        began_at: model calls made before it was set down and taken up again.
    """

    epoch: int
    events: tuple[Event, ...]
    overheard: tuple[Overheard, ...] = ()
    history: list[Message] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
    found: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    effects: int = 0
    is_private: bool = False
    began_at: int = 0

    @property
    def event(self) -> Event:
        """The newest event: the one whose way and place an answer takes."""
        return self.events[-1]

    @property
    def hops(self) -> int:
        """How many assistants in a row an answer comes after."""
        return max(event.hops for event in self.events) + 1
