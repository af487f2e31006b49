"""Asks the game whether an assistant's body can act at all: the hook `can_act`."""

from __future__ import annotations

from evennia_ai.core.typed_objects import GameObject
from evennia_ai.runtime import signals

HOOK = "can_act"
UNABLE_LINE = "{name} does not stir."
_TOLD: set[tuple[str, str]] = set()


def inability(body: GameObject) -> str:
    """The line that tells people why a body cannot act, or "" where it can.

    The body's `can_act` says so: True, or False, or a line of the game's own, in which {name} is
    what the body is called. Where that hook fails, the body does nothing, and the log says why.
    """
    try:
        hook = getattr(body, HOOK, True)
        answer = hook() if callable(hook) else hook
    except Exception as error:
        _log_once(body, error)
        return UNABLE_LINE
    if isinstance(answer, str):
        return " ".join(answer.split()) or UNABLE_LINE
    return "" if answer else UNABLE_LINE


def reason_of(body: GameObject) -> str:
    """The same for staff, with the body's name."""
    line = inability(body)
    return line and line.replace("{name}", str(body.key))


def _log_once(body: GameObject, error: Exception) -> None:
    """Log a hook that fails; it is asked at every beat."""
    # By class and not by body: a class that is broken may have a hundred bodies.
    fault = (str(body.typeclass_path), repr(error))
    if fault not in _TOLD:
        _TOLD.add(fault)
        signals.log_fault(f"{body!r} does nothing: {HOOK} raised {error!r}", error)
