"""The whole table: every method of every address, noun by noun, and the headings of the schema.

An address is tried in this order. What is not in here does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping

from evennia_ai.api import (
    accounting,
    adopting,
    asking,
    assistants,
    conduct,
    lore,
    memory,
    monitoring,
    nights,
    people_memory,
    tokens,
    undoing,
)
from evennia_ai.api.rows import Row

TABLE: tuple[Row, ...] = (
    *monitoring.ROWS,
    *tokens.ROWS,
    *asking.ROWS,
    *assistants.ROWS,
    *adopting.ROWS,
    *conduct.ROWS,
    *undoing.ROWS,
    *accounting.ROWS,
    *memory.ROWS,
    *people_memory.ROWS,
    *nights.ROWS,
    *lore.ROWS,
)
TAGS: Mapping[str, str] = {
    assistants.TAG: "Making, looking at, changing and removing assistants.",
    assistants.SAFETY: "Stopping at once, and letting go on.",
    conduct.SETTINGS: "What can be set, and what a model is sent.",
    conduct.TALK: "What was said, and why it was answered or not.",
    conduct.WORK: "What an assistant is after, and what it can do.",
    accounting.RECORD: "What happened, and what an assistant was like at any moment.",
    accounting.USE: "What was used, and which services are asked.",
    asking.QUESTIONS: "What assistants ask people.",
    memory.TAG: "What assistants remember, for staff.",
    people_memory.TAG: "What is remembered of people: their own say over it, and staff's.",
    lore.TAG: "What the game lets all its assistants know.",
    nights.TAG: "When assistants sleep and sort out what they remember.",
    monitoring.TAG: "For programs that watch the game.",
    tokens.TAG: "Saying who one is.",
}
