"""Prompts: the system prompt, the examples and the conversation that a model is sent."""

from evennia_ai.prompts.compose import compose, compose_inner, stable_head, told_components
from evennia_ai.prompts.placeholders import facts_of
from evennia_ai.prompts.scene import Scene, stage

__all__ = [
    "Scene",
    "compose",
    "compose_inner",
    "facts_of",
    "stable_head",
    "stage",
    "told_components",
]
