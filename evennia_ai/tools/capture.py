"""The game's messages to an assistant while a tool acts."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from evennia_ai.core.text.cleaning import cut_at_sentence, quote
from evennia_ai.errors import ToolError
from evennia_ai.runtime.assistant import Assistant

MOST_TOLD = 300
TRACEBACK = "Traceback (most recent call last)"


@contextmanager
def captured(script: Assistant | None) -> Generator[list[str]]:
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


def tells_of_a_crash(lines: Sequence[str]) -> bool:
    """True where the game itself failed, and sent a traceback, which is for staff alone."""
    return any(line.lstrip().startswith(TRACEBACK) for line in lines)


def refusal(lines: list[str], otherwise: str) -> ToolError:
    """The game's reason for a refusal: in its own words, quoted, or in ours."""
    if tells_of_a_crash(lines):
        return ToolError(otherwise)
    told = cut_at_sentence(" ".join(" ".join(lines).split()), MOST_TOLD)
    return ToolError(f"the game says {quote(told)}" if told else otherwise)
