"""The client around a transport: requests, retries, slots and the breaker."""

from copy import copy
from typing import Any

import pytest
from twisted.internet.defer import Deferred, DeferredSemaphore
from twisted.internet.task import Clock
from twisted.python import log

from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    CircuitOpenError,
    ConfigurationError,
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelStatusError,
    ModelTimeoutError,
    NoFreeSlotError,
)
from evennia_ai.llm.answer_limits import RESERVED_MEMBERS, Generation
from evennia_ai.llm.check import PROBE
from evennia_ai.llm.client import UnifiedLLMClient, provider_headers
from evennia_ai.llm.rate_limits import RateLimitInfo
from evennia_ai.llm.scripted import ScriptedModel
from evennia_ai.resilience import CircuitBreakerConfig
from tests.llm.client_bench import DOWN, FINE, HELLO, Bench


def test_an_answer_is_a_reply_with_its_usage() -> None:
    bench = Bench(FINE)
    _, (reply,) = bench.ask()
    assert ("hi", TokenUsage(4, 2)) == (reply.content, reply.usage)
    assert 1 == bench.breaker.get_stats()["total_successes"]
    assert [] == bench.clock.getDelayedCalls()


def test_the_body_holds_what_was_set_and_nothing_else() -> None:
    """`extra` is added to the body, and members given with the call override it."""
    generation = Generation(temperature=0.5, max_tokens=50, extra={"seed": 1, "min_p": 0.1})
    bench = Bench(FINE, generation=generation)
    bench.ask(seed=2)
    expected = {"model": "m", "messages": HELLO, "temperature": 0.5, "max_tokens": 50, "seed": 2}
    assert [expected | {"min_p": 0.1}] == bench.transport.bodies


@pytest.mark.parametrize("member", sorted(RESERVED_MEMBERS))
def test_hole_d29_further_members_pass_no_limit(member: str) -> None:
    """A member with a setting of its own is not taken from `llm_extra_params`."""
    bench = Bench(FINE, generation=Generation(max_tokens=50, extra={member: 16_000, "min_p": 0.1}))
    bench.ask()
    (body,) = bench.transport.bodies
    assert (50, 0.1) == (body["max_tokens"], body["min_p"])
    assert 16_000 not in body.values()


def test_the_engine_port_gives_the_same() -> None:
    """`ask` is `chat_completion` as a coroutine."""
    replies: list[Reply] = []
    Deferred.fromCoroutine(Bench(FINE).client.ask(HELLO, ())).addCallback(replies.append)
    assert "hi" == replies[0].content


def test_tools_and_a_choice_go_into_the_body() -> None:
    bench = Bench(FINE)
    tool = {"type": "function", "function": {"name": "look", "description": "", "parameters": {}}}
    bench.ask(tools=[tool], tool_choice="none")
    (body,) = bench.transport.bodies
    assert ([tool], "none") == (body["tools"], body["tool_choice"])


def test_a_tool_that_cannot_be_read_is_no_failure_of_the_service() -> None:
    bench = Bench(FINE)
    _, (failure,) = bench.ask(tools=["look"])
    failure.trap(ConfigurationError)
    assert ([], 0) == (bench.transport.bodies, bench.failures)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(FINE, "custom m: 1 message, 0 tools: stop, 6 tokens, 0.00 s", id="answer"),
        pytest.param(DOWN, "custom m: 1 message, 0 tools: ModelConnectionError", id="error"),
    ],
)
@pytest.mark.parametrize("of_client", [True, False])
def test_a_call_is_logged_where_that_is_wished(
    answer: bytes | Exception, expected: str, of_client: bool
) -> None:
    """The line tells the size and outcome of the call, but none of its words."""
    lines: list[str] = []

    def observer(event: dict[str, Any]) -> None:
        lines.extend(event.get("message", ()))

    log.addObserver(observer)
    try:
        Bench(answer, debug=of_client).ask(**({} if of_client else {"debug": True}))
        Bench(answer, debug=of_client).ask(debug=False)
    finally:
        log.removeObserver(observer)
    (line,) = lines
    assert line.startswith(f"[assistant] {expected}")
    assert "hello" not in line


# ---- retries -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [DOWN, ModelStatusError(429, "slow down"), ModelStatusError(503, "busy")]
)
def test_what_may_pass_is_tried_again_after_a_wait(error: Exception) -> None:
    bench = Bench(error, error, FINE, attempts=3)
    _, outcomes = bench.ask()
    counts = []
    for seconds in (0.9, 0.1, 1.9, 0.1):
        bench.clock.advance(seconds)
        counts.append(len(bench.transport.bodies))
    assert [1, 2, 2, 3] == counts
    assert "hi" == outcomes[0].content
    stats = bench.breaker.get_stats()
    assert (0, 1) == (stats["total_failures"], stats["total_successes"])


