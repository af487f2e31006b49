"""The emergency stop: one flag that keeps an assistant from acting until a person clears it.

A stop is made by a person; a lockout is the same flag set by the assistant itself, with a cause.
Both work with any script-like object: one with `db`, and perhaps `obj`, `clock` and `work`.
"""

from evennia_ai.core.safety.lockout import State
from evennia_ai.emergency.steps import RETURNED_LINE, is_stopped, is_unstored, lockout_of, state_of
from evennia_ai.emergency.stopping import (
    PORTION,
    clear_all,
    clear_emergency_stop,
    count_of_stops,
    finish,
    stop_all,
    trigger_emergency_stop,
)

__all__ = [
    "PORTION",
    "RETURNED_LINE",
    "State",
    "clear_all",
    "clear_emergency_stop",
    "count_of_stops",
    "finish",
    "is_stopped",
    "is_unstored",
    "lockout_of",
    "state_of",
    "stop_all",
    "trigger_emergency_stop",
]
