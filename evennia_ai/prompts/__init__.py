"""The text an assistant's model is given: who it is, how it answers, and the conversation."""

from evennia_ai.prompts.compose import Persona, compose

__all__ = ["Persona", "compose"]
