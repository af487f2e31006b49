"""What the game tells an assistant while a tool acts."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from evennia_ai.core.text import cut_at_sentence, quote
from evennia_ai.errors import ToolError

MOST_TOLD = 300


@contextmanager
def captured(script: Any) -> Generator[list[str]]:
    """Collect what commands tell the assistant while they run: up to 200 lines of output.

    Args:
        script: the assistant's script; without one, as of a body that nobody moves, nothing is
            heard.
    """
    work = getattr(script, "work", None)
    lines: list[str] = []
    if work is None:
        yield lines
        return
    before = work.capture
    work.capture, work.ear = lines, None
    try:
        yield lines
    finally:
        work.capture, work.ear = before, None


def refusal(lines: list[str], otherwise: str) -> ToolError:
    """Why the game does not let something be done: in its own words, quoted, or in ours."""
    told = cut_at_sentence(" ".join(" ".join(lines).split()), MOST_TOLD)
    return ToolError(f"the game says {quote(told)}" if told else otherwise)
