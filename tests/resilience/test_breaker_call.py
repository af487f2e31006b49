"""Calls through the breaker: values, errors, Deferreds, coroutines and blocks."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.internet.task import Clock

from evennia_ai.resilience import CircuitBreaker, CircuitOpenError
from tests.resilience.manual_clock import BREAKER_CONFIG, ManualClock


@pytest.fixture
def breaker(clock: ManualClock) -> CircuitBreaker:
    """Like the shared breaker, but one good probe closes it."""
    return CircuitBreaker("llm", replace(BREAKER_CONFIG, success_threshold=1), clock=clock)


def totals(breaker: CircuitBreaker) -> tuple[int, int, int]:
    """Successes, failures and rejections so far."""
    stats = breaker.get_stats()
    return stats["total_successes"], stats["total_failures"], stats["total_rejections"]


def quietly(deferred: Deferred[Any]) -> None:
    deferred.addErrback(lambda failure: None)


def raise_(error: BaseException) -> None:
    raise error


async def fall(error: BaseException) -> None:
    raise error


def block(breaker: CircuitBreaker, error: BaseException) -> None:
    with breaker.acquire():
        raise error


WAYS: dict[str, Callable[[CircuitBreaker, BaseException], Any]] = {
    "function": lambda breaker, error: breaker.call(raise_, error),
    "Deferred": lambda breaker, error: quietly(breaker.call(fail, error)),
    "coroutine": lambda breaker, error: breaker.call(fall, error).send(None),
    "block": block,
    "by hand": lambda breaker, error: breaker.record_failure(error),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("failures", "error"),
    [
        pytest.param(1, OSError("down"), id="counts"),
        pytest.param(0, KeyError("ours"), id="excluded"),
        pytest.param(0, CancelledError(), id="cancelled"),
    ],
)
def test_every_way_tells_of_errors(
    breaker: CircuitBreaker, way: str, failures: int, error: BaseException
) -> None:
    """However the call is made, an error of the service counts and no other."""
    with contextlib.suppress(type(error)):
        WAYS[way](breaker, error)
    assert (0, failures, 0) == totals(breaker)


@pytest.mark.parametrize("way", ["function", "coroutine", "block"])
def test_errors_pass(breaker: CircuitBreaker, way: str) -> None:
    down = OSError("down")
    with pytest.raises(OSError, match="down") as raised:
        WAYS[way](breaker, down)
    assert down is raised.value


def test_failures_of_deferreds_pass(breaker: CircuitBreaker) -> None:
    down = OSError("down")
    heard: list[Any] = []
    breaker.call(fail, down).addErrback(heard.append)
    assert [down] == [failure.value for failure in heard]


def test_failing_deferreds_trip(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        quietly(breaker.call(fail, OSError("down")))
    assert "open" == breaker.state


def test_values_pass(breaker: CircuitBreaker) -> None:
    assert {"a": 1} == breaker.call(dict, a=1)
    assert 3 == breaker.call(max, 1, 3)
    assert (2, 0, 0) == totals(breaker)


def test_deferred_counts_when_it_fires(breaker: CircuitBreaker) -> None:
    """The Deferred is returned as it is, and its result is left alone."""
    waiting: Deferred[str] = Deferred()
    assert waiting is breaker.call(lambda: waiting)
    assert (0, 0, 0) == totals(breaker)
    waiting.callback("hi")
    assert "hi" == waiting.result
    assert (1, 0, 0) == totals(breaker)


def test_coroutine_counts_when_it_ends(breaker: CircuitBreaker) -> None:
    waiting: Deferred[str] = Deferred()

    async def ask() -> Any:
        return await waiting

    outcomes: list[str] = []
    Deferred.fromCoroutine(breaker.call(ask)).addCallback(outcomes.append)
    assert (0, 0, 0) == totals(breaker)
    waiting.callback("hi")
    assert (["hi"], (1, 0, 0)) == (outcomes, totals(breaker))


def test_block_that_ends_well(breaker: CircuitBreaker) -> None:
    """A success that was reported already is not counted twice."""
    with breaker.acquire() as permit:
        permit.success()
    with breaker.acquire():
        pass
    assert (2, 0, 0) == totals(breaker)


@pytest.mark.parametrize(
    "probe", [lambda: succeed(1), lambda: 1], ids=["a Deferred", "a plain value"]
)
def test_probe_by_call_closes(
    breaker: CircuitBreaker, clock: ManualClock, probe: Callable[[], Any]
) -> None:
    breaker.force_open()
    with pytest.raises(CircuitOpenError):
        breaker.call(probe)
    clock.now += 10
    breaker.call(probe)
    assert ("closed", (1, 0, 1)) == (breaker.state, totals(breaker))


def test_rejected_is_not_called(breaker: CircuitBreaker) -> None:
    called: list[int] = []
    breaker.force_open()
    with pytest.raises(CircuitOpenError):
        breaker.call(called.append, 1)
    assert [] == called


@pytest.mark.parametrize("way", [way for way in WAYS if way != "by hand"])
@pytest.mark.parametrize("error", [KeyError("ours"), CancelledError()], ids=repr)
def test_a_probe_that_says_nothing_leaves_its_place(
    breaker: CircuitBreaker, clock: ManualClock, way: str, error: BaseException
) -> None:
    """After an excluded error or a cancellation the next probe is let in at once."""
    breaker.force_open()
    clock.now += 10
    with contextlib.suppress(type(error)):
        WAYS[way](breaker, error)
    assert ("half_open", True, (0, 0, 0)) == (breaker.state, breaker.is_available, totals(breaker))


def test_cancelled_probe_leaves_its_place(breaker: CircuitBreaker, clock: ManualClock) -> None:
    breaker.force_open()
    clock.now += 10
    probe = breaker.call(Deferred)
    assert not breaker.is_available
    quietly(probe)
    probe.cancel()
    assert ("half_open", True, (0, 0, 0)) == (breaker.state, breaker.is_available, totals(breaker))


def test_deadline_inside_counts(breaker: CircuitBreaker) -> None:
    """A deadline inside the call blames the service; one outside only drops the call."""
    reactor = Clock()

    def hang() -> Deferred[None]:
        return Deferred()

    quietly(breaker.call(lambda: hang().addTimeout(5, reactor)))
    quietly(breaker.call(hang).addTimeout(5, reactor))
    reactor.advance(5)
    assert (0, 1, 0) == totals(breaker)


def test_late_results_of_calls(breaker: CircuitBreaker) -> None:
    """Calls begun before the breaker opened change nothing when they end."""
    late_success: Deferred[int] = breaker.call(Deferred)
    late_failure: Deferred[int] = breaker.call(Deferred)
    breaker.call(breaker.force_open)
    quietly(late_failure)
    late_success.callback(1)
    late_failure.errback(OSError("late"))
    assert ("open", (0, 0, 0)) == (breaker.state, totals(breaker))


def test_nothing_is_kept_of_calls(breaker: CircuitBreaker) -> None:
    """The breaker remembers no more failures than its threshold."""
    for _ in range(1000):
        with contextlib.suppress(OSError, CircuitOpenError):
            breaker.call(raise_, OSError("down"))
        breaker.record_failure()
    stats = breaker.get_stats()
    assert (3, 1002, 998) == (
        stats["failures_in_window"],
        stats["total_failures"],
        stats["total_rejections"],
    )
