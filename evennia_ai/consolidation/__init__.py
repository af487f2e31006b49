"""The night's work of an assistant in small pieces, each all or nothing; of it, facts awake too."""

from evennia_ai.consolidation.extraction import extract
from evennia_ai.consolidation.scheduler import move_of, put_to_sleep, rest, step, wake_up

__all__ = ["extract", "move_of", "put_to_sleep", "rest", "step", "wake_up"]
