"""Prices of models, and the tokens that count."""

import math
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.prices import (
    FREE,
    MOST_TOKENS_OF_A_CALL,
    Price,
    cost_of,
    counted,
    highest,
    price_of,
    read_prices,
)
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ConfigurationError

MINI = Price(Decimal("0.15"), Decimal("0.6"))
UNCACHED = Price(Decimal("0.01"), Decimal(0))
CACHING = replace(UNCACHED, cached_input=Decimal(0))
WRITING = replace(UNCACHED, cache_write=Decimal("0.0125"))
ESTIMATE = TokenUsage(100, 50)


def test_prices_are_read() -> None:
    given = {"mini": {"input": 0.15, "output": 0.6}, "free": {"input": 0, "output": 0}}
    assert {"mini": MINI, "free": FREE} == read_prices(given)
    assert {} == read_prices({})


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        pytest.param("EVENNIA_AI_PRICES is 3; it must be like EVENNIA_AI_PRICES = {", 3, id="list"),
        pytest.param("EVENNIA_AI_PRICES['m'] is 0.15; it must say", {"m": 0.15}, id="one number"),
        pytest.param("EVENNIA_AI_PRICES['m'] is {'input': 1}", {"m": {"input": 1}}, id="no output"),
        pytest.param(
            "EVENNIA_AI_PRICES['m'] is ",
            {"m": {"input": 1, "output": 1, "cached": 1}},
            id="a third",
        ),
        pytest.param(
            "EVENNIA_AI_PRICES['m']['cached_input'] is 2; it must be at most 'input', 1",
            {"m": {"input": 1, "output": 1, "cached_input": 2}},
            id="a cache that is dearer",
        ),
        pytest.param(
            "EVENNIA_AI_PRICES['m']['cache_write'] is 0.5; it must be at least 'input', 1",
            {"m": {"input": 1, "output": 1, "cache_write": 0.5}},
            id="a cache that is cheaper to write",
        ),
        *(
            pytest.param(
                f"EVENNIA_AI_PRICES['m']['output'] is {value!r}; it must be a number of dollars",
                {"m": {"input": 1, "output": value}},
                id=name,
            )
            for name, value in {
                "negative": -1,
                "absurd": 1e15,
                "not a number": math.nan,
                "endless": math.inf,
                "yes": True,
                "text": "0.6",
            }.items()
        ),
    ],
)
def test_a_wrong_price_is_refused(text: str, setting: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_prices(setting)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("price", "provider", "model"),
    [
        pytest.param(MINI, "openai", "mini", id="by the model"),
        pytest.param(Price(Decimal(1), Decimal(2)), "azure", "mini", id="of that provider"),
        pytest.param(None, "openai", "maxi", id="unknown"),
        pytest.param(FREE, "local", "anything", id="the embedded model"),
        pytest.param(FREE, "scripted", "mini", id="the scripted model"),
    ],
)
def test_the_price_of_a_model(price: Price | None, provider: str, model: str) -> None:
    """The provider's own price comes first, and local models are free."""
    prices = read_prices(
        {"mini": {"input": 0.15, "output": 0.6}, "azure/mini": {"input": 1, "output": 2}}
    )
    assert price == price_of(prices, provider, model)


@pytest.mark.parametrize(
    ("nano", "usage", "price"),
    [
        pytest.param(150, TokenUsage(1, 0), MINI, id="a token in"),
        pytest.param(600, TokenUsage(0, 1), MINI, id="a token out"),
        pytest.param(300, TokenUsage(3, 0), Price(Decimal("0.1"), Decimal(0)), id="exact"),
        pytest.param(
            1,
            TokenUsage(1, 0),
            Price(Decimal("0.0000001"), Decimal(0)),
            id="never less than it costs",
        ),
        pytest.param(750_000_000, TokenUsage(1_000_000, 1_000_000), MINI, id="a million"),
        pytest.param(1_000, TokenUsage(1_000, 0, 900), CACHING, id="mostly from the cache"),
        pytest.param(10_000, TokenUsage(1_000, 0, 900), UNCACHED, id="no price for the cache"),
        pytest.param(11_000, TokenUsage(1_000, 0, 500, 400), WRITING, id="written into the cache"),
        pytest.param(10_000, TokenUsage(1_000, 0, 0, 400), UNCACHED, id="no price for writing"),
        pytest.param(0, TokenUsage(5, 5), FREE, id="free"),
        pytest.param(0, TokenUsage(5, 5), None, id="unknown"),
    ],
)
def test_what_a_call_costs(nano: int, usage: TokenUsage, price: Price | None) -> None:
    assert nano == cost_of(usage, price)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_no_call_costs_more_than_the_highest_price(asked: int, answered: int) -> None:
    """One of these models is dear to read, another one dear to write."""
    prices = (MINI, Price(Decimal(5), Decimal("0.1")), Price(Decimal(0), Decimal(0), Decimal(1)))
    usage = TokenUsage(asked, answered)
    assert max(cost_of(usage, price) for price in prices) <= cost_of(usage, highest(prices))
    assert all(price == highest([price]) for price in prices)


