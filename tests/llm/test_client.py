"""The client around a transport: deadline, cap, retries, and a breaker that is told the truth."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, DeferredSemaphore
from twisted.internet.task import Clock

from evennia_ai.core.conversation import user_message
from evennia_ai.core.turn import Usage
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    CircuitOpenError,
    ConfigurationError,
    ModelConnectionError,
    ModelReplyError,
    ModelStatusError,
    ModelTimeoutError,
)
from evennia_ai.llm.client import Generation, UnifiedLLMClient, provider_headers
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerConfig, RetryConfig
from tests.llm.doubles import MemoryTransport, StubbornTransport, completion

HELLO = [user_message("hello")]
FINE = completion("hi", usage={"prompt_tokens": 4, "completion_tokens": 2})
DOWN = ModelConnectionError("nobody there")


class Bench:
    """A client on a clock that a test moves, over a transport that it fires by hand."""

    def __init__(self, *answers: bytes | Exception, attempts: int = 1, **options: Any) -> None:
        self.clock = Clock()
        self.transport = options.pop("transport", None) or MemoryTransport(*answers)
        config = options.pop("breaker", None)
        self.breaker = CircuitBreaker("llm", config, clock=self.clock.seconds)
        self.client = UnifiedLLMClient(
            "custom",
            model="m",
            retry_config=RetryConfig(max_attempts=attempts),
            circuit_breaker=self.breaker,
            transport=self.transport,
            reactor=self.clock,
            random=lambda: 1.0,
            **{"deadline_seconds": 10.0, **options},
        )

    def ask(self, **extra: Any) -> tuple[Deferred[Reply], list[Any]]:
        """Ask once; what comes of it will stand in the list."""
        outcomes: list[Any] = []
        asked = self.client.chat_completion(HELLO, **extra)
        asked.addBoth(outcomes.append)
        return asked, outcomes

    def fails(self) -> BaseException:
        """Ask once and give the error it ends with at once."""
        _, (failure,) = self.ask()
        error: BaseException = failure.value
        return error

    @property
    def failures(self) -> int:
        """Failures the breaker was told of."""
        return int(self.breaker.get_stats()["total_failures"])


def test_an_answer_is_a_reply_with_its_usage() -> None:
    """Text and tokens arrive, and the breaker hears of a success."""
    bench = Bench(FINE)
    _, (reply,) = bench.ask()
    assert ("hi", Usage(4, 2)) == (reply.content, reply.usage)
    assert 1 == bench.breaker.get_stats()["total_successes"]
    assert [] == bench.clock.getDelayedCalls()


def test_the_body_holds_what_was_set_and_nothing_else() -> None:
    """Unset knobs are the provider's; `extra` wins over them, that of the call over all."""
    generation = Generation(temperature=0.5, max_tokens=50, extra={"seed": 1, "max_tokens": 60})
    bench = Bench(FINE, generation=generation)
    bench.ask(seed=2)
    expected = {"model": "m", "messages": HELLO, "temperature": 0.5, "max_tokens": 60, "seed": 2}
    assert [expected] == bench.transport.bodies


def test_the_engine_port_gives_the_same() -> None:
    """`ask` is `chat_completion` as a coroutine."""
    replies: list[Reply] = []
    Deferred.fromCoroutine(Bench(FINE).client.ask(HELLO, ())).addCallback(replies.append)
    assert "hi" == replies[0].content


# ---- the deadline --------------------------------------------------------------------------------


def test_the_deadline_cancels_the_request_and_counts_as_a_failure() -> None:
    """A model that hangs is dropped after ten seconds, not before."""
    bench = Bench()
    _, outcomes = bench.ask()
    bench.clock.advance(9.9)
    assert [] == outcomes
    bench.clock.advance(0.1)
    assert outcomes[0].check(ModelTimeoutError)
    assert "no whole answer within 10 s" == outcomes[0].getErrorMessage()
    assert (1, 1) == (bench.transport.cancelled, bench.failures)


def test_a_timeout_is_not_tried_again() -> None:
    """The deadline covers all attempts, so there is no time left for another."""
    bench = Bench(attempts=5)
    bench.ask()
    bench.clock.advance(10)
    assert 1 == len(bench.transport.bodies)


def test_an_answer_after_the_deadline_is_nobodys() -> None:
    """A transport that answers although it was cancelled changes nothing."""
    bench = Bench(transport=StubbornTransport())
    _, outcomes = bench.ask()
    bench.clock.advance(10)
    bench.transport.answer(FINE)
    assert [ModelTimeoutError] == [type(outcome.value) for outcome in outcomes]
    assert 1 == bench.failures


# ---- cancelling ----------------------------------------------------------------------------------


