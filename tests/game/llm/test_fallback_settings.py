"""Fallback models as a game and an assistant set them."""

from typing import Any

import pytest
from django.test import override_settings

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.runtime import services

URL = "http://127.0.0.1:9/v1"
BIG = Endpoint("custom", "big", URL)


@pytest.fixture(autouse=True)
def game_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", URL)
    monkeypatch.setenv("EVENNIA_AI_MODEL", "big")
    monkeypatch.setenv("SOME_KEY", "sk-some")
    for name in ("OPENAI_API_KEY", "EVENNIA_AI_TOOL_MODE"):
        monkeypatch.delenv(name, raising=False)


def _names(*arguments: Any) -> list[str]:
    return [each.model for each in services.fallbacks(*arguments)]


def test_nothing_is_set() -> None:
    assert () == services.fallbacks() == services.fallbacks((), BIG)


@override_settings(EVENNIA_AI_FALLBACK_MODELS=["small", {"model": "x", "api_key_env": "SOME_KEY"}])
def test_the_games_list() -> None:
    """Bare names are models of the game's own address; keys come from the environment."""
    assert (
        Endpoint("custom", "small", URL),
        Endpoint("custom", "x", URL, "sk-some"),
    ) == services.fallbacks()


@override_settings(EVENNIA_AI_FALLBACK_MODELS=["small", "scripted"])
def test_an_assistants_own_list_wins() -> None:
    """Without its own list the game's counts, minus the model of first choice."""
    assert ["tiny"] == _names(["tiny"], BIG)
    assert ["small", "scripted"] == _names([], BIG)
    assert ["small"] == _names([], Endpoint("scripted", "scripted"))


@override_settings(EVENNIA_AI_FALLBACK_MODELS="small")
def test_a_wrong_list_is_found_at_the_start() -> None:
    """Otherwise the mistake would surface only when the first model fails."""
    with pytest.raises(ConfigurationError, match="EVENNIA_AI_FALLBACK_MODELS is 'small'; it must"):
        services.check_settings()
