"""Signals for the code of a game: what an assistant said and did, and what became of it.

They are sent in the reactor's thread, after the fact; `sender` is the class of the assistant's
script, `assistant` the script. A receiver that raises is logged and harms nothing. What stands in
the record as well is passed on from there, by `Relay`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from django.dispatch import Signal
from evennia.utils import logger

from evennia_ai.core.typed_objects import GameObject
from evennia_ai.runtime.assistant import Assistant

# What follows each are its arguments, beside `assistant`.
assistant_said = Signal()  # text, source ("say", "whisper", ...), to, is_private
assistant_stopped = Signal()  # cause, reason, by
assistant_cleared = Signal()  # cause, by
assistant_created = Signal()  # by
assistant_deleted = Signal()  # name, reason, archive_path; `assistant` is None, it is gone
tool_used = Signal()  # tool, success, error, duration_ms
tick_completed = (
    Signal()
)  # tick, outcome, acts, duration_ms, calls, prompt_tokens, completion_tokens
limit_reached = Signal()  # kind, allowed, used, cap, extension
question_asked = Signal()  # number, kind


@dataclass(frozen=True, slots=True)
class _Row:
    """The details of a record's event that go along with a signal.

    Attributes:
        details: arguments of the signal, and what the record calls them.
        fixed: further arguments.
        hook: what the body is told by, or "".
        is_gone: there is no such assistant any more; its name goes along in place of it.
    """

    signal: Signal
    details: Mapping[str, str]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    hook: str = ""
    is_gone: bool = False


def _same(*names: str, **others: str) -> dict[str, str]:
    return {name: name for name in names} | others


_LIMIT = _same("kind", "used", "cap", "extension")
_TICK = _same("outcome", "duration_ms", "calls", "prompt_tokens", "completion_tokens")
FROM_RECORD: dict[str, _Row] = {
    "AssistantCreated": _Row(assistant_created, _same("by")),
    "AssistantArchived": _Row(
        assistant_deleted, _same("name", "reason", "archive_path"), is_gone=True
    ),
    "EmergencyStopTriggered": _Row(
        assistant_stopped, _same("cause", "reason", "by"), hook="at_assistant_stopped"
    ),
    "EmergencyStopCleared": _Row(assistant_cleared, _same("cause", by="cleared_by")),
    "ToolExecuted": _Row(tool_used, _same("success", "error", "duration_ms", tool="tool_name")),
    "TickCompleted": _Row(tick_completed, _TICK | {"tick": "tick_number", "acts": "action_taken"}),
    "limit_extended": _Row(limit_reached, _LIMIT, {"allowed": True}),
    "limit_denied": _Row(limit_reached, _LIMIT, {"allowed": False}),
    "question_asked": _Row(question_asked, _same("number", "kind")),
}


# Those that were started, by the names that they had then.
RUNNING: WeakValueDictionary[str, Any] = WeakValueDictionary()


def send(signal: Signal, assistant: Assistant | None, **named: object) -> None:
    """Send a signal; whatever its receivers do, this goes through."""
    if not signal.receivers:
        return
    kind = None if assistant is None else type(assistant)
    told = signal.send_robust(sender=kind, assistant=assistant, **named)
    for receiver, outcome in told:
        if isinstance(outcome, Exception):
            shown = type(outcome).__name__ if named.get("is_private") else repr(outcome)
            log_fault(f"{receiver!r} raised {shown}", outcome)


def call_hook(body: GameObject, name: str, *arguments: Any, **named: object) -> None:
    """Call a hook of an assistant's body, where it has one; whatever that does, this goes on."""
    try:
        hook = getattr(body, name, None)
        if hook is not None:
            hook(*arguments, **named)
    except Exception as error:
        shown = type(error).__name__ if named.get("is_private") else repr(error)
        log_fault(f"{body!r} raised {shown} in {name}", error)


def log_fault(text: str, error: BaseException) -> None:
    """Log that something failed, and where, without the values that a whole trace would show."""
    place, last = "", error.__traceback__
    while last is not None:
        place, last = f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}", last.tb_next
    logger.log_err(f"[assistant] {text} at {place}")


@dataclass(frozen=True, slots=True)
class Relay:
    """Passes on to the game's code what the record is told: one for `audit.LISTENERS`.

    Args:
        find: gives the script of an assistant of that name, or None. It is asked only where
            somebody listens.
    """

    find: Callable[[str], Any]

    def __call__(self, event: str, name: str, details: Mapping[str, object]) -> None:
        """Pass one event on, if there is a signal for it."""
        row = FROM_RECORD.get(event)
        if row is None or not (row.hook or row.signal.receivers):
            return
        if row.is_gone:
            _pass(row, None, {**details, "name": name})
            return
        try:
            script = _running(name) or self.find(name)
        # The record is written by now; only who listens in the game's code misses it.
        except Exception:
            logger.log_trace(f"[assistant] {event} of {name} could not be passed on")
            return
        if script is not None:
            _pass(row, script, details)


def _running(name: str) -> Assistant | None:
    """The assistant of that name in memory, where it runs; to ask the database takes longer."""
    script = RUNNING.get(name)
    # It may have been renamed or deleted since it was started.
    return script if script is not None and script.pk and script.key == name else None


def _pass(row: _Row, script: Assistant | None, details: Mapping[str, object]) -> None:
    named = {ours: details.get(theirs, "") for ours, theirs in row.details.items()}
    named |= row.fixed
    send(row.signal, script, **named)
    if row.hook and script is not None:
        call_hook(script.obj, row.hook, **named)
