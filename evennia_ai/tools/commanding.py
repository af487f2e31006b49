"""A command of the game as an assistant runs it: what it tells, and how its defects end.

Evennia shows a traceback to whoever typed a command that fails inside, and writes the whole line
into the log. What an assistant typed is a model's, and what it reads goes to a model's service.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

from evennia.commands.command import Command, InterruptCommand
from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai.core.text.cleaning import cut_at_sentence, quote
from evennia_ai.errors import ToolError
from evennia_ai.runtime.assistant import Assistant

FAILED_INSIDE = "failed inside; staff can read why in the log. Do something else"
HOOKS = ("at_pre_cmd", "parse", "func", "at_post_cmd")


@dataclass(slots=True)
class Guarded:
    """A copy of a command that ends quietly where the command would have failed.

    Attributes:
        command: the copy, which is run as it is.
        has_failed: whether it came to that.
    """

    command: Command
    has_failed: bool = False

    @classmethod
    def around(cls, command: Command) -> Guarded:
        """Guard a command."""
        guarded = cls(copy(command))
        # Evennia would run a copy of the copy, whose hooks are those of this one.
        guarded.command.retain_instance = True
        for name in HOOKS:
            setattr(guarded.command, name, guarded._quiet(getattr(guarded.command, name)))
        return guarded

    def _quiet(self, hook: Callable[[], object]) -> Callable[[], Any]:
        """One hook of it; what goes wrong there interrupts the command, without a word."""

        def run() -> Any:
            try:
                outcome = hook()
            except InterruptCommand:
                raise
            except Exception:
                self._note()
                raise InterruptCommand from None
            if isinstance(outcome, Deferred):
                # Evennia waits for a hook, and not for what `func` gives back.
                return outcome.addErrback(self._end, is_waited_for=hook.__name__ != "func")
            return self._stepwise(outcome) if isinstance(outcome, GeneratorType) else outcome

        return run

    def _stepwise(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """A command that waits in between: where one of its steps fails, it is over."""
        try:
            return (yield from steps)
        except InterruptCommand:
            raise
        except Exception:
            self._note()
            return None

    def _end(self, failure: Failure, *, is_waited_for: bool) -> None:
        if not failure.check(InterruptCommand, CancelledError):
            self._note(failure)
        if is_waited_for:
            raise InterruptCommand

    def _note(self, failure: Failure | None = None) -> None:
        self.has_failed = True
        told = f"[assistant] the command {self.command.key} failed inside"
        if failure is None:
            logger.log_trace(told)
        else:
            logger.log_err(f"{told}: {failure.getTraceback()}")


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
    # A command may run another one, after which the outer one goes on collecting.
    before = work.capture
    # The ear knows whether it captures, so that it has to be made anew.
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
