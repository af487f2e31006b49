"""Prompts: the system prompt, the examples and the conversation that a model is sent."""

from evennia_ai.prompts.compose import compose, compose_inner, stable_head, told_components
from evennia_ai.prompts.inputs import PromptInputs, build_inputs
from evennia_ai.prompts.placeholders import facts_of

__all__ = [
    "PromptInputs",
    "build_inputs",
    "compose",
    "compose_inner",
    "facts_of",
    "stable_head",
    "told_components",
]
