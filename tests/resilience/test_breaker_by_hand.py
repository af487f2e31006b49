"""A breaker taken in hand: opened, isolated, only counting, and reset."""

import math

import pytest

from evennia_ai.resilience import CircuitBreaker, CircuitOpenError
from tests.resilience.manual_clock import ManualClock


def test_forced_open_recovers_by_itself(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """A breaker opened by hand probes and closes as if it had tripped."""
    breaker.force_open()
    assert ("open", 10.0, "automatic") == (breaker.state, breaker.retry_after, breaker.mode)
    clock.now += 10
    breaker.acquire().success()
    breaker.acquire().success()
    assert "closed" == breaker.state


def test_isolated_stays_open(breaker: CircuitBreaker, clock: ManualClock) -> None:
    breaker.isolate()
    for seconds in (0, 1e9, -2e9):
        clock.now += seconds
        assert ("open", math.inf) == (breaker.state, breaker.retry_after)
        assert not breaker.is_available
        with pytest.raises(CircuitOpenError):
            breaker.acquire()
    breaker.record_success()
    assert ("isolated", None) == (breaker.mode, breaker.get_stats()["retry_after"])
    breaker.reset()
    assert ("closed", "automatic") == (breaker.state, breaker.mode)


def test_metrics_only_never_trips(breaker: CircuitBreaker) -> None:
    breaker.metrics_only()
    for _ in range(10):
        breaker.acquire().failure(OSError("down"))
    stats = breaker.get_stats()
    assert ("closed", "metrics_only", 10) == (stats["state"], breaker.mode, stats["total_failures"])
    breaker.reset()
    for _ in range(3):
        breaker.record_failure(OSError("down"))
    assert "open" == breaker.state


@pytest.mark.parametrize("act", ["reset", "force_open", "isolate", "metrics_only"])
def test_hand_makes_results_late(breaker: CircuitBreaker, act: str) -> None:
    """Calls begun before somebody took the breaker in hand change nothing after it."""
    permits = [breaker.acquire() for _ in range(3)]
    getattr(breaker, act)()
    before = breaker.get_stats()
    permits[0].success()
    permits[1].failure(OSError("late"))
    permits[2].release()
    assert before == breaker.get_stats()
