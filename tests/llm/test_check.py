"""Checks of an endpoint, against servers that are fit and servers that are not."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.llm.answer_limits import Generation
from evennia_ai.llm.check import LONG_PROMPT_WORDS, CheckResult, Report, check_endpoint
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.pool import Pool, PoolConfig
from evennia_ai.llm.scripted import ScriptedModel, completion
from evennia_ai.resilience import CircuitBreaker
from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.llm.web import BareServer, reply

Check = Callable[..., Report]
RING = {"kind": "answer", "calls": [{"tool": "ring_bell", "arguments": {"times": 3}}]}
ANSWER: dict[str, Any] = {"kind": "answer"}
CHAT = "/v1/chat/completions"
ADVICE = "try EVENNIA_AI_TOOL_MODE=json, or another model"


@pytest.fixture
def check(running_reactor: SelectReactor, model: FakeModel, tmp_path: Path) -> Check:
    """Checks an endpoint; without an address, the fake server's."""

    def check_one(
        base_url: str = "",
        name: str = MODEL_NAME,
        mode: str = "native",
        provider: str = "custom",
        transport: Any = None,
        deadline_seconds: float = 0.5,
        generation: Generation = Generation(),
        prepare: Callable[[Pool, Endpoint], object] = lambda pool, endpoint: None,
    ) -> Report:
        endpoint = Endpoint(provider, name, base_url or model.base_url, "sk-x", mode)
        config = PoolConfig(tmp_path, deadline_seconds=deadline_seconds)
        pool = Pool(config, reactor=running_reactor)
        if transport is not None:
            pool.set_transport(endpoint, transport)

        def begin() -> Deferred[Report]:
            prepare(pool, endpoint)
            return check_endpoint(endpoint, pool, generation=generation, reactor=running_reactor)

        try:
            report: Report = blockingCallFromThread(running_reactor, begin)
        finally:
            blockingCallFromThread(running_reactor, pool.close)
        return report

    return check_one


def _line(report: Report, name: str) -> CheckResult:
    return next(line for line in report.lines if line.name == name)


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_fit_endpoint_passes_in_four_lines(check: Check, model: FakeModel, mode: str) -> None:
    model.queue(ANSWER, RING)
    report = check(mode=mode)
    assert ["answers", "model", "tool calls", "context"] == [line.name for line in report.lines]
    assert report.ok, report
    assert f"{MODEL_NAME} via {model.base_url}" == report.title
    assert re.match(r"answered in \d\.\d s, ", _line(report, "answers").text)
    assert f"{MODEL_NAME} is known" == _line(report, "model").text
    assert f"work ({mode})" == _line(report, "tool calls").text
    assert re.search(r"tokens is read, in \d\.\d s", _line(report, "context").text)
    assert "sk-x" not in str(report)


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        ({"kind": "status", "status": 401}, "answered with HTTP 401: "),
        ({"kind": "status", "status": 500}, "answered with HTTP 500: "),
        ({"kind": "html"}, "the answer is not JSON but begins with '<!doctype html>"),
        ({"kind": "empty_object"}, "the answer holds no choices (it holds: nothing)"),
        ({"kind": "hang"}, "no whole answer within 0.5 s"),
        ({"kind": "drip"}, "no whole answer within 0.5 s"),
        ({"kind": "reset"}, "no connection to "),
    ],
)
def test_without_an_answer_the_rest_is_left_out(
    check: Check, model: FakeModel, behaviour: dict[str, Any], expected: str
) -> None:
    model.behave(**behaviour)
    (line,) = check().lines
    assert ("answers", False) == (line.name, line.ok)
    assert expected in line.text
    assert 1 == model.count_calls()


def test_failures_of_a_check_count_nowhere(check: Check, model: FakeModel) -> None:
    """A check may be repeated until the settings are right, without opening a breaker."""
    pools: list[Pool] = []
    model.behave(kind="status", status=401)
    check(prepare=lambda pool, _: pools.append(pool))
    assert {} == pools[0].breakers.get_all_stats()


@pytest.mark.parametrize(
    ("state", "method"),
    [
        pytest.param("closed", "force_open", id="it was left alone"),
        pytest.param("open", "isolate", id="somebody holds it open"),
        pytest.param("closed", "reset", id="it is well"),
    ],
)
def test_an_answer_to_a_check_ends_a_rest(
    check: Check, model: FakeModel, state: str, method: str
) -> None:
    """A check passes an open breaker; its success closes one that nobody isolated by hand."""
    breakers: list[CircuitBreaker] = []

    def prepare(pool: Pool, endpoint: Endpoint) -> None:
        breakers.append(pool.breaker_of(endpoint))
        getattr(breakers[0], method)()

    model.queue(ANSWER, RING)
    assert check(prepare=prepare).ok
    assert state == breakers[0].state


def test_nobody_there_is_said_with_the_address(check: Check, model: FakeModel) -> None:
    model.refuse_connections()
    (line,) = check().lines
    assert not line.ok
    assert f"no connection to {model.base_url}: " in line.text


def test_a_model_it_does_not_have_is_a_no_with_those_it_has(check: Check, model: FakeModel) -> None:
    model.queue(ANSWER, RING)
    report = check(name="gpt-99")
    expected = f"gpt-99 is not among its models; it has {MODEL_NAME}"
    assert CheckResult("model", False, expected) == _line(report, "model")
    assert not report.ok


