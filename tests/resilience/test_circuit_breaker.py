"""The breaker by examples: its states, its figures, its settings and the registry."""

import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any, cast

import pytest
from twisted.internet.defer import CancelledError
from twisted.python.failure import Failure

from evennia_ai.resilience import (
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitBreakerRegistry,
    CircuitOpenError,
)
from evennia_ai.resilience.permit import Permit
from tests.resilience.manual_clock import BREAKER_CONFIG, ManualClock


class CarryingError(Exception):
    """An error that has another one as `value`, as Twisted's Failure does."""

    value = KeyError("carried")


def trip(breaker: CircuitBreaker) -> None:
    for _ in range(BREAKER_CONFIG.failure_threshold):
        breaker.record_failure(OSError("down"))


def test_trips_at_the_threshold(breaker: CircuitBreaker) -> None:
    states = []
    for _ in range(3):
        breaker.record_failure(OSError("down"))
        states.append(str(breaker.state))
    assert ["closed", "closed", "open"] == states


def test_open_rejects_and_says_how_long(breaker: CircuitBreaker, clock: ManualClock) -> None:
    trip(breaker)
    clock.now += 4
    with pytest.raises(
        CircuitOpenError, match=r"^breaker 'llm' is open, next try in 6 s$"
    ) as rejected:
        breaker.acquire()
    assert (6.0, 6.0) == (rejected.value.retry_after, breaker.retry_after)
    assert not breaker.is_available


