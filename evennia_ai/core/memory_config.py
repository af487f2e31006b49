"""What an assistant remembers, how much of it, and how what is told is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from evennia_ai.core.stored import read_config
from evennia_ai.errors import ConfigurationError

_LISTS = ("never_rooms", "never_characters")


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """How an assistant remembers. Units in names.

    Attributes:
        enabled: whether it remembers anything beyond its conversation.
        recall_limit: memories told in a turn, at most.
        min_similarity: how alike to what was said a memory must be, 0 to 1; None: what the
            embedding model was measured to need.
        min_source_trust: what is believed less is told as hearsay, 0 to 1.
        rumour_trust: what is believed less is not told at all, 0 to 1.
        similarity_weight, recency_weight, importance_weight: how much each counts in the choice.
        recency_half_life_days: after so many days a memory counts half as recent.
        journal_entries: entries of the journal that are kept as they were written; of more, those
            that facts were drawn from leave, the least important of them first.
        journal_days: an unimportant entry older than this is let go, unless facts were drawn
            from it.
        max_memories: of one assistant; the least important of the oldest leave first.
        retention_days: whatever is older is forgotten; 0: nothing is.
        never_rooms: rooms ("#2", or a tag) in which nothing is remembered.
        never_characters: characters or players ("#12", "*#3") of whom nothing is remembered.
        faction_category: category of the tags that say which faction somebody belongs to.
        reflection_threshold: importance that has to come together before it thinks things over.
        reflection_questions, reflection_evidence: how many it asks itself, and reads for each.
    """

    enabled: bool = True
    recall_limit: int = 6
    min_similarity: float | None = None
    min_source_trust: float = 0.55
    rumour_trust: float = 0.25
    similarity_weight: float = 1.0
    recency_weight: float = 0.3
    importance_weight: float = 0.3
    recency_half_life_days: float = 14.0
    journal_entries: int = 1_000
    journal_days: int = 30
    max_memories: int = 10_000
    retention_days: int = 0
    never_rooms: tuple[str, ...] = ()
    never_characters: tuple[str, ...] = ()
    faction_category: str = "faction"
    reflection_threshold: int = 150
    reflection_questions: int = 3
    reflection_evidence: int = 10

    def __post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise ConfigurationError(
                f"memory_config.enabled is {self.enabled!r}; it must be True or False"
            )
        for name in ("min_source_trust", "rumour_trust"):
            _check(name, getattr(self, name), 0, 1)
        if self.min_similarity is not None:
            _check("min_similarity", self.min_similarity, 0, 1)
        for name in ("similarity_weight", "recency_weight", "importance_weight"):
            _check(name, getattr(self, name), 0, 100)
        _check("recency_half_life_days", self.recency_half_life_days, 0.01, 100_000)
        for name, least, most in _WHOLE:
            _check(name, getattr(self, name), least, most, is_whole=True)
        for name in _LISTS:
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        if not isinstance(self.faction_category, str) or not self.faction_category.strip():
            raise ConfigurationError(
                f"memory_config.faction_category is {self.faction_category!r}; it must be a word"
            )

    @classmethod
    def from_stored(cls, game: Any, own: Any) -> MemoryConfig:
        """Read the game's setting and an assistant's own, which goes before it.

        Raises:
            ConfigurationError: one is no mapping, a key is unknown, or a value does not fit.
        """
        for name, given in (("EVENNIA_AI_MEMORY_CONFIG", game), ("memory_config", own)):
            if not isinstance(given, Mapping):
                raise ConfigurationError(f"{name} is {given!r}; it must be like {_EXAMPLE}")
        return read_config(cls, "memory_config", {**game, **own}, _EXAMPLE)


_EXAMPLE = "{'recall_limit': 6}"
_WHOLE = (
    ("recall_limit", 1, 50),
    ("journal_entries", 10, 10_000),
    ("journal_days", 1, 100_000),
    ("max_memories", 100, 1_000_000),
    ("retention_days", 0, 100_000),
    ("reflection_threshold", 1, 1_000_000),
    ("reflection_questions", 1, 10),
    ("reflection_evidence", 1, 50),
)
MEMORY_KEYS = tuple(entry.name for entry in fields(MemoryConfig))


def _check(name: str, value: Any, least: float, most: float, *, is_whole: bool = False) -> None:
    types = (int,) if is_whole else (int, float)
    is_number = isinstance(value, types) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value) and least <= value <= most):
        kind = "a whole number" if is_whole else "a number"
        raise ConfigurationError(
            f"memory_config.{name} is {value!r}; it must be {kind} from {least:g} to {most:g}"
        )


def _texts(name: str, given: Any) -> tuple[str, ...]:
    is_list = isinstance(given, (list, tuple, set, frozenset))
    if not is_list or not all(isinstance(item, str) and item.strip() for item in given):
        raise ConfigurationError(f"memory_config.{name} is {given!r}; it must be like ['#2']")
    return tuple(given)
