"""Settings of the memory."""

from typing import Any

import pytest

from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.errors import ConfigurationError


def test_an_assistants_own_goes_before_the_games() -> None:
    """The settings are merged key by key, over the defaults."""
    read = MemoryConfig.from_layers({"recall_limit": 3, "journal_days": 9}, {"recall_limit": 4})
    assert (4, 9, 10_000) == (read.recall_limit, read.journal_days, read.max_memories)


def test_lists_of_every_kind_become_tuples() -> None:
    read = MemoryConfig.from_layers({"never_rooms": ["#2"]}, {"never_characters": ("*#3",)})
    assert (("#2",), ("*#3",)) == (read.never_rooms, read.never_characters)


def test_every_key_is_known() -> None:
    assert "recall_limit" in MemoryConfig.model_fields
    assert MemoryConfig() == MemoryConfig.from_layers({}, {})


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("enabled is 1; it must be True or False", "enabled", 1),
        ("min_source_trust is 1.1; it must be a number from 0 to 1", "min_source_trust", 1.1),
        ("rumour_trust is 'low'; it must be a number from 0 to 1", "rumour_trust", "low"),
        ("min_similarity is -1; it must be a number from 0 to 1", "min_similarity", -1),
        ("similarity_weight is True; it must be a number", "similarity_weight", True),
        ("recency_weight is nan; it must be a number", "recency_weight", float("nan")),
        ("recency_half_life_days is 0; it must be a number", "recency_half_life_days", 0),
        ("recall_limit is 0; it must be a whole number from 1 to 50", "recall_limit", 0),
        ("recall_limit is 2.5; it must be a whole number", "recall_limit", 2.5),
        ("never_rooms is '#2'; it must be a list of texts, such as ['#2']", "never_rooms", "#2"),
        ("never_rooms is ['']; it must be a list of texts, such as ['#2']", "never_rooms", [""]),
        (
            "never_characters is [3]; it must be a list of texts, such as ['#12']",
            "never_characters",
            [3],
        ),
        ("faction_category is ' '; it must be text, not an empty one", "faction_category", " "),
        ("faction_category is None; it must be text", "faction_category", None),
    ],
)
def test_what_is_wrong_is_said(text: str, key: str, value: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        MemoryConfig.from_layers({}, {key: value})
    assert str(caught.value).startswith(f"memory_config.{text}")


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="has no key 'recal_limit'"):
        MemoryConfig.from_layers({"recal_limit": 3}, {})


@pytest.mark.parametrize(
    ("text", "game", "own"),
    [("EVENNIA_AI_MEMORY_CONFIG is 3", 3, {}), ("memory_config is []", {}, [])],
)
def test_what_is_no_mapping_is_refused(text: str, game: Any, own: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        MemoryConfig.from_layers(game, own)
    assert str(caught.value).startswith(f"{text}; it must be a mapping of enabled, recall_limit,")


def test_a_likeness_may_be_given() -> None:
    """If none is set, the embedding model's own threshold is used."""
    assert 0.4 == MemoryConfig(min_similarity=0.4).min_similarity
    assert MemoryConfig().min_similarity is None
