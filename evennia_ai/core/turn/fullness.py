"""Prompts that exceed a model's context: the figures and the remedy, in words for staff.

Each text begins with the cause and ends with what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

ADVICE = (
    "Let the model read more, and say how much by max_context_tokens; or show it fewer tools, by "
    "EVENNIA_AI_TOOLS_BY_NEED or a context's tool_filter; or tell it less: `assistant prompt "
    "<name>` lists what takes how much"
)
# With less than this share of the context left, there is hardly any history and no long answer.
LEAST_ROOM = 0.25


@dataclass(frozen=True, slots=True)
class Fullness:
    """The share of a model's context that one prompt takes.

    Attributes:
        tokens: tokens of the prompt, counted or estimated, tool descriptions included.
    """

    tokens: int
    tools: int
    most: int

    @property
    def fits(self) -> bool:
        """True if the model can read the prompt."""
        return self.tokens <= self.most

    @property
    def room(self) -> int:
        """Tokens left for the conversation and the answer."""
        return max(0, self.most - self.tokens)

    @property
    def _size(self) -> str:
        return f"about {self.tokens:,} tokens ({self.tools:,} of them tools)"

    def unfit(self) -> str:
        """Cause and remedy if the prompt does not fit, for the end of a turn."""
        return (
            f"its prompt does not fit: it needs {self._size}, and the model reads {self.most:,}. "
            f"{ADVICE}"
        )

    def refused(self, said: str) -> str:
        """Cause and remedy if the service refused a prompt that should have fitted."""
        return (
            f"the prompt is longer than the model reads: it has {self._size}, and {self.most:,} "
            f"were taken to fit. {said.rstrip('.')}. {ADVICE}"
        )

    def checked(self, name: str) -> tuple[bool, str]:
        """Result of a check: whether there is room for a conversation, and the figures."""
        figures = f"a whisper to {name} needs {self._size}; the model reads {self.most:,}"
        if not self.fits:
            return False, f"{figures}, so it cannot answer. {ADVICE}"
        if self.room < LEAST_ROOM * self.most:
            return False, f"{figures}: {self.room:,} are left for talk and answer. {ADVICE}"
        return True, figures
