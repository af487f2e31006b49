"""Evaluation of lore's conditions and macros against the current state of the game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evennia_ai.core.memory.lore_terms import LoreCondition
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.memory import modes
from evennia_ai.memory.seeking import bodies_of
from evennia_ai.prompts.placeholders import macros_of
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.game_functions import quest_state


@dataclass(frozen=True)
class LoreMoment:
    """The situation in which lore is looked up.

    Attributes:
        body: the assistant's character.
        sender: id of the person being answered, "" for nobody.
        fill: fills in the macros of a text.
    """

    body: GameObject
    sender: str
    fill: Callable[[str], str]

    @cached_property
    def _people(self) -> list[Any]:
        """The characters that the person being answered puppets."""
        return bodies_of(self.sender) if self.sender else []

    def holds(self, condition: LoreCondition) -> bool:
        """True if a condition is met, for several characters by at least one.

        Raises:
            ConfigurationError: EVENNIA_AI_QUEST_STATE does not name a function.
        """
        return any(_holds(being, condition) for being in self._subjects(condition))

    def _subjects(self, condition: LoreCondition) -> list[Any]:
        if condition.of == "person":
            return self._people
        meant = self.body if condition.of == "assistant" else self.body.location
        return [meant] if meant is not None else []


def _holds(being: GameObject, condition: LoreCondition) -> bool:
    if condition.quest:
        return quest_state(being, condition.quest) == condition.state
    if condition.tag:
        return bool(being.tags.has(condition.tag, category=condition.category))
    value = being.attributes.get(condition.attribute)
    if condition.value is None:
        return bool(value)
    # In Python True == 1, but a builder who writes 1 does not mean True.
    return value == condition.value and isinstance(value, bool) is isinstance(condition.value, bool)


def moment_of(script: Assistant, turn: Turn | None) -> LoreMoment:
    """The situation of a turn; None: without a speaker."""
    event = turn.event if turn is not None and turn.events else None
    name = event.sender_name if event is not None else ""
    fill = macros_of(script.obj, modes.now(script), name)
    return LoreMoment(script.obj, event.sender_id if event is not None else "", fill)