@pytest.mark.parametrize("error", [ModelStatusError(401, "no"), ModelReplyError("not JSON")])
def test_what_will_not_pass_is_not_tried_again(error: Exception) -> None:
    bench = Bench(error, FINE, attempts=3)
    assert error is bench.fails()
    assert 1 == len(bench.transport.bodies)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_wrong_request_does_not_open_the_breaker(status: int) -> None:
    """One assistant's overlong prompt must not block the endpoint for all."""
    errors = [ModelStatusError(status, "too long") for _ in range(3)]
    bench = Bench(*errors, FINE, breaker=CircuitBreakerConfig(failure_threshold=1))
    for error in errors:
        assert error is bench.fails()
    assert 0 == bench.failures


@pytest.mark.parametrize("failure", [ModelTimeoutError("late"), ModelReplyError("nonsense")])
def test_where_nobody_is_answered_it_is_laid_to_the_service(failure: ModelError) -> None:
    """While other calls succeed, the request itself may have caused such an error."""
    rate = CircuitBreakerConfig(failure_rate=0.5, least_calls=10)
    for answers, is_of_service in ((0, True), (1, False)):
        bench = Bench(*[FINE] * answers, copy(failure), breaker=rate)
        for _ in range(answers):
            bench.ask()
        error = bench.fails()
        assert isinstance(error, ModelError)
        assert (is_of_service, False) == (error.is_of_service, error.may_lock)


NO_TEMPERATURE = (
    "http://m/v1 answered with HTTP 400: Unsupported value: 'temperature' does not support 0.5 "
    "with this model. Only the default (1) value is supported."
)


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        pytest.param("llm_temperature", NO_TEMPERATURE, id="OpenAI"),
        pytest.param("llm_reasoning_effort", "`reasoning_effort` must be `none` or `default`",
                     id="Groq"),
        pytest.param("min_p in llm_extra_params", "min_p: Extra inputs are not permitted",
                     id="Mistral"),
    ],
)  # fmt: skip
def test_what_a_setting_asks_for_and_is_refused_is_laid_to_that_setting(
    setting: str, text: str
) -> None:
    """It counts as a wrong setting does, and says which; the person who asked is not blamed."""
    generation = Generation(temperature=0.5, reasoning_effort="low", extra={"min_p": 0.1})
    bench = Bench(ModelStatusError(400, text), generation=generation)
    bench.breaker.record_success()
    refused = bench.fails()
    assert isinstance(refused, ModelStatusError)
    told = text.rstrip(".")
    assert f"{told}; its setting {setting} asks for that: change or remove it" == str(refused)
    assert (True, True, "") == (refused.is_of_service, refused.may_lock, refused.trouble)


def test_a_temperature_that_nobody_set_is_left_out_once_it_was_refused() -> None:
    """In "json" mode it is 0; models that think refuse any, and the game says so for itself."""
    bench = Bench(ModelStatusError(400, NO_TEMPERATURE), FINE, FINE, tool_mode="json")
    for _ in range(2):
        bench.ask()
    sent = [body.get("temperature") for body in bench.transport.bodies]
    assert ([0.0, None, None], 0) == (sent, bench.failures)


def test_a_schema_is_sent_in_the_older_form_once_the_newer_was_refused() -> None:
    """The server of llama-cpp-python knows a schema beside "json_object", and answers HTTP 500."""
    said = (
        "1 validation error: {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'),"
        " 'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}"
    )
    bench = Bench(ModelStatusError(500, said), FINE, FINE, tool_mode="json")
    for _ in range(2):
        bench.ask(tools=(PROBE,))
    first, *later = (body["response_format"] for body in bench.transport.bodies)
    older = {"type": "json_object", "schema": first["json_schema"]["schema"]}
    assert ([older, older], 0) == (later, bench.failures)


def test_a_schema_that_is_refused_in_the_older_form_is_not_sent_again() -> None:
    said = "response_format must be json_object, not json_schema"
    bench = Bench(*[ModelStatusError(400, said)] * 2, tool_mode="json")
    _, (failure,) = bench.ask(tools=(PROBE,))
    assert said == str(failure.value)
    assert 2 == len(bench.transport.bodies)


