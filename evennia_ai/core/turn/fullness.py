"""Prompts that a model cannot read whole: the figures, and what can be changed, in words for staff.

Whoever reads them looks for a cause: so each begins with it, and ends with what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

ADVICE = (
    "Let the model read more, and say how much by max_context_tokens; or show it fewer tools, by "
    "EVENNIA_AI_TOOLS_BY_NEED or a context's tool_filter; or tell it less: `assistant prompt "
    "<name>` lists what takes how much"
)
# With less than this part of the context left, there is hardly any talk and no long answer.
LEAST_ROOM = 0.25


@dataclass(frozen=True, slots=True)
class Fullness:
    """The share of a model's context that one prompt takes.

    Attributes:
        tokens: of the prompt, counted or estimated, tools included.
        tools: those of the tools' descriptions.
        most: the most that the model reads at once.
    """

    tokens: int
    tools: int
    most: int

    @property
    def fits(self) -> bool:
        """True for a prompt that the model can read."""
        return self.tokens <= self.most

    @property
    def room(self) -> int:
        """Tokens that are left for the talk and the answer."""
        return max(0, self.most - self.tokens)

    @property
    def _needs(self) -> str:
        return f"about {self.tokens:,} tokens ({self.tools:,} of them tools)"

    def unfit(self) -> str:
        """The cause and the cure where the prompt does not fit, for the end of a turn."""
        return (
            f"its prompt does not fit: it needs {self._needs}, and the model reads {self.most:,}. "
            f"{ADVICE}"
        )

    def refused(self, said: str) -> str:
        """The same where the model's service refused a prompt that should have fitted.

        Args:
            said: what the service said.
        """
        return (
            f"the prompt is longer than the model reads: it has {self._needs}, and {self.most:,} "
            f"were taken to fit. {said.rstrip('.')}. {ADVICE}"
        )

    def checked(self, name: str) -> tuple[bool, str]:
        """True where there is room for an assistant's talk, and the figures, for a check.

        Args:
            name: whose prompt it is.
        """
        told = f"a whisper to {name} needs {self._needs}; the model reads {self.most:,}"
        if not self.fits:
            return False, f"{told}, so it cannot answer. {ADVICE}"
        if self.room < LEAST_ROOM * self.most:
            return False, f"{told}: {self.room:,} are left for talk and answer. {ADVICE}"
        return True, told
