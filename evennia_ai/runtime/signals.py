"""Signals for the game's code: what an assistant said and did, and what came of it.

They are sent in the reactor's thread, after the fact. `sender` is the class of the assistant's
script, `assistant` the script. A receiver that raises is logged and harms nothing. Signals whose
event is in the audit log are sent from there, by `Relay`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from traceback import walk_tb
from typing import Any
from weakref import WeakValueDictionary

from django.conf import settings
from django.dispatch import Signal
from evennia.utils import logger

from evennia_ai.core.typed_objects import GameObject
from evennia_ai.runtime.assistant import Assistant

# The comments list each signal's arguments besides `assistant`.
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
    """The signal that one event of the audit log is sent as.

    Attributes:
        details: the signal's arguments, and the event's names for them.
        hook: the hook of the body that is called too, or "".
        is_gone: the assistant no longer exists; its name is sent instead of the script.
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


# Started assistants, by the name that each had then; weak, so that deleted ones drop out.
RUNNING: WeakValueDictionary[str, Any] = WeakValueDictionary()


def send(signal: Signal, assistant: Assistant | None, **named: object) -> None:
    """Send a signal; errors of its receivers are logged."""
    if not signal.receivers:
        return
    kind = None if assistant is None else type(assistant)
    outcomes = signal.send_robust(sender=kind, assistant=assistant, **named)
    for receiver, outcome in outcomes:
        if isinstance(outcome, Exception):
            # An error's text may quote what was said.
            shown = type(outcome).__name__ if named.get("is_private") else repr(outcome)
            log_fault(f"{receiver!r} raised {shown}", outcome)


def call_hook(body: GameObject, name: str, *arguments: Any, **named: object) -> None:
    """Call a hook of an assistant's body, if it has one; its errors are logged."""
    try:
        hook = getattr(body, name, None)
        if hook is not None:
            hook(*arguments, **named)
    except Exception as error:
        shown = type(error).__name__ if named.get("is_private") else repr(error)
        log_fault(f"{body!r} raised {shown} in {name}", error)


def log_fault(text: str, error: BaseException) -> None:
    """Log an error and where it was raised, but no values, as a traceback would show.

    If that is in a library, the line of the game's own code that led there is named as well.
    """
    place = of_game = ""
    for frame, line in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        place = f"{file}:{line}"
        if file.startswith(f"{settings.GAME_DIR}/") and "site-packages" not in file:
            of_game = place
    called = f", called at {of_game}" if of_game not in ("", place) else ""
    logger.log_err(f"[assistant] {text} at {place}{called}")


@dataclass(frozen=True, slots=True)
class Relay:
    """Sends signals for events of the audit log; one instance goes into `audit.LISTENERS`.

    Args:
        find: returns the script of the assistant of a name, or None. It is called only where
            somebody listens.
    """

    find: Callable[[str], Any]

    def __call__(self, event: str, name: str, details: Mapping[str, object]) -> None:
        """Send the signal for one event, if there is one."""
        row = FROM_RECORD.get(event)
        if row is None or not (row.hook or row.signal.receivers):
            return
        if row.is_gone:
            _send_row(row, None, {**details, "name": name})
            return
        try:
            script = _running(name) or self.find(name)
        # The event is in the audit log by now; only listeners in the game's code miss it.
        except Exception:
            logger.log_trace(f"[assistant] {event} of {name} could not be passed on")
            return
        if script is not None:
            _send_row(row, script, details)


def _running(name: str) -> Assistant | None:
    """The running assistant of that name, found without a query."""
    script = RUNNING.get(name)
    # It may have been renamed or deleted since it was started.
    return script if script is not None and script.pk and script.key == name else None


def _send_row(row: _Row, script: Assistant | None, details: Mapping[str, object]) -> None:
    values = {ours: details.get(theirs, "") for ours, theirs in row.details.items()}
    values |= row.fixed
    send(row.signal, script, **values)
    if row.hook and script is not None:
        call_hook(script.obj, row.hook, **values)
