"""Several models as one client: their order, time, slots and errors."""

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, DeferredSemaphore
from twisted.internet.task import Clock
from twisted.python import log

from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    CircuitOpenError,
    ContextLengthError,
    ModelConnectionError,
    ModelReplyError,
    ModelStatusError,
    ModelTimeoutError,
    NoFreeSlotError,
)
from evennia_ai.llm.client import UnifiedLLMClient
from evennia_ai.llm.fallback import FallbackClient
from evennia_ai.llm.rate_limits import RateLimitInfo
from evennia_ai.llm.scripted import ScriptedModel
from evennia_ai.llm.spread import LONGEST_STORY
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerConfig, RetryConfig
from tests.llm.client_bench import FINE, HELLO, AskingBench

# Not the one of `client_bench`: the client rewrites the text of the error that it raises.
DOWN = ModelConnectionError("nobody there")


class Bench(AskingBench):
    """Models `a`, `b` and so on, whose transports and clock are driven by the test."""

    def __init__(self, *answers: Any, attempts: int = 1, slots: int = 4) -> None:
        self.clock = Clock()
        self.slots = DeferredSemaphore(slots)
        self.transports = [
            ScriptedModel(*(each if isinstance(each, tuple) else (each,))) for each in answers
        ]
        self.clients = [
            self._client(name, transport, attempts)
            for name, transport in zip("abcd", self.transports, strict=False)
        ]
        self.client = FallbackClient(
            [(f"{client.model} via test", client) for client in self.clients],
            slots=self.slots,
            deadline_seconds=60.0,
            reactor=self.clock,
        )

    def _client(self, name: str, transport: ScriptedModel, attempts: int) -> UnifiedLLMClient:
        config = CircuitBreakerConfig(failure_threshold=2, timeout_seconds=90)
        return UnifiedLLMClient(
            "custom",
            model=name,
            retry_config=RetryConfig(max_attempts=attempts),
            circuit_breaker=CircuitBreaker(f"llm:{name}", config, clock=self.clock.seconds),
            transport=transport,
            reactor=self.clock,
            random=lambda: 1.0,
        )

    @property
    def asked(self) -> list[int]:
        """Number of requests to each model."""
        return [len(transport.bodies) for transport in self.transports]


# ---- order ---------------------------------------------------------------------------------------


def test_the_first_that_answers_is_the_only_one_asked() -> None:
    bench = Bench(FINE, FINE)
    _, (reply,) = bench.ask()
    assert ("hi", "a via test", "") == (reply.content, reply.model, reply.notice)
    assert [1, 0] == bench.asked


def test_a_call_is_logged_where_that_is_wished() -> None:
    """`debug`, which a single model's client takes too, was sent to the models."""
    lines: list[str] = []

    def observer(event: dict[str, Any]) -> None:
        lines.extend(event.get("message", ()))

    bench = Bench(DOWN, FINE)
    log.addObserver(observer)
    try:
        bench.ask(debug=True)
    finally:
        log.removeObserver(observer)
    assert not any("debug" in body for each in bench.transports for body in each.bodies)
    line = "[assistant] a via test, b via test: 1 message, 0 tools: stop, 6 tokens, 0.00 s"
    assert line in lines


@pytest.mark.parametrize(
    ("cause", "error"),
    [
        pytest.param("nobody there", DOWN, id="nobody there"),
        pytest.param("busy", ModelStatusError(503, "busy"), id="busy"),
        pytest.param("wrong key", ModelStatusError(401, "wrong key"), id="a wrong key"),
        pytest.param("no such model", ModelStatusError(404, "no such model"), id="a wrong model"),
        pytest.param("unknown member", ModelStatusError(400, "unknown member"), id="a wrong body"),
        pytest.param("too long", ContextLengthError(400, "too long"), id="a prompt too long"),
        pytest.param("no JSON", ModelReplyError("no JSON"), id="a wrong answer"),
    ],
)
def test_where_the_first_fails_the_next_answers(cause: str, error: Exception) -> None:
    bench = Bench(error, FINE)
    _, (reply,) = bench.ask()
    assert ("hi", "b via test") == (reply.content, reply.model)
    assert f"b via test answered instead of a via test: {cause}" == reply.notice


