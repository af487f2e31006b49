"""The pool of clients, transports and breakers that a process shares."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from evennia_ai.errors import (
    CircuitOpenError,
    ConfigurationError,
    ModelConnectionError,
    ModelStatusError,
)
from evennia_ai.llm import local_transport
from evennia_ai.llm.answer_limits import Generation
from evennia_ai.llm.client import UnifiedLLMClient
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.fallback import FallbackClient
from evennia_ai.llm.local_transport import LocalTransport
from evennia_ai.llm.pool import Pool, PoolConfig, breaker_name
from evennia_ai.llm.scripted import ScriptedModel, ScriptedTransport, completion
from tests.llm.client_bench import HELLO

A = Endpoint("custom", "m", "http://127.0.0.1:1/v1", "sk-a")
OTHER_URL = "http://127.0.0.1:2/v1"
SCRIPTED = Endpoint("scripted", "scripted")


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool(PoolConfig(tmp_path, max_calls_in_flight=2), reactor=Clock())


def test_one_place_has_one_transport_and_one_breaker(pool: Pool) -> None:
    other = Endpoint("custom", "n", A.base_url, A.api_key)
    assert pool.transport(A) is pool.transport(other)
    assert pool.client(A).circuit_breaker is pool.client(other).circuit_breaker
    assert "llm:http://127.0.0.1:1/v1" == breaker_name(A)


def test_another_key_is_another_transport(pool: Pool) -> None:
    other = Endpoint("custom", "m", A.base_url, "sk-b")
    assert pool.transport(A) is not pool.transport(other)


def test_each_kind_of_endpoint_gets_its_transport(pool: Pool) -> None:
    assert isinstance(pool.transport(SCRIPTED), ScriptedTransport)
    assert isinstance(pool.transport(Endpoint("local", "m")), LocalTransport)


def test_the_slots_are_shared_by_all_clients(pool: Pool) -> None:
    transport = ScriptedModel()
    pool.set_transport(SCRIPTED, transport)
    asked = [pool.client(SCRIPTED).chat_completion(HELLO) for _ in range(3)]
    assert 2 == len(transport.bodies)
    for each in asked:
        each.addErrback(lambda _: None).cancel()
    assert 3 == len(transport.bodies)


def test_a_thousand_who_wait_and_are_refused_at_once_end(pool: Pool) -> None:
    """Each gives its slot back at once, and the next one's turn is no deeper in the stack."""
    transport, outcomes = ScriptedModel(), list[Any]()
    pool.set_transport(SCRIPTED, transport)
    for _ in range(1000):
        pool.client(SCRIPTED).chat_completion(HELLO).addErrback(outcomes.append)
    pool.breaker_of(SCRIPTED).force_open()
    transport.fail(ModelStatusError(400, "no"))
    assert 998 == sum(each.type is CircuitOpenError for each in outcomes)


def test_a_transport_can_be_put_in_place(pool: Pool) -> None:
    transport = ScriptedModel()
    pool.set_transport(A, transport)
    assert transport is pool.transport(A)


def test_a_key_is_in_no_name(pool: Pool) -> None:
    """Status pages show the names of breakers."""
    pool.client(A)
    assert "sk-a" not in str(pool.breakers.get_all_stats()) + repr(pool.config)


def test_an_embedded_model_that_cannot_start_is_a_connection_error(tmp_path: Path) -> None:
    """As such an error it is retried and counted like any other."""
    blocked = tmp_path / "file"
    blocked.write_text("no folder can be made here")
    transport = LocalTransport(blocked / "state", reactor=Clock())
    with pytest.raises(ModelConnectionError, match="the demo brain does not run: "):
        transport._start()


def test_without_a_game_there_is_no_embedded_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
    monkeypatch.setattr(local_transport, "settings", LazySettings())
    with pytest.raises(ConfigurationError, match=r"no game is set up here; .* give a base_url"):
        UnifiedLLMClient("local")


def test_closing_closes_what_was_opened(pool: Pool) -> None:
    """Transports without connections have nothing to close."""
    closed = []

    class Connected(ScriptedModel):
        def close(self) -> Deferred[None]:
            closed.append(self)
            return succeed(None)

    transport = Connected()
    pool.set_transport(A, transport)
    pool.transport(SCRIPTED)
    pool.transport(Endpoint("local", "m"))
    assert pool.close().called
    assert [transport] == closed


# ---- fallbacks -----------------------------------------------------------------------------------


def test_without_fallbacks_a_client_is_a_plain_one(pool: Pool) -> None:
    assert isinstance(pool.client(A, Generation(), ()), UnifiedLLMClient)
    assert isinstance(pool.client(A, Generation(), (SCRIPTED,)), FallbackClient)


@pytest.mark.parametrize(
    ("expected", "fallback"),
    [
        pytest.param(
            "llm:http://127.0.0.1:1/v1 n",
            Endpoint("custom", "n", A.base_url, A.api_key),
            id="at the same address",
        ),
        pytest.param(
            "llm:http://127.0.0.1:2/v1", Endpoint("custom", "m", OTHER_URL), id="elsewhere"
        ),
        pytest.param("llm:scripted", SCRIPTED, id="the scripted one"),
    ],
)
def test_a_fallback_has_a_breaker_of_its_own(pool: Pool, expected: str, fallback: Endpoint) -> None:
    """A used-up quota or a missing model must not shut out a fallback at the same address."""
    client = pool.client(A, Generation(), (fallback,))
    assert isinstance(client, FallbackClient)
    names = [each.circuit_breaker.name for _, each in client.models]
    assert ["llm:http://127.0.0.1:1/v1", expected] == names


@pytest.mark.parametrize(
    ("expected", "fallback"),
    [
        pytest.param({"max_tokens": 500}, Endpoint("custom", "n", A.base_url), id="another model"),
        pytest.param({"max_tokens": 220}, Endpoint("local", "n", tool_mode="json"), id="embedded"),
    ],
)
def test_a_fallback_is_told_no_more_than_the_length(
    pool: Pool, expected: dict[str, Any], fallback: Endpoint
) -> None:
    """The other options are fitted to the first model, and another may refuse them."""
    transports = [ScriptedModel(ModelConnectionError("down"), ModelConnectionError("down"))]
    transports.append(ScriptedModel(completion("hi")))
    for endpoint, transport in zip((A, fallback), transports, strict=True):
        pool.set_transport(endpoint, transport)
    generation = Generation(0.7, 0.9, 500, "low", {"seed": 7})
    pool.client(A, generation, (fallback,)).chat_completion(HELLO)
    pool._reactor.advance(1)
    (body,) = transports[1].bodies
    knobs = ("max_tokens", "top_p", "reasoning_effort", "seed")
    assert expected == {key: body[key] for key in knobs if key in body}