def test_cancelling_drops_the_request_and_tells_the_breaker_nothing() -> None:
    """Stopping an assistant says nothing of the service."""
    bench = Bench()
    asked, outcomes = bench.ask()
    asked.cancel()
    assert outcomes[0].check(CancelledError)
    assert (1, 0) == (bench.transport.cancelled, bench.failures)
    assert [] == bench.clock.getDelayedCalls()


def test_cancelling_gives_the_slot_back() -> None:
    """The next in line is asked for as soon as the one before is dropped."""
    bench = Bench(slots=DeferredSemaphore(1))
    first, _ = bench.ask()
    bench.ask()
    assert 1 == len(bench.transport.bodies)
    first.cancel()
    assert 2 == len(bench.transport.bodies)


def test_cancelling_a_probe_gives_its_permit_back() -> None:
    """A half-open breaker is not left waiting for a probe that was dropped."""
    bench = Bench(DOWN, breaker=CircuitBreakerConfig(failure_threshold=1, timeout_seconds=60))
    bench.fails()
    bench.clock.advance(60)
    probe, _ = bench.ask()
    assert not bench.breaker.is_available
    probe.cancel()
    assert bench.breaker.is_available


def test_cancelling_while_it_waits_to_try_again_ends_the_wait() -> None:
    """Nothing is asked afterwards."""
    bench = Bench(DOWN, attempts=2)
    asked, outcomes = bench.ask()
    asked.cancel()
    bench.clock.advance(10)
    assert outcomes[0].check(CancelledError)
    assert 1 == len(bench.transport.bodies)


# ---- retries -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [DOWN, ModelStatusError(429, "slow down"), ModelStatusError(503, "busy")]
)
def test_what_may_pass_is_tried_again_after_a_wait(error: Exception) -> None:
    """One second, then two, and then the answer."""
    bench = Bench(error, error, FINE, attempts=3)
    _, outcomes = bench.ask()
    counts = []
    for seconds in (0.9, 0.1, 1.9, 0.1):
        bench.clock.advance(seconds)
        counts.append(len(bench.transport.bodies))
    assert [1, 2, 2, 3] == counts
    assert "hi" == outcomes[0].content
    assert 2 == bench.failures


@pytest.mark.parametrize("error", [ModelStatusError(401, "no"), ModelReplyError("not JSON")])
def test_what_will_not_pass_is_not_tried_again(error: Exception) -> None:
    """A wrong key stays wrong."""
    bench = Bench(error, FINE, attempts=3)
    assert error is bench.fails()
    assert 1 == len(bench.transport.bodies)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_wrong_request_does_not_open_the_breaker(status: int) -> None:
    """One assistant's too long prompt must not shut the endpoint for all."""
    errors = [ModelStatusError(status, "too long") for _ in range(3)]
    bench = Bench(*errors, FINE, breaker=CircuitBreakerConfig(failure_threshold=1))
    for error in errors:
        assert error is bench.fails()
    assert 0 == bench.failures


def test_a_wrong_body_is_a_failure_of_the_service() -> None:
    """A server that says {} all day opens the breaker, as one that is down does."""
    bench = Bench(b"{}", b"<html>", breaker=CircuitBreakerConfig(failure_threshold=2))
    assert isinstance(bench.fails(), ModelReplyError)
    assert isinstance(bench.fails(), ModelReplyError)
    assert isinstance(bench.fails(), CircuitOpenError)


def test_the_last_attempt_ends_it() -> None:
    """Three attempts and no fourth."""
    bench = Bench(DOWN, DOWN, DOWN, FINE, attempts=3)
    _, outcomes = bench.ask()
    bench.clock.pump([1, 2])
    assert outcomes[0].check(ModelConnectionError)
    assert 3 == len(bench.transport.bodies)


def test_the_service_may_ask_for_a_longer_wait() -> None:
    """Retry-After is kept to, if the deadline allows it."""
    bench = Bench(ModelStatusError(429, "later", retry_after=7), FINE, attempts=2)
    _, outcomes = bench.ask()
    bench.clock.advance(6.9)
    assert [] == outcomes
    bench.clock.advance(0.1)
    assert "hi" == outcomes[0].content


@pytest.mark.parametrize("retry_after", [10.0, 3600.0])
def test_a_wait_beyond_the_deadline_is_not_begun(retry_after: float) -> None:
    """The player is told at once."""
    error = ModelStatusError(429, "much later", retry_after=retry_after)
    bench = Bench(error, FINE, attempts=2)
    assert error is bench.fails()
    assert [] == bench.clock.getDelayedCalls()


