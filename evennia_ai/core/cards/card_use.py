"""The use that is made of a card: who the assistant is, notes beside that, lore; and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evennia_ai.core.cards.character_card import CharacterCard, changed
from evennia_ai.core.cards.lore_book import LoreBook, lore_of_card
from evennia_ai.core.text.cleaning import strip_control

# Fields and what is said before each; the first field of a text says all where somebody edited it.
_PERSONA = {"description": "", "personality": "Personality: ", "scenario": "Scenario: "}
_NOTES = {
    "system_prompt": "How to play: ",
    "post_history_instructions": "To bear in mind: ",
    "mes_example": "How it speaks, by example: ",
}
_BOOK = "character_book"
_READ = ("name", *_PERSONA, *_NOTES, _BOOK)


@dataclass(frozen=True, slots=True)
class CardUse:
    """The use of a card.

    Attributes:
        persona: who the assistant is.
        notes: what its maker wrote for a model; told as data, below the rules.
        unused: names of the fields that are kept, and not used.
    """

    persona: str
    notes: str
    book: LoreBook
    unused: tuple[str, ...]


def use_of(card: CharacterCard) -> CardUse:
    """The use that is made of a card."""
    unused = tuple(name for name, value in card.data.items() if name not in _READ and value)
    return CardUse(_joined(card, _PERSONA), _joined(card, _NOTES), lore_of_card(card), unused)


def _joined(card: CharacterCard, fields: Mapping[str, str]) -> str:
    texts = ((label, strip_control(card.text(name)).strip()) for name, label in fields.items())
    return "\n\n".join(f"{label}{text}" for label, text in texts if text)


def given_back(card: CharacterCard, persona: str, notes: str) -> CharacterCard:
    """A card as it goes out: as it came in, but for what was changed here since."""
    fields: dict[str, str] = {}
    for text, names in ((persona, _PERSONA), (notes, _NOTES)):
        if text != _joined(card, names):
            first, label = next(iter(names.items()))
            fields |= {**dict.fromkeys(names, ""), first: text.removeprefix(label)}
    return changed(card, **fields) if fields else card