@pytest.mark.parametrize(
    ("status", "options"),
    [
        pytest.param(400, {"generation": Generation(temperature=0.5)}, id="one that was set"),
        pytest.param(403, {}, id="another status"),
    ],
)
def test_other_temperatures_are_sent_once(status: int, options: dict[str, Any]) -> None:
    bench = Bench(ModelStatusError(status, NO_TEMPERATURE), tool_mode="json", **options)
    assert status == bench.fails().status
    assert 1 == len(bench.transport.bodies)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        pytest.param(400, "content_filter", id="what names none"),
        pytest.param(400, "temperatures", id="another word"),
        pytest.param(400, "top_p: not a number", id="a setting that was not sent"),
        pytest.param(403, NO_TEMPERATURE, id="another status"),
    ],
)
def test_other_refusals_are_laid_to_no_setting(status: int, text: str) -> None:
    bench = Bench(ModelStatusError(status, text), generation=Generation(temperature=0.5))
    bench.breaker.record_success()
    refused = bench.fails()
    assert isinstance(refused, ModelStatusError)
    assert (text, False) == (str(refused), refused.is_of_service)


def test_a_setting_with_which_the_model_answered_is_not_blamed() -> None:
    """A service may quote the words that it refuses, and people could write a setting's name."""
    error = ModelStatusError(400, "refused: 'temperature'")
    bench = Bench(FINE, error, generation=Generation(temperature=0.5))
    bench.ask()
    refused = bench.fails()
    assert isinstance(refused, ModelStatusError)
    assert ("refused: 'temperature'", False) == (str(refused), refused.is_of_service)


@pytest.mark.parametrize("status", [400, 403])
def test_where_nobody_was_ever_answered_a_refusal_is_laid_to_the_service(status: int) -> None:
    """A service that refuses each request from the start refuses nobody's words."""
    for answers, is_of_service in ((0, True), (1, False)):
        bench = Bench(*[FINE] * answers, ModelStatusError(status, "no"))
        for _ in range(answers):
            bench.ask()
        refused = bench.fails()
        assert isinstance(refused, ModelStatusError)
        assert (is_of_service, not is_of_service) == (refused.is_of_service, refused.may_lock)
    too_long = Bench(ContextLengthError(400, "too long")).fails()
    assert isinstance(too_long, ContextLengthError)
    assert (False, True) == (too_long.is_of_service, too_long.may_lock)


def test_a_wrong_body_is_a_failure_of_the_service() -> None:
    """A server that answers {} all day opens the breaker, as one that is down does."""
    bench = Bench(b"{}", b"<html>", breaker=CircuitBreakerConfig(failure_threshold=2))
    assert isinstance(bench.fails(), ModelReplyError)
    assert isinstance(bench.fails(), ModelReplyError)
    assert isinstance(bench.fails(), CircuitOpenError)


def test_the_last_attempt_ends_it() -> None:
    bench = Bench(DOWN, DOWN, DOWN, FINE, attempts=3)
    _, outcomes = bench.ask()
    bench.clock.pump([1, 2])
    assert outcomes[0].check(ModelConnectionError)
    assert (3, 1) == (len(bench.transport.bodies), bench.failures), "one call, one failure"


def test_the_service_may_ask_for_a_longer_wait() -> None:
    """Retry-After is honoured if the deadline allows it."""
    bench = Bench(ModelStatusError(429, "later", retry_after=7), FINE, attempts=2)
    _, outcomes = bench.ask()
    bench.clock.advance(6.9)
    assert [] == outcomes
    bench.clock.advance(0.1)
    assert "hi" == outcomes[0].content
    assert 0 == bench.failures


def test_a_wait_that_the_service_names_uses_up_no_attempt() -> None:
    """It is honoured as often as time allows, and running out of time is not a failure."""
    busy = ModelStatusError(429, "later", retry_after=3)
    bench = Bench(busy, busy, busy, FINE, attempts=1)
    _, outcomes = bench.ask()
    bench.clock.pump([3, 3])
    assert outcomes[0].check(ModelStatusError)
    assert (3, 0) == (len(bench.transport.bodies), bench.failures)


def test_a_busy_service_that_names_no_time_has_failed() -> None:
    """A used-up quota looks like this, so the breaker has to hear of it."""
    bench = Bench(ModelStatusError(429, "insufficient_quota"), attempts=1)
    bench.fails()
    assert 1 == bench.failures