def test_the_second_attempt_has_only_the_time_that_is_left() -> None:
    """All attempts share one deadline."""
    bench = Bench(DOWN, attempts=2)
    _, outcomes = bench.ask()
    bench.clock.pump([1, 8.9])
    assert [] == outcomes
    bench.clock.advance(0.1)
    assert outcomes[0].check(ModelTimeoutError)


def test_retries_stop_when_the_breaker_opens() -> None:
    """A breaker that opens between two attempts keeps the second from being made."""
    bench = Bench(DOWN, FINE, attempts=2, breaker=CircuitBreakerConfig(failure_threshold=1))
    _, outcomes = bench.ask()
    bench.clock.advance(1)
    assert outcomes[0].check(CircuitOpenError)
    assert 1 == len(bench.transport.bodies)


# ---- slots and breaker ---------------------------------------------------------------------------


def test_slots_cap_the_calls_in_flight() -> None:
    """Of five at once two are asked; each answer lets the next in, and all are answered."""
    bench = Bench(slots=DeferredSemaphore(2))
    asked = [bench.ask()[1] for _ in range(5)]
    for expected in (2, 3, 4, 5, 5):
        assert expected == len(bench.transport.bodies)
        bench.transport.answer(FINE)
    assert ["hi"] * 5 == [outcomes[0].content for outcomes in asked]


def test_waiting_for_a_slot_ends_with_the_deadline() -> None:
    """Who never got a slot is told so, and the service is not blamed for it."""
    slots = DeferredSemaphore(1)
    slots.acquire()
    bench = Bench(FINE, slots=slots)
    _, outcomes = bench.ask()
    bench.clock.advance(10)
    assert "no free slot for a model call within 10 s" == outcomes[0].getErrorMessage()
    assert (0, []) == (bench.failures, bench.transport.bodies)
    slots.release()
    assert 1 == slots.tokens


def test_an_open_breaker_rejects_without_a_call() -> None:
    """Nothing is asked, not even for a slot, and the error says when it may be again."""
    slots = DeferredSemaphore(1)
    breaker = CircuitBreakerConfig(failure_threshold=1, timeout_seconds=60)
    bench = Bench(DOWN, breaker=breaker, slots=slots)
    bench.fails()
    slots.acquire()
    bench.clock.advance(18)
    error = bench.fails()
    assert "breaker 'llm' is open, next try in 42 s" == str(error)
    assert 1 == len(bench.transport.bodies)
    assert 1 == bench.breaker.get_stats()["total_rejections"]


def test_a_mistake_of_ours_is_not_the_services_failure() -> None:
    """A body that cannot be made tells the breaker nothing, and gives the slot back."""
    slots = DeferredSemaphore(1)
    bench = Bench(RuntimeError("our own"), slots=slots)
    assert isinstance(bench.fails(), RuntimeError)
    assert (0, 1) == (bench.failures, slots.tokens)


# ---- how it is made ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "mode", "supports_tools"),
    [("openai", "native", True), ("local", "json", False), ("scripted", "native", True)],
)
def test_the_preset_says_how_tools_are_called(
    provider: str, mode: str, supports_tools: bool
) -> None:
    """What is known of a provider need not be said."""
    client = UnifiedLLMClient(provider, transport=MemoryTransport(), reactor=Clock())
    assert (mode, supports_tools) == (client.tool_mode, client.supports_tools)
    assert f"llm:{provider}" == client.circuit_breaker.name


def test_the_scripted_provider_needs_nothing_else() -> None:
    """`UnifiedLLMClient("scripted")` answers."""
    replies: list[Reply] = []
    client = UnifiedLLMClient("scripted", reactor=Clock())
    client.chat_completion(HELLO).addCallback(replies.append)
    assert "say" == replies[0].tool_calls[0].name


@pytest.mark.parametrize("provider", ["custom", "local", "opnai"])
def test_a_provider_without_an_address_is_refused(provider: str) -> None:
    """Nobody is asked at an empty address."""
    with pytest.raises(ConfigurationError) as caught:
        UnifiedLLMClient(provider, reactor=Clock())
    expected = f"provider is {provider!r}, which has no address of its own; give a base_url"
    assert expected == str(caught.value)


@pytest.mark.parametrize(
    ("provider", "site", "expected"),
    [
        (
            "openrouter",
            "https://mud.example",
            {"X-Title": "Game", "HTTP-Referer": "https://mud.example"},
        ),
        ("openrouter", "", {"X-Title": "Game"}),
        ("openai", "https://mud.example", {}),
    ],
)
def test_only_openrouter_gets_its_two_headers(
    provider: str, site: str, expected: dict[str, str]
) -> None:
    """What is empty is not sent."""
    assert expected == provider_headers(provider, "Game", site)
