"""When and after how long a call is tried again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.resilience.retry import RetryConfig, backoff_seconds, is_retryable_text

EXACT = RetryConfig(jitter=False)
CONFIGS = st.builds(
    RetryConfig,
    backoff_base=st.floats(0.0, 100.0),
    backoff_max=st.floats(0.0, 1000.0),
    backoff_multiplier=st.floats(1.0, 1e10),
    jitter=st.booleans(),
)
CHANCE = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("seconds", "attempt"),
    [(1.0, 1), (2.0, 2), (4.0, 3), (8.0, 4), (10.0, 5), (10.0, 5000)],
    ids=str,
)
def test_backoff_grows_to_its_longest(seconds: float, attempt: int) -> None:
    """Waits double from one second to ten and stay there, however often it failed."""
    assert seconds == backoff_seconds(EXACT, attempt, random=0.3)


@pytest.mark.parametrize(
    ("seconds", "chance"),
    [
        pytest.param(2.0, 0.0, id="half at the least"),
        pytest.param(3.0, 0.5, id="in the middle"),
        pytest.param(4.0, 1.0, id="all at the most"),
    ],
)
def test_jitter_shortens(seconds: float, chance: float) -> None:
    """Chance shortens a wait to no less than its half."""
    assert seconds == backoff_seconds(RetryConfig(), 3, random=chance)


@pytest.mark.parametrize(
    ("seconds", "asked"),
    [
        pytest.param(1.0, None, id="nothing asked"),
        pytest.param(1.0, 0.5, id="less"),
        pytest.param(30.0, 30.0, id="more, even above the longest wait"),
        pytest.param(1.0, -5.0, id="nonsense"),
        pytest.param(1.0, math.nan, id="no number"),
    ],
)
def test_service_is_obeyed(seconds: float, asked: float | None) -> None:
    """The wait is never less than what the service asked for."""
    assert seconds == backoff_seconds(EXACT, 1, random=0.0, retry_after=asked)


@given(CONFIGS, st.integers(1, 100_000), CHANCE)
def test_backoff_bounds(config: RetryConfig, attempt: int, chance: float) -> None:
    """Any wait lies between nothing and the longest, and above half of the formula."""
    wait = backoff_seconds(config, attempt, random=chance)
    assert 0.0 <= wait <= config.backoff_max
    assert wait >= 0.5 * min(config.backoff_max, config.backoff_base)


@given(CONFIGS, st.integers(1, 50), CHANCE)
def test_backoff_never_shrinks(config: RetryConfig, attempt: int, chance: float) -> None:
    """With the same chance a later wait is no shorter."""
    first, second = (backoff_seconds(config, attempt + n, random=chance) for n in (0, 1))
    assert first <= second


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param(True, "Connection reset by peer", id="connection"),
        pytest.param(True, "Read TIMEOUT", id="timeout, in capitals"),
        pytest.param(True, "Rate limit reached, please try again", id="rate limit"),
        pytest.param(False, "invalid api key", id="a wrong key"),
        pytest.param(False, "", id="nothing"),
    ],
)
def test_words_of_passing_trouble(expected: bool, text: str) -> None:
    """Trouble that may pass is known by its words."""
    assert expected is is_retryable_text(text)