@pytest.mark.parametrize(
    ("usage", "reported"),
    [
        pytest.param(TokenUsage(7, 3), (7, 3), id="as reported"),
        pytest.param(TokenUsage(7, 0), (7, 0), id="an empty answer"),
        pytest.param(TokenUsage(8, 3), (7.5, 3.0), id="broken numbers"),
        pytest.param(ESTIMATE, (0, 0), id="absent"),
        pytest.param(TokenUsage(100, 3), (0, 3), id="no prompt"),
        pytest.param(ESTIMATE, (-7, -3), id="negative"),
        pytest.param(TokenUsage(7, 50), (7, -3), id="half negative"),
        pytest.param(ESTIMATE, (math.nan, math.nan), id="not a number"),
        pytest.param(TokenUsage(7, 50), (7, math.inf), id="endless"),
        pytest.param(TokenUsage(7, 50), (7, MOST_TOKENS_OF_A_CALL + 1), id="absurd"),
        pytest.param(ESTIMATE, ("7", None), id="no numbers"),
        pytest.param(ESTIMATE, (True, True), id="yes"),
    ],
)
def test_b2_r26_whatever_is_reported_counts(usage: TokenUsage, reported: tuple[Any, Any]) -> None:
    """An impossible report counts as the estimate, so no call is free or gives credit."""
    prompt, completion = reported
    report = SimpleNamespace(prompt_tokens=prompt, completion_tokens=completion)
    assert usage == counted(report, ESTIMATE)


def test_no_usage_at_all_counts_as_the_estimate() -> None:
    assert ESTIMATE == counted(None, ESTIMATE)


REPORTS = st.one_of(st.integers(), st.floats(), st.none(), st.text(), st.booleans())


@given(REPORTS, REPORTS)
def test_o5_what_counts_is_always_a_number(prompt: Any, completion: Any) -> None:
    report = SimpleNamespace(prompt_tokens=prompt, completion_tokens=completion)
    usage = counted(report, ESTIMATE)
    assert type(usage.prompt_tokens) is type(usage.completion_tokens) is int
    assert usage.prompt_tokens > 0
    assert 0 <= usage.completion_tokens <= MOST_TOKENS_OF_A_CALL


@pytest.mark.parametrize(
    ("cached", "reported"),
    [
        pytest.param(4, 4, id="as reported"),
        pytest.param(7, 7, id="all of it"),
        pytest.param(0, 8, id="more than the prompt"),
        pytest.param(0, -1, id="negative"),
        pytest.param(0, "4", id="no number"),
        pytest.param(0, math.nan, id="not a number"),
        pytest.param(0, True, id="yes"),
    ],
)
def test_only_a_possible_number_of_cached_tokens_counts(cached: int, reported: Any) -> None:
    """Anything else is charged for in full, as is a prompt that is estimated."""
    report = SimpleNamespace(prompt_tokens=7, completion_tokens=3, cached_tokens=reported)
    assert TokenUsage(7, 3, cached) == counted(report, ESTIMATE)
    report.prompt_tokens = -1
    assert TokenUsage(ESTIMATE.prompt_tokens, 3) == counted(report, ESTIMATE)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_no_call_costs_more_than_without_a_cache(prompt: int, cached: int, answer: int) -> None:
    """So what is reserved before anybody knows what is cached is never too little."""
    caching = {"input": 0.15, "output": 0.6, "cached_input": 0.075, "cache_write": 0.1875}
    price = read_prices({"m": caching})["m"]
    cached = min(cached, prompt)
    reserved = TokenUsage(prompt, answer, written_tokens=prompt)
    for usage in (TokenUsage(prompt, answer, cached), replace(reserved, written_tokens=cached)):
        assert cost_of(usage, price) <= cost_of(reserved, highest([price, MINI]))
        assert cost_of(usage, price) <= cost_of(reserved, price)


def test_a_price_of_a_call() -> None:
    of_a_call = Price(Decimal(0), Decimal(0), Decimal("0.01"))
    assert 10_000_000 == cost_of(TokenUsage(0, 5000), of_a_call)
    assert 10_000_001 == cost_of(
        TokenUsage(1, 0), Price(Decimal("0.0001"), Decimal(0), Decimal("0.01"))
    )