def test_a_quota_that_is_used_up_is_not_waited_for_again_and_again() -> None:
    """Although the service names a wait each time, the call fails after its attempts."""
    used_up = ModelStatusError(429, "insufficient_quota", retry_after=1, is_used_up=True)
    bench = Bench(used_up, used_up, FINE, attempts=2)
    _, outcomes = bench.ask()
    bench.clock.advance(1)
    assert outcomes[0].check(ModelStatusError)
    assert (2, 1) == (len(bench.transport.bodies), bench.failures)


@pytest.mark.parametrize("retry_after", [10.0, 3600.0])
def test_a_wait_beyond_the_deadline_is_not_begun(retry_after: float) -> None:
    error = ModelStatusError(429, "much later", retry_after=retry_after)
    bench = Bench(error, FINE, attempts=2)
    assert error is bench.fails()
    assert [] == bench.clock.getDelayedCalls()


def test_the_second_attempt_has_only_the_time_that_is_left() -> None:
    bench = Bench(DOWN, attempts=2)
    _, outcomes = bench.ask()
    bench.clock.pump([1, 8.9])
    assert [] == outcomes
    bench.clock.advance(0.1)
    assert outcomes[0].check(ModelTimeoutError)


def test_retries_stop_when_the_breaker_opens() -> None:
    bench = Bench(DOWN, FINE, attempts=2)
    _, outcomes = bench.ask()
    bench.breaker.force_open()
    bench.clock.advance(1)
    assert outcomes[0].check(CircuitOpenError)
    assert 1 == len(bench.transport.bodies)


# ---- slots and breaker ---------------------------------------------------------------------------


def test_slots_cap_the_calls_in_flight() -> None:
    bench = Bench(slots=DeferredSemaphore(2))
    asked = [bench.ask()[1] for _ in range(5)]
    for expected in (2, 3, 4, 5, 5):
        assert expected == len(bench.transport.bodies)
        bench.transport.answer(FINE)
    assert ["hi"] * 5 == [outcomes[0].content for outcomes in asked]


def test_waiting_for_a_slot_ends_with_the_deadline() -> None:
    slots = DeferredSemaphore(1)
    slots.acquire()
    bench = Bench(FINE, slots=slots)
    _, outcomes = bench.ask()
    bench.clock.advance(10)
    assert "no free slot for a model call within 10 s" == outcomes[0].getErrorMessage()
    assert outcomes[0].check(NoFreeSlotError)
    assert (0, []) == (bench.failures, bench.transport.bodies)
    assert not outcomes[0].value.counts_as_error
    slots.release()
    assert 1 == slots.tokens


def test_an_open_breaker_rejects_without_a_call() -> None:
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


def test_waiting_for_a_slot_is_part_of_the_deadline() -> None:
    slots = DeferredSemaphore(1)
    slots.acquire()
    bench = Bench(slots=slots)
    _, outcomes = bench.ask()
    bench.clock.advance(7)
    slots.release()
    bench.clock.advance(3)
    assert "no whole answer within 3 s" == outcomes[0].getErrorMessage()


def test_limits_are_those_of_the_last_answer() -> None:
    bench = Bench(FINE)
    assert bench.client.rate_limit_info is None
    limits = RateLimitInfo(requests_remaining=3)
    bench.transport.rate_limit_info = limits
    assert limits == bench.client.rate_limit_info


def test_a_mistake_of_ours_is_not_the_services_failure() -> None:
    slots = DeferredSemaphore(1)
    bench = Bench(RuntimeError("our own"), slots=slots)
    assert isinstance(bench.fails(), RuntimeError)
    assert (0, 1) == (bench.failures, slots.tokens)


# ---- construction --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "mode", "supports_tools"),
    [("openai", "native", True), ("local", "json", False), ("scripted", "native", True)],
)
def test_the_preset_says_how_tools_are_called(
    provider: str, mode: str, supports_tools: bool
) -> None:
    client = UnifiedLLMClient(provider, transport=ScriptedModel(), reactor=Clock())
    assert (mode, supports_tools) == (client.tool_mode, client.supports_tools)
    assert f"llm:{provider}" == client.circuit_breaker.name


def test_the_scripted_provider_needs_nothing_else() -> None:
    replies: list[Reply] = []
    client = UnifiedLLMClient("scripted", reactor=Clock())
    client.chat_completion(HELLO).addCallback(replies.append)
    assert "say" == replies[0].tool_calls[0].name


@pytest.mark.parametrize("provider", ["custom", "opnai"])
def test_a_provider_without_an_address_is_refused(provider: str) -> None:
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
    assert expected == provider_headers(provider, "Game", site)
