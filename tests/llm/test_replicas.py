"""The list of a model's addresses: its valid forms, and the error for each mistake."""

from types import SimpleNamespace
from typing import Any

import pytest

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import Endpoint, Replica, from_provider
from evennia_ai.llm.fallback_models import read_fallbacks
from evennia_ai.llm.replicas import with_replicas

A, B = "http://a/v1", "http://b/v1"
FIRST = Endpoint("custom", "m", A, "sk-a")
ENVIRON = {"B_KEY": " sk-b "}


def read(given: Any, first: Endpoint = FIRST) -> Endpoint:
    """The game's model with such a list."""
    return with_replicas(first, given, ENVIRON, SimpleNamespace(C_KEY="sk-c"))


def test_no_list_changes_nothing() -> None:
    assert FIRST is read(()) is read([])
    assert FIRST == read([{"base_url": A}])


def test_each_address_has_its_weight_and_its_own_key() -> None:
    """The key of OPENAI_BASE_URL goes to that address alone."""
    given = [
        {"base_url": A + "/", "weight": 3},
        {"base_url": B, "api_key_env": "B_KEY", "most_calls": 8},
        {"base_url": "http://c/v1", "api_key_env": "C_KEY"},
        {"base_url": "http://d/v1"},
    ]
    model = read(given)
    assert (
        Replica(A, "sk-a", 3.0),
        Replica(B, "sk-b", 1.0, 8),
        Replica("http://c/v1", "sk-c"),
        Replica("http://d/v1"),
    ) == model.replicas
    assert "sk-" not in repr(model)
    assert "m via http://a/v1 and 3 more" == model.describe()
    assert [each["base_url"].rstrip("/") for each in given] == [one.base_url for one in model.each]
    assert ["sk-a", "sk-b", "sk-c", ""] == [one.api_key for one in model.each]


def test_other_models_of_the_same_addresses_are_spread_as_well() -> None:
    """A bare name keeps the addresses; a key or provider of its own does not."""
    first = read([{"base_url": A}, {"base_url": B}])
    named, keyed = read_fallbacks(
        ["mini", {"model": "x", "api_key_env": "B_KEY"}], first, ENVIRON, None
    )
    assert first.replicas == named.replicas == from_provider("", "y", first).replicas
    assert () == keyed.replicas == from_provider("ollama", "z", first).replicas


def test_a_fallback_model_may_have_several_addresses() -> None:
    entry = {"model": "f", "endpoints": [{"base_url": B, "weight": 2}, {"base_url": "http://c/v1"}]}
    (model,) = read_fallbacks([entry], FIRST, ENVIRON, None)
    assert (
        Endpoint("custom", "f", B, replicas=(Replica(B, "", 2.0), Replica("http://c/v1"))) == model
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("http://a/v1", "EVENNIA_AI_ENDPOINTS is 'http://a/v1'; it must be a list such as"),
        ({}, "EVENNIA_AI_ENDPOINTS is {}; it must be a list"),
        (None, "EVENNIA_AI_ENDPOINTS is None; it must be a list"),
        ([A], "EVENNIA_AI_ENDPOINTS[0] is 'http://a/v1'; it must be as in a list"),
        ([{}], "EVENNIA_AI_ENDPOINTS[0] has no 'base_url'"),
        ([{"base_url": 3}], "[0] has no 'base_url'"),
        ([{"base_url": "a"}], "[0]['base_url'] is 'a'; it must be a web address"),
        ([{"base_url": "http://u:p@a/v1"}], "holds a user name or a password"),
        ([{"base_url": A, "url": 1}], "[0] has a key 'url'; it may have base_url, weight,"),
        ([{"base_url": A, "api_key": "sk-x"}], "[0] holds an 'api_key', which logs would show"),
        ([{"base_url": A, "api_key_env": "NO"}], "[0]['api_key_env'] names nothing that is set"),
        ([{"base_url": A, "api_key_env": 3}], "[0]['api_key_env'] is 3; it must be text"),
        *(
            ([{"base_url": A, "weight": weight}], "it must be a number above 0, at most 1,000")
            for weight in (0, -1, True, "3", float("nan"), float("inf"), 1001)
        ),
        *(
            ([{"base_url": A, "most_calls": calls}], "it must be a whole number from 0 to")
            for calls in (-1, 1.5, True, "3", 1_000_000)
        ),
        ([{"base_url": A}, {"base_url": A + "/"}], "[1]['base_url'] is 'http://a/v1', which an"),
        ([{"base_url": B}], "does not list 'http://a/v1', which OPENAI_BASE_URL names"),
        ([{"base_url": f"http://{n}/v1"} for n in range(65)], "has 65 entries; 64 are the most"),
    ],
)
def test_a_wrong_list_is_named_with_what_would_be_right(given: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(given)
    assert expected in str(caught.value)
    assert "sk-" not in str(caught.value)


def test_a_model_without_an_address_has_no_others() -> None:
    with pytest.raises(ConfigurationError, match="the game's model is 'local', which has none"):
        read([{"base_url": A}], Endpoint("local", "x"))


def test_a_fallback_says_once_where_it_is() -> None:
    entry = {"model": "f", "base_url": A, "endpoints": [{"base_url": B}]}
    with pytest.raises(ConfigurationError, match="has 'endpoints' beside 'base_url'"):
        read_fallbacks([entry], FIRST, ENVIRON, None)
