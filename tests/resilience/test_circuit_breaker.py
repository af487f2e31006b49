"""The breaker, by examples and against a small model of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from evennia_ai.resilience import (
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitBreakerRegistry,
    CircuitOpenError,
)
from evennia_ai.resilience.circuit_breaker import Permit

CONFIG = CircuitBreakerConfig(
    failure_threshold=3, success_threshold=2, timeout_seconds=10, window_seconds=20
)


class ManualClock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """The time now."""
        return self.now


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def breaker(clock: ManualClock) -> CircuitBreaker:
    return CircuitBreaker("llm", CONFIG, clock=clock)


def trip(breaker: CircuitBreaker) -> None:
    for _ in range(CONFIG.failure_threshold):
        breaker.record_failure(OSError("down"))


def test_trips_at_the_threshold(breaker: CircuitBreaker) -> None:
    """Failures up to the threshold pass; the one that reaches it opens the breaker."""
    states = []
    for _ in range(3):
        breaker.record_failure(OSError("down"))
        states.append(str(breaker.state))
    assert ["closed", "closed", "open"] == states


def test_open_rejects_and_says_how_long(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """An open breaker rejects at once, with its name and the seconds that are left."""
    trip(breaker)
    clock.now += 4
    with pytest.raises(
        CircuitOpenError, match="breaker 'llm' is open, next try in 6 s"
    ) as rejected:
        breaker.acquire()
    assert (6.0, 6.0) == (rejected.value.retry_after, breaker.retry_after)
    assert not breaker.is_available


def test_old_failures_do_not_count(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """Failures older than the window do not add up; one that is exactly as old still does."""
    breaker.record_failure()
    clock.now += 20
    breaker.record_failure()
    assert 2 == breaker.get_stats()["failures_in_window"]
    clock.now += 1
    breaker.record_failure()
    assert "closed" == breaker.state


def test_one_probe_at_a_time(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """After the timeout one probe is admitted, and nobody else until it comes back."""
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
    """As many successful probes as the threshold says close it, with all failures forgotten."""
    trip(breaker)
    clock.now += 10
    breaker.acquire().success()
    breaker.acquire().success()
    assert ("closed", None) == (breaker.state, breaker.retry_after)
    assert 0 == breaker.get_stats()["failures_in_window"]


def test_failed_probe_opens_again(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """A failed probe opens the breaker for the whole time, and earlier successes count no more."""
    trip(breaker)
    clock.now += 10
    breaker.acquire().success()
    breaker.acquire().failure(OSError("still down"))
    assert ("open", 10.0) == (breaker.state, breaker.retry_after)
    clock.now += 10
    breaker.acquire().success()
    assert "half_open" == breaker.state


def test_lost_probe_is_given_up(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """A probe that never comes back does not keep the breaker shut for ever."""
    trip(breaker)
    clock.now += 10
    breaker.acquire()
    clock.now += 10
    assert (True, None) == (breaker.is_available, breaker.retry_after)
    assert breaker.acquire() is not None


def test_lost_probe_does_not_free_the_next(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """A probe that was given up and comes back late leaves the next one its place."""
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
        pytest.param(lambda permit: permit.release(), id="cancelled"),
        pytest.param(lambda permit: permit.failure(ValueError("ours")), id="an excluded error"),
    ],
)
def test_release_frees_the_probe(
    breaker: CircuitBreaker, clock: ManualClock, settle: object
) -> None:
    """A probe that tells nothing of the service leaves its place to the next."""
    trip(breaker)
    clock.now += 10
    settle(breaker.acquire())  # type: ignore[operator]
    assert ("half_open", True) == (breaker.state, breaker.is_available)


def test_excluded_errors_do_not_count(breaker: CircuitBreaker) -> None:
    """Errors that are our own fault say nothing of the service."""
    for _ in range(10):
        breaker.record_failure(KeyError("ours"))
    assert ("closed", 0) == (breaker.state, breaker.get_stats()["total_failures"])


def test_a_permit_is_told_once(breaker: CircuitBreaker) -> None:
    """Only the first telling of an outcome counts."""
    permit = breaker.acquire()
    permit.success()
    permit.failure(OSError("late"))
    permit.release()
    permit.success()
    stats = breaker.get_stats()
    assert (1, 0) == (stats["total_successes"], stats["total_failures"])


def test_late_results_change_nothing(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """What was begun before the breaker opened says nothing of the service now."""
    late_success, late_failure = breaker.acquire(), breaker.acquire()
    trip(breaker)
    clock.now += 10
    late_success.success()
    late_failure.failure(OSError("late"))
    assert ("half_open", 0) == (breaker.state, breaker.get_stats()["half_open_successes"])


def test_success_while_open_does_not_close(breaker: CircuitBreaker) -> None:
    """Successes told by hand while it is open are counted, but open it stays."""
    trip(breaker)
    for _ in range(5):
        breaker.record_success()
    assert ("open", 5) == (breaker.state, breaker.get_stats()["total_successes"])


def test_failure_while_open_does_not_prolong(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """Failures told by hand while it is open do not put off the next probe."""
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
    "field", ["failure_threshold", "success_threshold", "timeout_seconds", "window_seconds"]
)
@pytest.mark.parametrize("value", [0, -1, float("nan")], ids=str)
def test_config_is_checked(field: str, value: float) -> None:
    """A threshold or a time that cannot work is refused by name."""
    with pytest.raises(ValueError, match=f"{field} must be"):
        replace(CONFIG, **cast("dict[str, Any]", {field: value}))


def test_registry_shares_by_name(clock: ManualClock) -> None:
    """One name is one breaker, with the configuration it was made with."""
    registry = CircuitBreakerRegistry(clock=clock)
    first = registry.get_or_create("a", CONFIG)
    assert first is registry.get_or_create("a", CircuitBreakerConfig(failure_threshold=1))
    assert first is not registry.get_or_create("b")
    trip(first)
    states = {name: stats["state"] for name, stats in registry.get_all_stats().items()}
    assert {"a": "open", "b": "closed"} == states
    registry.reset_all()
    assert "closed" == first.state


class BreakerModel(RuleBasedStateMachine):
    """The breaker beside a model that keeps its state as words and moves it at every step."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.permits: list[tuple[Permit, int]] = []
        self.state, self.opened_at, self.round = "closed", 0.0, 0
        self.failures: list[float] = []
        self.successes = 0
        self.probe: tuple[Permit, float] | None = None

    @initialize(failures=st.integers(1, 3), successes=st.integers(1, 3))
    def begin(self, failures: int, successes: int) -> None:
        """Begin with thresholds of any size."""
        self.config = CircuitBreakerConfig(failures, successes, 10, 20)
        self.breaker = CircuitBreaker("llm", self.config, clock=self.clock)

    def _open(self) -> None:
        self.state, self.opened_at, self.round = "open", self.clock.now, self.round + 1
        self.successes, self.probe = 0, None

    def _close(self) -> None:
        self.state, self.round = "closed", self.round + 1
        self.failures, self.successes, self.probe = [], 0, None

    def _succeed(self, permit: Permit | None) -> None:
        if self.state != "half_open":
            return
        if self.probe and permit is self.probe[0]:
            self.probe = None
        self.successes += 1
        if self.successes == self.config.success_threshold:
            self._close()

    def _fail(self) -> None:
        if self.state == "half_open":
            self._open()
        elif self.state == "closed":
            self.failures.append(self.clock.now)
            recent = [at for at in self.failures if at >= self.clock.now - 20]
            if len(recent) >= self.config.failure_threshold:
                self._open()

    def _is_admitting(self) -> bool:
        is_probing = self.probe is not None and self.clock.now < self.probe[1] + 10
        return self.state == "closed" or (self.state == "half_open" and not is_probing)

    @rule(seconds=st.sampled_from([1, 4, 10, 25]))
    def pass_time(self, seconds: int) -> None:
        """Let time pass."""
        self.clock.now += seconds
        if self.state == "open" and self.clock.now >= self.opened_at + 10:
            self.state = "half_open"

    @rule()
    def acquire(self) -> None:
        """Ask for a permit."""
        if not self._is_admitting():
            with pytest.raises(CircuitOpenError) as rejected:
                self.breaker.acquire()
            assert 0 < rejected.value.retry_after <= 10
            return
        permit = self.breaker.acquire()
        self.permits.append((permit, self.round))
        if self.state == "half_open":
            self.probe = (permit, self.clock.now)

    @precondition(lambda self: self.permits)
    @rule(data=st.data(), outcome=st.sampled_from(["success", "failure", "excluded", "release"]))
    def settle(self, data: st.DataObject, outcome: str) -> None:
        """Tell what came of one of the permits, in any order."""
        number = data.draw(st.integers(0, len(self.permits) - 1))
        permit, taken_in = self.permits.pop(number)
        if outcome == "success":
            permit.success()
        elif outcome == "release":
            permit.release()
        else:
            permit.failure(OSError("down") if outcome == "failure" else ValueError("ours"))
        if taken_in != self.round:
            return
        if outcome == "success":
            self._succeed(permit)
        elif outcome == "failure":
            self._fail()
        elif self.probe and permit is self.probe[0]:
            self.probe = None

    @rule()
    def tell_success(self) -> None:
        """Tell of a success by hand."""
        self.breaker.record_success()
        self._succeed(None)

    @rule()
    def tell_failure(self) -> None:
        """Tell of a failure by hand."""
        self.breaker.record_failure()
        self._fail()

    @rule()
    def reset(self) -> None:
        """Close it by hand."""
        self.breaker.reset()
        self._close()

    @invariant()
    def agrees(self) -> None:
        """Both are in the same state and admit the same."""
        assert self.state == self.breaker.state
        assert self._is_admitting() is self.breaker.is_available
        assert self._is_admitting() is (self.breaker.retry_after is None)
        assert self.successes == self.breaker.get_stats()["half_open_successes"]


TestBreakerAgainstItsModel = BreakerModel.TestCase
TestBreakerAgainstItsModel.settings = settings(stateful_step_count=20)
