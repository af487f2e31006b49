"""Running a game command as an assistant: capturing its output and containing its errors.

If a command raises, Evennia sends the traceback to the caller and logs the command line. Here the
caller is a model: the line was written by it, and the output would be sent to its service.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import wraps
from types import GeneratorType, SimpleNamespace
from typing import Any

from evennia.commands.command import Command, InterruptCommand
from evennia.utils import logger
from evennia.utils.evmore import EvMore
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai.core.text.cleaning import cut_at_sentence, quote
from evennia_ai.errors import ToolError
from evennia_ai.runtime.assistant import Assistant, Character

FAILED_INSIDE = "failed inside; staff can read why in the log. Do something else"
HOOKS = ("at_pre_cmd", "parse", "func", "at_post_cmd")


@dataclass(slots=True)
class Guarded:
    """A copy of a command that ends silently instead of raising."""

    command: Command
    has_failed: bool = False

    @classmethod
    def around(cls, command: Command) -> Guarded:
        """Guard a command."""
        guarded = cls(copy(command))
        # Otherwise Evennia runs another copy, whose hooks would still be bound to this one.
        guarded.command.retain_instance = True
        for name in HOOKS:
            setattr(guarded.command, name, guarded._wrapped(getattr(guarded.command, name)))
        return guarded

    def _wrapped(self, hook: Callable[[], object]) -> Callable[[], Any]:
        """Wrap a hook so that an error interrupts the command silently."""

        def run() -> Any:
            try:
                outcome = hook()
            except InterruptCommand:
                # Evennia's own way to end a command early, which is no error.
                raise
            except Exception:
                self._log()
                raise InterruptCommand from None
            if isinstance(outcome, Deferred):
                # Evennia waits for a Deferred of other hooks, but not for that of `func`.
                return outcome.addErrback(self._end, is_waited_for=hook.__name__ != "func")
            return self._stepwise(outcome) if isinstance(outcome, GeneratorType) else outcome

        return run

    def _stepwise(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run a command that yields, and end it when one of its steps fails."""
        try:
            return (yield from steps)
        except InterruptCommand:
            raise
        except Exception:
            self._log()
            return None

    def _end(self, failure: Failure, *, is_waited_for: bool) -> None:
        if not failure.check(InterruptCommand, CancelledError):
            self._log(failure)
        if is_waited_for:
            raise InterruptCommand

    def _log(self, failure: Failure | None = None) -> None:
        self.has_failed = True
        message = f"[assistant] the command {self.command.key} failed inside"
        if failure is None:
            logger.log_trace(message)
        else:
            logger.log_err(f"{message}: {failure.getTraceback()}")


# In characters.
MOST_TOLD = 300
TRACEBACK = "Traceback (most recent call last)"


@contextmanager
def captured(script: Assistant | None) -> Generator[list[str]]:
    """Collect the output of commands while they run, up to 200 lines.

    Args:
        script: the assistant's script; without one, nothing is collected.
    """
    work = getattr(script, "work", None)
    lines: list[str] = []
    if work is None:
        yield lines
        return
    # Captures nest, as a command may run another one; those of commands that wait end in any order.
    work.captures.append(lines)
    # The cached ear knows whether it captures, so it has to be created again.
    work.ear = None
    try:
        yield lines
    finally:
        work.captures = [each for each in work.captures if each is not lines]
        work.ear = None


def leave_dialogue(body: Character) -> bool:
    """Leave a command's question, menu or editor, which would take each later line as an answer."""
    is_open = False
    for name, leave in _DIALOGUES.items():
        if (dialogue := getattr(body.ndb, name)) is not None:
            is_open = True
            leave(body, dialogue)
            delattr(body.ndb, name)
    return is_open


# How to leave each of Evennia's dialogues, by the name under which a body notes it. The cmdsets are
# named: their module cannot be imported before Evennia has loaded its commands, as by `migrate`.
_DIALOGUES: dict[str, Callable[[Character, Any], object]] = {
    "_getinput": lambda body, _: body.cmdset.remove("evennia.utils.evmenu.InputCmdSet"),
    "_yes_no_question": lambda body, _: body.cmdset.remove(
        "evennia.utils.evmenu.YesNoQuestionCmdSet"
    ),
    "_evmenu": lambda _, menu: menu.close_menu(),
    "_eveditor": lambda _, editor: editor.quit(),
}


# What the pager asks a session for: a screen larger than any output that is captured.
_SCREEN = SimpleNamespace(protocol_flags={"SCREENHEIGHT": {0: 10_000}, "SCREENWIDTH": {0: 78}})


def _shows_first_page(begin: Callable[..., None]) -> Callable[..., None]:
    """Make Evennia's pager show its first page to a body without a session.

    The pager shows nothing to such a body, so the model would not read what `help` prints.
    """

    @wraps(begin)
    def begin_or_show(
        self: EvMore,
        caller: Any,
        inp: object,
        always_page: bool = False,
        session: object = None,
        *args: Any,
        **options: Any,
    ) -> None:
        work = getattr(getattr(caller, "assistant_script", None), "work", None)
        if work is not None and work.capture is not None and not caller.sessions.count():
            session = _SCREEN
            # Called at the end of `__init__`; the pager's own would wait for further commands.
            self.start = lambda: caller.msg(
                text=(self.page_formatter(self.paginator(0)), self._text_kwargs), **self._kwargs
            )
        begin(self, caller, inp, always_page, session, *args, **options)

    return begin_or_show


EvMore.__init__ = _shows_first_page(EvMore.__init__)


def tells_of_a_crash(lines: Sequence[str]) -> bool:
    """True if the output has a traceback, which only staff may see."""
    return any(line.lstrip().startswith(TRACEBACK) for line in lines)


def refusal(lines: list[str], otherwise: str) -> ToolError:
    """An error with the game's own reason, quoted, or else a default text."""
    if tells_of_a_crash(lines):
        return ToolError(otherwise)
    reason = cut_at_sentence(" ".join(" ".join(lines).split()), MOST_TOLD)
    return ToolError(f"the game says {quote(reason)}" if reason else otherwise)
