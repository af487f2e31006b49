"""The emergency stop: one flag that keeps an assistant from acting until a person clears it.

Works with any script-like object: one with `db`, and perhaps `obj` and `ndb`.
"""

from __future__ import annotations

from typing import Any

from evennia.utils import logger

from evennia_ai import outbound, state
from evennia_ai.inbound import notice


def _work_of(script: Any) -> Any:
    return getattr(script, "work", None)


def trigger_emergency_stop(script: Any, reason: str) -> None:
    """Stop an assistant at once: the flag is set, what is under way is dropped, staff are told."""
    script.db.emergency_stop = True
    if _work_of(script) is not None:
        state.bump_epoch(script)
    logger.log_err(f"[assistant] emergency stop of {script}: {reason}")
    character = getattr(script, "obj", None)
    if character is not None:
        character.msg(notice(f"Emergency stop: {reason}"))
        outbound.alert_staff(
            f"{character.key} is stopped: {reason}. "
            f"Until: assistant emergency clear {character.key}"
        )


def clear_emergency_stop(script: Any) -> tuple[bool, str]:
    """Let an assistant act again.

    Returns:
        Whether there was a stop to clear, and a sentence for whoever asked.
    """
    if not script.db.emergency_stop:
        return False, "Emergency stop is not active"
    script.db.emergency_stop = False
    script.db.consecutive_errors = 0
    script.db.is_ticking = False
    work = _work_of(script)
    if work is not None:
        work.is_ticking = False
    logger.log_info(f"[assistant] emergency stop of {script} cleared")
    return True, "Emergency stop cleared; the assistant goes on with its next beat"
