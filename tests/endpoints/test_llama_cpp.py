"""llama.cpp's own server as an endpoint: that of the embedded model, asked with its key."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.errors import ContextLengthError
from evennia_ai.llm import local
from evennia_ai.llm.check import PROBE
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.pool import Pool, PoolConfig
from tests.endpoints.conftest import Caller
from tests.profiles import IS_THOROUGH
from tests.real_model import NEEDS_MODEL

# A long prompt takes minutes on a busy processor.
DEADLINE_SECONDS = 300.0

pytestmark = [*NEEDS_MODEL, pytest.mark.xdist_group("real_model")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.LocalModel]:
    """The server, with the weights from the cache folder or fetched into it."""
    folder = tmp_path_factory.mktemp("llama")
    try:
        yield local.ensure_running(folder)
    finally:
        local.stop(folder)


@pytest.fixture
def patient(running_reactor: SelectReactor, tmp_path: Path) -> Iterator[Caller]:
    """A caller with a long deadline."""
    config = PoolConfig(tmp_path, deadline_seconds=DEADLINE_SECONDS)
    pool = Pool(config, reactor=running_reactor)
    yield Caller(pool, running_reactor)
    blockingCallFromThread(running_reactor, pool.close)


def door(model: local.LocalModel, key: str = "", mode: str = "json") -> Endpoint:
    return Endpoint("custom", model.model, model.base_url, key or model.api_key, mode)


@pytest.mark.skipif(
    not IS_THOROUGH,
    reason="two thousand words are read for minutes: `make proof` does",
)
def test_check_finds_nothing_wrong(patient: Caller, model: local.LocalModel) -> None:
    """Constrained by a schema, even the smallest model calls the bell with its argument."""
    report = patient.check(door(model))
    assert report.ok, report
    assert f"{model.model} is known" == report.lines[1].text
    assert "work (json)" == report.lines[2].text


def test_a_tool_call_has_its_argument(patient: Caller, model: local.LocalModel) -> None:
    reply = patient.ask(door(model), "Ring the bell three times.", (PROBE,))
    (call,) = reply.tool_calls
    assert (PROBE.name, "") == (call.name, call.problem)
    assert isinstance(call.arguments["times"], int)
    assert reply.usage.prompt_tokens > 0


def test_a_prompt_that_is_too_long_is_called_so(patient: Caller, model: local.LocalModel) -> None:
    with pytest.raises(ContextLengthError):
        patient.ask(door(model), "storm " * 40_000)


def test_a_wrong_key_is_told(patient: Caller, model: local.LocalModel) -> None:
    (line,) = patient.check(door(model, key="sk-wrong")).lines
    assert not line.ok
    assert "401" in line.text
