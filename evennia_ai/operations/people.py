"""What a person may ask of an assistant for themselves."""

from __future__ import annotations

from typing import Any

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.messages import incoming
from evennia_ai.operations.result import Result
from evennia_ai.runtime import state
from evennia_ai.runtime.pronouns import wording
from evennia_ai.runtime.rights import name_before


def set_muted(script: AssistantScript, being: Any, is_muted: bool) -> Result:
    """Part an assistant and a person: neither hears the other, until that is taken back.

    Args:
        being: the person's character or account; it holds for all characters of the account.
    """
    name = name_before(script, being)
    them = wording(script).them
    changed = state.mute(script, incoming.person_of(being), is_muted=is_muted)
    if not changed:
        now = "You do not hear" if is_muted else "You do hear"
        return Result(False, f"{now} {name} already.")
    if is_muted:
        return Result(
            True, f"{name} no longer hears you, nor you {them}. Back: assistant unmute {name}"
        )
    return Result(True, f"{name} hears you again, and you {them}.")
