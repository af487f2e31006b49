"""A breaker and a cache on a clock that a test moves."""

import pytest

from evennia_ai.resilience import CircuitBreaker, ToolResultCache
from tests.resilience.manual_clock import BREAKER_CONFIG, ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def breaker(clock: ManualClock) -> CircuitBreaker:
    """Trips at the third failure within 20 s, opens for 10 s, closes after two good probes."""
    return CircuitBreaker("llm", BREAKER_CONFIG, clock=clock)


@pytest.fixture
def cache(clock: ManualClock) -> ToolResultCache:
    """A cache of at most three entries."""
    return ToolResultCache(3, clock=clock)
