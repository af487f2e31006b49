"""How an assistant sleeps: a night's work in small pieces, each of them all or nothing."""

from evennia_ai.sleeping.beats import move_of, put_to_sleep, rest, step, wake_up
from evennia_ai.sleeping.extraction import extract

__all__ = ["extract", "move_of", "put_to_sleep", "rest", "step", "wake_up"]
