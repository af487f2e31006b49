"""Rate limits in the headers of services."""

from typing import Any

import pytest

from evennia_ai.llm.rate_limits import RateLimitInfo, read_rate_limits, read_span


@pytest.mark.parametrize(
    ("expected", "headers"),
    [
        pytest.param(None, {}, id="nothing"),
        pytest.param(None, {"x-ratelimit-limit-requests": "many"}, id="nonsense"),
        pytest.param(None, {"x-ratelimit-limit-requests": "-1"}, id="less than nothing"),
        pytest.param(None, {"x-ratelimit-limit-requests": "9" * 40}, id="more than there is"),
        pytest.param(
            RateLimitInfo(60, 59, 1.0, 150_000, 149_984, 360.0),
            {
                "x-ratelimit-limit-requests": "60",
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-limit-tokens": "150000",
                "x-ratelimit-remaining-tokens": "149984",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            id="OpenAI",
        ),
        pytest.param(
            RateLimitInfo(requests_limit=50, requests_remaining=0, tokens_limit=40_000),
            {
                "anthropic-ratelimit-requests-limit": "50",
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:00Z",
                "anthropic-ratelimit-tokens-limit": "40000",
            },
            id="Anthropic",
        ),
    ],
)
def test_limits_are_read(expected: Any, headers: dict[str, str]) -> None:
    assert expected == read_rate_limits(headers)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param(0.02, "20ms", id="milliseconds"),
        pytest.param(7.66, "7.66s", id="seconds"),
        pytest.param(135.0, "2m15s", id="minutes"),
        pytest.param(90_061.0, "1d1h1m1s", id="all of them"),
        pytest.param(12.0, "12", id="a bare number"),
        pytest.param(None, "", id="nothing"),
        pytest.param(None, "soon", id="a word"),
        pytest.param(None, "5s later", id="more than a span"),
        pytest.param(None, "-5", id="the past"),
        pytest.param(None, "1767225600000", id="a point in time"),
    ],
)
def test_spans_are_read(expected: float | None, text: str) -> None:
    assert expected == pytest.approx(read_span(text))
