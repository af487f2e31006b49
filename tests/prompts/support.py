"""Helpers of the tests of prompts."""

from typing import Any

from evennia_ai.core.turn.contexts import CONTEXTS, ContextType
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs
from evennia_ai.prompts import PromptInputs, compose

EVENT = CONTEXTS[ContextType.TICK_EVENT]


def count(text: str) -> int:
    """A token for every four characters, as a stand-in for a model's own count."""
    return -(-len(text) // 4)


def make_inputs(**changes: Any) -> PromptInputs:
    """Inputs of Ada with ample room, and with these changes."""
    return PromptInputs(**{"name": "Ada", "count": count, "max_tokens": 100_000, **changes})


def messages_of(inputs: PromptInputs, turn: Turn, specs: Specs | None = None) -> list[Message]:
    """The messages that the model is sent."""
    return compose(inputs, turn, specs or {}).messages