def test_an_open_breaker_costs_no_call() -> None:
    bench = Bench((DOWN, DOWN), (FINE, FINE, FINE, FINE))
    replies = [bench.ask()[1][0] for _ in range(3)]
    assert [2, 3] == bench.asked
    assert "breaker 'llm:a' is open, next try in 90 s" in replies[-1].notice
    bench.clock.advance(90)
    bench.transports[0].answers.append(FINE)
    assert "a via test" == bench.ask()[1][0].model


def test_a_mistake_of_ours_is_not_tried_on_another_model() -> None:
    bench = Bench(RuntimeError("our own"), FINE)
    assert isinstance(bench.fails(), RuntimeError)
    assert ([1, 0], 4) == (bench.asked, bench.slots.tokens)


def test_each_model_is_asked_for_itself() -> None:
    bench = Bench(DOWN, FINE)
    bench.ask(temperature=0.5)
    bodies = [transport.bodies[0] for transport in bench.transports]
    assert [("a", 0.5), ("b", 0.5)] == [(body["model"], body["temperature"]) for body in bodies]


def test_a_model_is_tried_again_before_the_next() -> None:
    bench = Bench((DOWN, FINE), FINE, attempts=2)
    _, outcomes = bench.ask()
    bench.clock.advance(1)
    assert ("a via test", [2, 0]) == (outcomes[0].model, bench.asked)


# ---- time ----------------------------------------------------------------------------------------


def test_each_but_the_last_has_half_of_what_is_left() -> None:
    """Of 60 seconds the first has 30, the second 15 and the last the rest."""
    bench = Bench((), (), ())
    _, outcomes = bench.ask()
    counts = []
    for seconds in (29.9, 0.1, 14.9, 0.1, 14.9):
        bench.clock.advance(seconds)
        counts.append(bench.asked)
    assert [[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1]] == counts
    assert [] == outcomes
    bench.clock.advance(0.1)
    expected = (
        "a via test: no whole answer within 30 s; b via test: no whole answer within 15 s;"
        " c via test: no whole answer within 15 s"
    )
    assert outcomes[0].check(ModelTimeoutError)
    assert expected == outcomes[0].getErrorMessage()
    assert [1, 1, 1] == [transport.cancelled for transport in bench.transports]


def test_no_other_is_asked_when_time_is_up() -> None:
    """A clock may jump, as after a machine's sleep; nobody waits for another answer then."""
    bench = Bench((), FINE)
    _, outcomes = bench.ask()
    bench.clock.advance(60)
    assert outcomes[0].check(ModelTimeoutError)
    assert ([1, 0], 4) == (bench.asked, bench.slots.tokens)


def test_time_that_one_leaves_is_the_nexts() -> None:
    bench = Bench(DOWN, (), ())
    bench.ask()
    bench.clock.advance(29.9)
    assert [1, 1, 0] == bench.asked
    bench.clock.advance(0.1)
    assert [1, 1, 1] == bench.asked


@pytest.mark.parametrize("number", [0, 1], ids=["the first", "the second"])
def test_cancelling_closes_what_is_in_flight(number: int) -> None:
    bench = Bench(() if number == 0 else DOWN, (), ())
    asked, outcomes = bench.ask()
    asked.cancel()
    assert outcomes[0].check(CancelledError)
    assert 1 == bench.transports[number].cancelled
    assert (number + 1, 4) == (sum(bench.asked), bench.slots.tokens)
    assert [] == bench.clock.getDelayedCalls()


def test_cancelling_while_one_waits_to_try_again() -> None:
    bench = Bench((DOWN, FINE), FINE, attempts=2)
    asked, outcomes = bench.ask()
    asked.cancel()
    bench.clock.advance(60)
    assert outcomes[0].check(CancelledError)
    assert [1, 0] == bench.asked


# ---- slots ---------------------------------------------------------------------------------------


