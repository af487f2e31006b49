"""Settings of the REST API, the workbench and webhooks."""

import math
from typing import Any

import pytest

from evennia_ai.core.settings.schema import known_keys, schema_of
from evennia_ai.core.settings.services import NAME, A2aConfig, ApiConfig, Metrics, WebConfig
from evennia_ai.errors import ConfigurationError

SCHEMAS = known_keys(schema_of(ApiConfig))
NUMBERS = [name for name, each in SCHEMAS.items() if each["type"] in ("integer", "number")]
WHOLE = [name for name in NUMBERS if SCHEMAS[name]["type"] == "integer"]
RATES = [name for name in NUMBERS if name.endswith("_per_minute")]
RANGES = {name: (SCHEMAS[name]["minimum"], SCHEMAS[name]["maximum"]) for name in NUMBERS}


def refusal_of(given: Any) -> str:
    with pytest.raises(ConfigurationError) as refusal:
        ApiConfig.from_stored(given)
    return str(refusal.value)


def test_the_defaults_are_the_documented_ones() -> None:
    expected = {
        "timeout_seconds": 10.0,
        "long_timeout_seconds": 60.0,
        "waiting_requests": 12,
        "long_requests": 4,
        "reads_per_minute": 300,
        "writes_per_minute": 60,
        "anonymous_per_minute": 300,
        "tokens_per_minute": 5,
        "page_size": 25,
        "max_page_size": 100,
        "body_bytes": 100_000,
        "body_depth": 12,
        "metrics": "off",
        "token_days": 90,
        "keeps_old_tokens": False,
        "trusted_proxies": (),
    }
    assert expected == ApiConfig.from_stored({}).model_dump()


@pytest.mark.parametrize("name", NUMBERS)
def test_each_number_can_be_set(name: str) -> None:
    value = 5000 if name == "body_bytes" else 50
    expected = {**ApiConfig().model_dump(), name: value}
    assert expected == ApiConfig.from_stored({name: value}).model_dump()


@pytest.mark.parametrize("name", RATES)
def test_a_rate_of_0_is_no_limit(name: str) -> None:
    assert 0 == getattr(ApiConfig.from_stored({name: 0}), name)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(True, id="a bool"),
        pytest.param(-1, id="below 0"),
        pytest.param(math.nan, id="not a number"),
        pytest.param(math.inf, id="infinite"),
        pytest.param("10", id="a text"),
        pytest.param(None, id="nothing"),
        pytest.param(10**400, id="too large"),
    ],
)
def test_what_is_no_number_is_refused(name: str, value: Any) -> None:
    assert refusal_of({name: value}).startswith(f"{NAME}.{name} is {value!r}; it must be ")


@pytest.mark.parametrize("name", WHOLE)
def test_a_count_is_whole(name: str) -> None:
    assert "it must be a whole number from " in refusal_of({name: 10.5})
    whole = 2000 if name == "body_bytes" else 50
    value = getattr(ApiConfig.from_stored({name: float(whole)}), name)
    assert (whole, int) == (value, type(value))


@pytest.mark.parametrize("name", RANGES)
def test_a_number_out_of_its_range_is_refused(name: str) -> None:
    least, most = RANGES[name]
    for value in (least - 1, most + 1):
        problem = refusal_of({name: value})
        assert problem.startswith(f"{NAME}.{name} is {value!r}; it must be a ")
        assert f"number from {least:g} to {most}" in problem
    assert (name in RATES) is problem.endswith("0 for no limit")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(True, Metrics.STAFF, id="on means staff"),
        pytest.param("staff", Metrics.STAFF, id="staff"),
        pytest.param("all", Metrics.ALL, id="everybody"),
        pytest.param("off", Metrics.OFF, id="off"),
        pytest.param(False, Metrics.OFF, id="false"),
        pytest.param(None, Metrics.OFF, id="none"),
        pytest.param("", Metrics.OFF, id="empty"),
    ],
)
def test_who_may_read_the_metrics(value: Any, expected: Metrics) -> None:
    assert expected is ApiConfig.from_stored({"metrics": value}).metrics


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param([], f"{NAME} is []; it must be a mapping of timeout_seconds,", id="a list"),
        pytest.param({"rate": 1}, f"{NAME} has no key 'rate'; it has timeout_", id="unknown key"),
        pytest.param(
            {"metrics": "players"},
            f"{NAME}.metrics is 'players'; it must be one of off, staff, all",
            id="unknown word",
        ),
        pytest.param(
            {"page_size": 60, "max_page_size": 50},
            f"{NAME}.page_size is 60; it must be at most max_page_size, which is 50",
            id="a page larger than the largest",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(given: Any, expected: str) -> None:
    assert refusal_of(given).startswith(expected)


def test_hole_c14_a_game_may_keep_no_tokens() -> None:
    """A time of 0 days means no tokens, which the refusal of -1 says."""
    assert 0 == ApiConfig.from_stored({"token_days": 0}).token_days
    assert "0 for no tokens at all" in refusal_of({"token_days": -1})


def test_hole_c15_proxies_are_named_by_address() -> None:
    assert ("10.0.0.5",) == ApiConfig.from_stored({"trusted_proxies": ["10.0.0.5"]}).trusted_proxies
    assert "trusted_proxies has 'nginx'" in refusal_of({"trusted_proxies": ["nginx"]})


def test_old_tokens_are_kept_or_not() -> None:
    assert ApiConfig.from_stored({"keeps_old_tokens": True}).keeps_old_tokens
    assert "keeps_old_tokens is 1; it must be True or False" in refusal_of({"keeps_old_tokens": 1})


@pytest.mark.parametrize(("given", "path"), [("/ai", "ai/"), ("staff/ai/", "staff/ai/")])
def test_the_workbench_is_at_a_path(given: str, path: str) -> None:
    assert path == WebConfig.from_stored({"path": given}).path
    with pytest.raises(ConfigurationError, match="path"):
        WebConfig.from_stored({"path": "not a path"})


def test_networks_of_hooks() -> None:
    given = {"hook_networks": ["10.0.0.0/8"]}
    assert ("10.0.0.0/8",) == A2aConfig.from_stored(given).hook_networks
    with pytest.raises(ConfigurationError, match="hook_networks"):
        A2aConfig.from_stored({"hook_networks": ["nginx"]})
