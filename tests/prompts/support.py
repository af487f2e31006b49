"""What tests of prompts begin with."""

from __future__ import annotations

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
    """Ada, with much room, and with whatever a test wants different."""
    return PromptInputs(**{"name": "Ada", "count": count, "max_tokens": 100_000, **changes})


def messages_of(inputs: PromptInputs, turn: Turn, specs: Specs | None = None) -> list[Message]:
    """What the model is sent."""
    return compose(inputs, turn, specs or {}).messages
