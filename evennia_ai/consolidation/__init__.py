"""Consolidation of memories at night, in small atomic pieces; some of it also while awake."""

from evennia_ai.consolidation.extraction import extract
from evennia_ai.consolidation.scheduler import move_of, put_to_sleep, rest, step, wake_up

__all__ = ["extract", "move_of", "put_to_sleep", "rest", "step", "wake_up"]