UNLISTED = "m (the endpoint does not list its models)"


def _listing(*names: str) -> bytes:
    return reply(json.dumps({"data": [{"id": name} for name in names]}))


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (_listing("m", "n"), "m is known"),
        (_listing("m:latest"), "m is known"),
        (_listing("models/m"), "m is known"),
        (_listing(), UNLISTED),
        (reply("<html>"), UNLISTED),
        (reply("[]"), UNLISTED),
        (reply('{"data": 3}'), UNLISTED),
        (reply("{}", status="404 Not Found"), UNLISTED),
        (None, UNLISTED),
    ],
    ids=["listed", "latest", "in a folder", "empty", "html", "list", "number", "404", "silent"],
)
def test_an_endpoint_need_not_list_its_models(
    check: Check, models: bytes | None, expected: str
) -> None:
    """A list that never arrives is not waited for."""
    answers = {CHAT: reply(completion("hi").decode()), "/v1/models": models}
    with BareServer.running(answers) as server:
        assert CheckResult("model", True, expected) == _line(check(server.base_url, "m"), "model")


def test_usage_that_is_not_reported_is_said(check: Check) -> None:
    with BareServer.running({CHAT: reply(completion("hi").decode())}) as server:
        report = check(server.base_url, "m")
    answered, read = (_line(report, name).text for name in ("answers", "context"))
    assert re.fullmatch(r"answered in \d\.\d s; it reports no token usage", answered)
    assert re.fullmatch(rf"a prompt of {LONG_PROMPT_WORDS} words is read, in \d\.\d s", read)


@pytest.mark.parametrize(("path", "is_advised"), [("", True), ("/api", False)])
def test_a_base_url_without_a_path_probably_lacks_one(
    check: Check, path: str, *, is_advised: bool
) -> None:
    missing = reply("{}", status="404 Not Found")
    answers = {f"{path}/chat/completions": missing for path in ("", "/api")}
    with BareServer.running(answers) as server:
        url = server.base_url.removesuffix("/v1")
        line = _line(check(url + path, "m"), "answers")
    assert not line.ok
    assert is_advised is line.text.endswith(f"; most base URLs end in /v1: try {url}/v1")


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        ({"content": "Ding!"}, f"it answered 'Ding!' instead of a tool call; {ADVICE}"),
        ({"calls": [{"tool": "say", "arguments": {}}]}, f"it called say, not ring_bell; {ADVICE}"),
        (
            {"calls": [{"tool": "ring_bell", "arguments": "{"}]},
            f"the arguments of ring_bell are not valid JSON; {ADVICE}",
        ),
    ],
)
def test_tool_calls_that_do_not_work_are_a_no_with_advice(
    check: Check, model: FakeModel, behaviour: dict[str, Any], expected: str
) -> None:
    model.queue(ANSWER, {**ANSWER, **behaviour})
    assert CheckResult("tool calls", False, expected) == _line(check(), "tool calls")


@pytest.mark.parametrize(
    ("status", "is_about_tools"), [(400, True), (404, True), (422, True), (429, False)]
)
def test_tools_that_are_refused_are_a_no_with_advice(
    check: Check, model: FakeModel, status: int, is_about_tools: bool
) -> None:
    """Ollama refuses tools of a model without them, and vLLM if it was started without them."""
    said = json.dumps({"error": {"message": "m does not support tools"}})
    refused = {"kind": "status", "status": status, "body": said}
    model.queue(ANSWER, refused, ANSWER)
    line = _line(check(), "tool calls")
    assert not line.ok
    assert f"HTTP {status}: m does not support tools" in line.text
    assert is_about_tools is line.text.endswith(ADVICE)


def test_a_setting_of_the_assistant_that_is_refused_is_a_no(check: Check, model: FakeModel) -> None:
    """The check sends what the assistant sends."""
    said = json.dumps({"error": {"message": "temperature: range: 0..1", "code": "invalid"}})
    model.behave(kind="status", status=400, body=said)
    (line,) = check(generation=Generation(temperature=1.5)).lines
    assert line.text.endswith("its setting llm_temperature asks for that: change or remove it")


def test_a_prompt_that_is_cut_silently_is_a_no(check: Check) -> None:
    """The server's own count shows that it read only the end of the prompt."""
    cut = completion("hi", usage={"prompt_tokens": 512, "completion_tokens": 1})
    ring = completion(None, ("ring_bell", {"times": 3}))
    report = check(transport=ScriptedModel(cut, ring, cut))
    expected = (
        f"only 512 tokens of a prompt of {LONG_PROMPT_WORDS} words were read; "
        "raise the model's context size"
    )
    assert CheckResult("context", False, expected) == _line(report, "context")


def test_a_long_prompt_that_is_refused_is_a_no(check: Check, model: FakeModel) -> None:
    model.queue(ANSWER, RING, {"kind": "status", "status": 400})
    line = _line(check(), "context")
    assert not line.ok
    assert "answered with HTTP 400: " in line.text


def test_the_scripted_model_passes(check: Check) -> None:
    report = check(name="scripted", provider="scripted")
    assert report.ok, report
    assert "scripted" == _line(report, "model").text
