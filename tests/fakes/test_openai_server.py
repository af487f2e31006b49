"""The scripted model server, seen through the real OpenAI client where possible."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import aiohttp
import openai
import pytest

from tests.fakes.answers import compose_completion, decide_calls
from tests.fakes.behaviour import Behaviour
from tests.fakes.handle import MODEL_NAME, FakeModel

TOOL = {"type": "function", "function": {"name": "whisper", "parameters": {"type": "object"}}}
WHISPER: list[Any] = [{"role": "user", "content": 'Tom whispers to you: "where are the storms?"'}]


@pytest.fixture(scope="module")
def shared_model() -> Iterator[FakeModel]:
    with FakeModel.in_thread() as model:
        yield model


@pytest.fixture
def model(shared_model: FakeModel) -> FakeModel:
    shared_model.reset()
    return shared_model


def make_client(model: FakeModel, timeout_seconds: float = 5.0) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=model.base_url, api_key="sk-x", max_retries=0, timeout=timeout_seconds
    )


def ask(model: FakeModel, timeout_seconds: float = 5.0, **extra: Any) -> Any:
    with make_client(model, timeout_seconds) as client:
        answer = client.chat.completions.create(model=MODEL_NAME, messages=WHISPER, **extra)
    return answer.choices[0].message


def test_answers_a_whisper_with_a_native_tool_call(model: FakeModel) -> None:
    call = ask(model, tools=[TOOL]).tool_calls[0].function
    assert "whisper" == call.name
    expected = {"target": "Tom", "message": "I heard: where are the storms?"}
    assert expected == json.loads(call.arguments)


def test_answers_in_json_under_the_name_the_schema_uses(model: FakeModel) -> None:
    """Where a JSON schema is asked for, the answer is that JSON, with the schema's own key."""
    schema = {"name": "t", "schema": {"properties": {"tool": {}, "args": {}}}}
    message = ask(model, response_format={"type": "json_schema", "json_schema": schema})
    assert {"tool", "args"} == set(json.loads(message.content))


def test_answers_in_plain_words_when_nothing_else_is_asked(model: FakeModel) -> None:
    assert "I heard: where are the storms?" == ask(model).content


@pytest.mark.parametrize(
    ("content", "tool", "target"),
    [
        ('Tom whispers: "hello"', "whisper", "Tom"),
        ('[12:01] Mira whispers to you, "hello"\n(reply with a tool)', "whisper", "Mira"),
        ('Tom says, "@ada hello"', "say", None),
        ('Tom (player) says to you: "hello"', "say", None),
        (
            'old mother Hubbard whispers to you: "\\"hello\\" is all"',
            "whisper",
            "old mother Hubbard",
        ),
    ],
)
def test_hears_who_spoke_however_it_is_told(content: str, tool: str, target: str | None) -> None:
    """The policy finds speaker and verb in any form that a prompt may have."""
    (call,) = decide_calls([{"role": "user", "content": content}])
    assert (tool, target) == (call["tool"], call["arguments"].get("target"))


def test_has_nothing_to_add_once_it_answered() -> None:
    messages: list[Any] = [
        *WHISPER,
        {"role": "assistant", "content": None},
        {"role": "tool", "content": "{}"},
    ]
    assert () == decide_calls(messages)


def test_can_answer_wrongly_in_every_way() -> None:
    calls = (
        {"tool": "fly", "arguments": '{"to": '},
        {"tool": "say", "arguments": {"message": "b"}},
    )
    message = _compose(Behaviour(calls=calls, think=True, style="native"))
    assert ["fly", "say"] == [c["function"]["name"] for c in message["tool_calls"]]
    assert '{"to": ' == message["tool_calls"][0]["function"]["arguments"]
    assert message["content"].startswith("<think>")


def _compose(behaviour: Behaviour) -> Any:
    return compose_completion({"messages": WHISPER}, behaviour, 1)["choices"][0]["message"]


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ({"kind": "status", "status": 500}, openai.InternalServerError),
        ({"kind": "status", "status": 429, "retry_after_seconds": 7}, openai.RateLimitError),
        ({"kind": "status", "status": 401}, openai.AuthenticationError),
        ({"kind": "reset"}, openai.APIConnectionError),
        ({"kind": "hang"}, openai.APITimeoutError),
        ({"kind": "truncated"}, ValueError),
    ],
)
def test_misbehaves_once_then_answers(
    model: FakeModel, behaviour: dict[str, Any], error: type[Exception]
) -> None:
    model.queue(behaviour)
    with pytest.raises(error):
        ask(model, timeout_seconds=0.5)
    assert "I heard" in ask(model).content


def test_sends_retry_after(model: FakeModel) -> None:
    model.queue({"kind": "status", "status": 429, "retry_after_seconds": 7})
    with pytest.raises(openai.RateLimitError) as caught:
        ask(model)
    assert "7" == caught.value.response.headers["retry-after"]


def test_refuses_connections_and_comes_back_on_the_same_port(model: FakeModel) -> None:
    """Refusing closes the model's port but not the control port, and drops pooled connections."""
    with make_client(model) as client:
        client.models.list()
        model.refuse_connections()
        with pytest.raises(openai.APIConnectionError):
            client.models.list()
        model.accept_connections()
        assert MODEL_NAME == client.models.list().data[0].id


def test_sees_that_a_client_left_a_dripping_answer(model: FakeModel) -> None:
    async def leave_early() -> None:
        limit = aiohttp.ClientTimeout(total=0.5)
        async with aiohttp.ClientSession(timeout=limit) as session:
            url = f"{model.base_url}/chat/completions"
            async with session.post(url, json={"messages": WHISPER}) as response:
                await response.read()

    model.queue({"kind": "drip", "drip_seconds": 0.1})
    with pytest.raises(TimeoutError):
        asyncio.run(leave_early())
    (call,) = model.wait_for_calls(1, closed=1)
    assert (True, False) == (call["is_abandoned"], call["is_answered"])


def test_release_ends_a_drip_with_the_whole_answer(model: FakeModel) -> None:
    model.queue({"kind": "drip", "drip_seconds": 0.001})
    assert "I heard" in ask(model).content


def test_records_whether_a_key_was_sent_but_not_the_key(model: FakeModel) -> None:
    ask(model)
    ledger = model.read_ledger()
    assert ledger["requests"][0]["has_authorization"]
    assert "sk-x" not in json.dumps(ledger)


def test_serves_many_calls_at_once(model: FakeModel) -> None:
    async def ask_all() -> list[int]:
        url = f"{model.root_url}/api/v1/generate"
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def ask_one() -> int:
                async with session.post(url, json={"prompt": "hi"}) as response:
                    return len((await response.json())["results"][0]["text"])

            return await asyncio.gather(*(ask_one() for _ in range(200)))

    model.behave(delay_seconds=0.5)
    assert all(asyncio.run(ask_all()))
    assert 200 == model.read_ledger()["in_flight_max"]


def test_names_a_wrong_order(model: FakeModel) -> None:
    with pytest.raises(ValueError, match="it must be one of answer, hang"):
        model.behave(kind="hangs")
    with pytest.raises(ValueError, match="no field 'dealy'"):
        model.queue({"dealy": 1})


def test_runs_as_a_process_of_its_own() -> None:
    with FakeModel.in_process() as model:
        url = f"{model.base_url}/models"
        with urllib.request.urlopen(url, timeout=5) as reply:
            answer = json.load(reply)
    assert MODEL_NAME == answer["data"][0]["id"]
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=5)
