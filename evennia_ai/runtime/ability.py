"""Asks the game whether an assistant's body can act at all: the hook `can_act`."""

from __future__ import annotations

from evennia_ai.core.typed_objects import GameObject
from evennia_ai.runtime import signals

HOOK = "can_act"
UNABLE_LINE = "{name} does not stir."
_LOGGED: set[tuple[str, str]] = set()


def inability(body: GameObject) -> str:
    """The line that tells players why a body cannot act, or "" where it can.

    The body's `can_act` decides: True, False, or a line of the game's own in which {name} stands
    for the body's name. If that hook fails, the body does nothing, and the log says why.
    """
    try:
        hook = getattr(body, HOOK, True)
        answer = hook() if callable(hook) else hook
    # Unable when in doubt: a body that lies dead must not speak because a hook is broken.
    except Exception as error:
        _log_once(body, error)
        return UNABLE_LINE
    if isinstance(answer, str):
        return " ".join(answer.split()) or UNABLE_LINE
    return "" if answer else UNABLE_LINE


def reason_of(body: GameObject) -> str:
    """The same line for staff, with the body's name."""
    line = inability(body)
    return line and line.replace("{name}", str(body.key))


def _log_once(body: GameObject, error: Exception) -> None:
    """Log a hook that fails, once: it is asked at every beat."""
    # By class, not by body: a broken class may have a hundred bodies.
    fault = (str(body.typeclass_path), repr(error))
    if fault not in _LOGGED:
        _LOGGED.add(fault)
        signals.log_fault(f"{body!r} does nothing: {HOOK} raised {error!r}", error)