def test_old_failures_do_not_count(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """A failure that is exactly as old as the window still counts."""
    breaker.record_failure()
    clock.now += 20
    breaker.record_failure()
    assert 2 == breaker.get_stats()["failures_in_window"]
    clock.now += 1
    breaker.record_failure()
    assert "closed" == breaker.state


@pytest.mark.parametrize(("state", "seconds"), [("open", 20), ("closed", 20.001)])
def test_the_window_ends_exactly(
    breaker: CircuitBreaker, clock: ManualClock, state: str, seconds: float
) -> None:
    breaker.record_failure()
    clock.now += seconds
    breaker.record_failure()
    breaker.record_failure()
    assert state == breaker.state


def test_one_probe_at_a_time(breaker: CircuitBreaker, clock: ManualClock) -> None:
    trip(breaker)
    clock.now += 10
    assert (True, None) == (breaker.is_available, breaker.retry_after)
    probe = breaker.acquire()
    assert (False, 10.0) == (breaker.is_available, breaker.retry_after)
    with pytest.raises(CircuitOpenError):
        breaker.acquire()
    probe.success()
    assert ("half_open", True) == (breaker.state, breaker.is_available)


def test_closes_after_enough_probes(breaker: CircuitBreaker, clock: ManualClock) -> None:
    trip(breaker)
    clock.now += 10
    breaker.acquire().success()
    breaker.acquire().success()
    assert ("closed", None) == (breaker.state, breaker.retry_after)
    assert 0 == breaker.get_stats()["failures_in_window"]


def test_failed_probe_opens_again(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """The breaker opens for the whole time, and earlier successes no longer count."""
    trip(breaker)
    clock.now += 10
    breaker.acquire().success()
    breaker.acquire().failure(OSError("still down"))
    assert ("open", 10.0) == (breaker.state, breaker.retry_after)
    clock.now += 10
    breaker.acquire().success()
    assert "half_open" == breaker.state


def test_lost_probe_is_given_up(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """A probe that never ends must not keep the breaker shut for ever."""
    trip(breaker)
    clock.now += 10
    breaker.acquire()
    clock.now += 10
    assert (True, None) == (breaker.is_available, breaker.retry_after)
    breaker.acquire()


def test_lost_probe_does_not_free_the_next(breaker: CircuitBreaker, clock: ManualClock) -> None:
    trip(breaker)
    clock.now += 10
    lost = breaker.acquire()
    clock.now += 10
    breaker.acquire()
    lost.release()
    assert not breaker.is_available


@pytest.mark.parametrize(
    "settle",
    [
        pytest.param(lambda permit: permit.release(), id="dropped"),
        pytest.param(lambda permit: permit.failure(CancelledError()), id="cancelled"),
        pytest.param(lambda permit: permit.failure(GeneratorExit()), id="closed"),
        pytest.param(lambda permit: permit.failure(ValueError("ours")), id="an excluded error"),
    ],
)
def test_release_frees_the_probe(
    breaker: CircuitBreaker, clock: ManualClock, settle: Callable[[Permit], None]
) -> None:
    """A probe that says nothing about the service leaves its place to the next."""
    trip(breaker)
    clock.now += 10
    settle(breaker.acquire())
    assert ("half_open", True) == (breaker.state, breaker.is_available)


@pytest.mark.parametrize(
    "error", [KeyError("ours"), Failure(KeyError("ours"))], ids=["bare", "in Twisted's Failure"]
)
def test_excluded_errors_do_not_count(breaker: CircuitBreaker, error: object) -> None:
    """Our own mistakes say nothing about the service."""
    for _ in range(10):
        breaker.record_failure(error)
    assert ("closed", 0) == (breaker.state, breaker.get_stats()["total_failures"])


def test_a_permit_is_told_once(breaker: CircuitBreaker) -> None:
    permit = breaker.acquire()
    permit.success()
    permit.failure(OSError("late"))
    permit.release()
    permit.success()
    stats = breaker.get_stats()
    assert (1, 0) == (stats["total_successes"], stats["total_failures"])


def test_late_results_change_nothing(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """Calls begun before the breaker opened say nothing about the service now."""
    late_success, late_failure = breaker.acquire(), breaker.acquire()
    trip(breaker)
    clock.now += 10
    late_success.success()
    late_failure.failure(OSError("late"))
    assert ("half_open", 0) == (breaker.state, breaker.get_stats()["half_open_successes"])


def test_success_while_open_does_not_close(breaker: CircuitBreaker) -> None:
    trip(breaker)
    for _ in range(5):
        breaker.record_success()
    assert ("open", 5) == (breaker.state, breaker.get_stats()["total_successes"])


def test_failure_while_open_does_not_prolong(breaker: CircuitBreaker, clock: ManualClock) -> None:
    trip(breaker)
    clock.now += 5
    breaker.record_failure(OSError("down"))
    assert 5.0 == breaker.retry_after


def test_stats(breaker: CircuitBreaker) -> None:
    """The figures have the names of the specification."""
    breaker.record_success()
    trip(breaker)
    with pytest.raises(CircuitOpenError):
        breaker.acquire()
    expected = {
        "name": "llm",
        "state": "open",
        "failures_in_window": 3,
        "failure_threshold": 3,
        "total_failures": 3,
        "total_successes": 1,
        "total_rejections": 1,
        "last_failure_error": "down",
        "retry_after": 10.0,
        "half_open_successes": 0,
        "success_threshold": 2,
    }
    assert expected == breaker.get_stats()


@pytest.mark.parametrize(
    "field",
    ["failure_threshold", "success_threshold", "max_probes", "timeout_seconds", "window_seconds"],
)
@pytest.mark.parametrize("value", [0, -1, float("nan")], ids=str)
def test_config_is_checked(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{field} must be"):
        replace(BREAKER_CONFIG, **cast("dict[str, Any]", {field: value}))


def test_least_config_works() -> None:
    config = CircuitBreakerConfig(1, 1, 1e-9, 1e-9, (), 1)
    assert (1, 1, 1) == (config.failure_threshold, config.success_threshold, config.max_probes)


def test_config_cannot_be_changed() -> None:
    """Breakers share configurations."""
    with pytest.raises(FrozenInstanceError):
        BREAKER_CONFIG.failure_threshold = 1  # type: ignore[misc]


def test_defaults() -> None:
    """The thresholds and times are those of the specification."""
    expected = CircuitBreakerConfig(5, 2, 60.0, 120.0, (ValueError, KeyError), 1)
    breaker = CircuitBreaker("llm")
    assert expected == breaker.config
    before = time.monotonic()
    breaker.force_open()
    assert 60.0 >= (breaker.retry_after or 0.0) >= 60.0 - (time.monotonic() - before)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("down", OSError("down"), id="its text"),
        pytest.param("TimeoutError", TimeoutError(), id="its kind, when it has no text"),
        pytest.param("x" * 200, OSError("x" * 10_000), id="the beginning of a long one"),
        pytest.param("down", Failure(OSError("down")), id="what is in Twisted's Failure"),
        pytest.param("over", CarryingError("over"), id="its own, whatever it carries"),
        pytest.param(None, None, id="nothing, when nothing was said"),
        pytest.param(None, "down", id="nothing, when it is not an error at all"),
    ],
)
def test_last_error_is_shown(breaker: CircuitBreaker, text: str | None, error: object) -> None:
    breaker.record_failure(error)
    stats = breaker.get_stats()
    assert (text, 1) == (stats["last_failure_error"], stats["total_failures"])


def test_success_does_not_shorten_the_window(breaker: CircuitBreaker) -> None:
    """Failures within the window add up, whatever succeeded between them."""
    for _ in range(3):
        breaker.record_failure(OSError("down"))
        breaker.record_success()
    assert "open" == breaker.state


def test_several_probes(clock: ManualClock) -> None:
    """The first probe that is lost makes room for another."""
    breaker = CircuitBreaker("llm", replace(BREAKER_CONFIG, max_probes=2), clock=clock)
    breaker.force_open()
    clock.now += 10
    breaker.acquire()
    clock.now += 4
    breaker.acquire()
    assert 6.0 == breaker.retry_after
    with pytest.raises(CircuitOpenError):
        breaker.acquire()
    clock.now += 6
    breaker.acquire()
    assert 4.0 == breaker.retry_after


def test_clock_set_back_does_not_wedge(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """A clock that is set back an hour lets a probe in now, not in an hour."""
    trip(breaker)
    clock.now -= 3600
    assert ("half_open", True) == (breaker.state, breaker.is_available)
    breaker.acquire()
    clock.now -= 3600
    assert breaker.is_available


def test_registry_shares_by_name(clock: ManualClock) -> None:
    """A breaker keeps the configuration that it was made with."""
    registry = CircuitBreakerRegistry(clock=clock)
    first = registry.get_or_create("a", BREAKER_CONFIG)
    assert first is registry.get_or_create("a", CircuitBreakerConfig(failure_threshold=1))
    assert first is not registry.get_or_create("b")
    trip(first)
    assert 10.0 == first.retry_after
    states = {name: stats["state"] for name, stats in registry.get_all_stats().items()}
    assert {"a": "open", "b": "closed"} == states
    registry.reset_all()
    assert "closed" == first.state


def test_what_is_degraded(clock: ManualClock) -> None:
    registry = CircuitBreakerRegistry(clock=clock)
    registry.get_or_create("fine").record_success()
    trip(registry.get_or_create("down", BREAKER_CONFIG))
    probed = registry.get_or_create("probed", BREAKER_CONFIG)
    probed.force_open()
    registry.get_or_create("held").isolate()
    clock.now += 4
    probed.force_open()
    clock.now += 3
    down = {"name": "down", "state": "open", "retry_after": 3.0, "last_failure_error": "down"}
    none = {"state": "open", "last_failure_error": None}
    held = {"name": "held", "retry_after": None, **none}
    assert [down, {"name": "probed", "retry_after": 7.0, **none}, held] == registry.degraded()
    clock.now += 3
    assert ["half_open", "open", "open"] == [each["state"] for each in registry.degraded()]
    registry.reset_all()
    assert [] == registry.degraded()
