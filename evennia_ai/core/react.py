"""Why the loop ends: the stop reasons, and the table of what follows a tool of each category."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evennia_ai.core.toolspec import ToolCategory


class StopReason(StrEnum):
    """Why a loop ended."""

    NOOP = "noop"
    TERMINAL_TOOL = "terminal_tool"
    DANGEROUS_TOOL = "dangerous_tool"
    MAX_ITERATIONS = "max_iterations"
    LLM_ERROR = "llm_error"
    PARSE_ERROR = "parse_error"


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a loop.

    Attributes:
        detail: the true cause in words for staff, "" when there is nothing to add.
        is_counted: whether a failure counts as one more error in a row; a call that an open
            breaker kept from being made does not.
    """

    reason: StopReason
    detail: str = ""
    is_counted: bool = True

    @property
    def is_failure(self) -> bool:
        """Whether whoever waits for an answer got none, and not by the model's own choice."""
        return self.reason in FAILURES


FAILURES = frozenset((StopReason.MAX_ITERATIONS, StopReason.LLM_ERROR, StopReason.PARSE_ERROR))

AFTER_TOOL = {
    ToolCategory.SAFE_CHAIN: None,
    ToolCategory.TERMINAL: StopReason.TERMINAL_TOOL,
    ToolCategory.DANGEROUS: StopReason.DANGEROUS_TOOL,
    ToolCategory.ASYNC_REQUIRED: None,
}


def after_tool(name: str, category: ToolCategory, *, success: bool) -> StopReason | None:
    """Whether the loop ends after this tool. A tool that failed may be corrected by the model."""
    if name == "noop":
        return StopReason.NOOP
    return AFTER_TOOL[category] if success else None
