"""The deadline of a model call, and its cancellation."""

from twisted.internet.defer import CancelledError, DeferredSemaphore

from evennia_ai.errors import ModelTimeoutError
from evennia_ai.resilience import CircuitBreakerConfig
from tests.llm.client_bench import DOWN, FINE, Bench
from tests.llm.doubles import StubbornTransport


def test_the_deadline_cancels_the_request_and_counts_as_a_failure() -> None:
    bench = Bench()
    _, outcomes = bench.ask()
    bench.clock.advance(9.9)
    assert [] == outcomes
    bench.clock.advance(0.1)
    assert outcomes[0].check(ModelTimeoutError)
    assert "no whole answer within 10 s" == outcomes[0].getErrorMessage()
    assert (1, 1) == (bench.transport.cancelled, bench.failures)


def test_a_timeout_is_not_tried_again() -> None:
    """The deadline covers all attempts, so no time is left for another."""
    bench = Bench(attempts=5)
    bench.ask()
    bench.clock.advance(10)
    assert 1 == len(bench.transport.bodies)


def test_an_answer_after_the_deadline_is_nobodys() -> None:
    bench = Bench(transport=StubbornTransport())
    _, outcomes = bench.ask()
    bench.clock.advance(10)
    bench.transport.answer(FINE)
    assert [ModelTimeoutError] == [type(outcome.value) for outcome in outcomes]
    assert 1 == bench.failures


def test_cancelling_drops_the_request_and_tells_the_breaker_nothing() -> None:
    """A stopped assistant says nothing about the service."""
    bench = Bench()
    asked, outcomes = bench.ask()
    asked.cancel()
    assert outcomes[0].check(CancelledError)
    assert (1, 0) == (bench.transport.cancelled, bench.failures)
    assert [] == bench.clock.getDelayedCalls()


def test_cancelling_gives_the_slot_back() -> None:
    bench = Bench(slots=DeferredSemaphore(1))
    first, _ = bench.ask()
    bench.ask()
    assert 1 == len(bench.transport.bodies)
    first.cancel()
    assert 2 == len(bench.transport.bodies)


def test_cancelling_a_probe_gives_its_permit_back() -> None:
    """Otherwise the half-open breaker would wait for the dropped probe for ever."""
    bench = Bench(DOWN, breaker=CircuitBreakerConfig(failure_threshold=1, timeout_seconds=60))
    bench.fails()
    bench.clock.advance(60)
    probe, _ = bench.ask()
    assert not bench.breaker.is_available
    probe.cancel()
    assert bench.breaker.is_available


def test_cancelling_while_it_waits_to_try_again_ends_the_wait() -> None:
    bench = Bench(DOWN, attempts=2)
    asked, outcomes = bench.ask()
    asked.cancel()
    bench.clock.advance(10)
    assert outcomes[0].check(CancelledError)
    assert 1 == len(bench.transport.bodies)