def test_one_slot_is_held_for_all_of_them() -> None:
    """Going on to the next model does not mean waiting for a slot again."""
    bench = Bench((), (), slots=1)
    bench.ask()
    bench.ask()
    bench.transports[0].fail(DOWN)
    assert [1, 1] == bench.asked
    bench.transports[1].answer(FINE)
    assert [2, 1] == bench.asked


def test_who_gets_no_slot_asks_nobody() -> None:
    bench = Bench(FINE, FINE, slots=1)
    bench.slots.acquire()
    _, outcomes = bench.ask()
    bench.clock.advance(60)
    assert outcomes[0].check(NoFreeSlotError)
    assert "no free slot for a model call within 60 s" == outcomes[0].getErrorMessage()
    assert (False, [0, 0]) == (outcomes[0].value.counts_as_error, bench.asked)


# ---- errors --------------------------------------------------------------------------------------

OPEN = "open"


@pytest.mark.parametrize(
    ("expected", "errors"),
    [
        pytest.param(0, (DOWN, ModelStatusError(503, "busy")), id="the first one's"),
        pytest.param(
            0, (ModelStatusError(400, "no"), ContextLengthError(400, "long")), id="a refusal"
        ),
        pytest.param(0, (ContextLengthError(400, "long"), DOWN), id="a prompt too long"),
        pytest.param(1, (OPEN, ModelStatusError(503, "busy")), id="of one that was asked"),
        pytest.param(
            2, (OPEN, ContextLengthError(400, "long"), DOWN), id="too long for another is no matter"
        ),
    ],
)
def test_the_error_is_that_which_says_most(expected: int, errors: tuple[Any, ...]) -> None:
    """It is the first model's if that was asked; its text tells the outcome of each."""
    bench = Bench(*(() if error is OPEN else error for error in errors))
    for error, client in zip(errors, bench.clients, strict=True):
        if error is OPEN:
            client.circuit_breaker.force_open()
    causes = [
        "breaker 'llm:a' is open, next try in 90 s" if error is OPEN else str(error)
        for error in errors
    ]
    raised = bench.fails()
    assert errors[expected] is raised
    outcomes = (f"{name} via test: {cause}" for name, cause in zip("abc", causes, strict=False))
    assert "; ".join(outcomes) == str(raised)
    assert raised.counts_as_error


def test_when_nobody_may_be_asked_nobody_waits() -> None:
    bench = Bench((), (), slots=1)
    bench.slots.acquire()
    bench.clients[0].circuit_breaker.force_open()
    bench.clock.advance(30)
    bench.clients[1].circuit_breaker.force_open()
    error = bench.fails()
    assert isinstance(error, CircuitOpenError)
    assert ("llm:a", 60.0, False) == (error.name, error.retry_after, error.counts_as_error)


def test_too_long_for_a_fallback_alone_is_not_the_conversations_fault() -> None:
    """The first model could read the prompt, so it is not shortened for a fallback."""
    bench = Bench((), ContextLengthError(400, "too long"))
    bench.clients[0].circuit_breaker.force_open()
    assert isinstance(bench.fails(), CircuitOpenError)


def test_what_is_told_has_an_end() -> None:
    bench = Bench(*(ModelReplyError("x" * 2000) for _ in range(4)))
    assert LONGEST_STORY >= len(str(bench.fails()))


# ---- attributes ----------------------------------------------------------------------------------


def test_what_is_said_of_a_client_is_said_of_the_first() -> None:
    """Code that makes prompts or shows a status need not know that there are several."""
    bench = Bench((), ())
    limits = bench.transports[0].rate_limit_info = RateLimitInfo(requests_remaining=3)
    several, first = bench.client, bench.clients[0]
    names = ("provider_name", "model", "tool_mode", "supports_tools", "circuit_breaker")
    for name in names:
        assert getattr(first, name) == getattr(several, name)
    assert (limits, 60.0) == (several.rate_limit_info, several.deadline_seconds)


def test_the_engine_port_gives_the_same() -> None:
    replies: list[Reply] = []
    Deferred.fromCoroutine(Bench(DOWN, FINE).client.ask(HELLO, ())).addCallback(replies.append)
    assert "b via test" == replies[0].model
