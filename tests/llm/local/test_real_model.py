"""The real embedded model: fetched, loaded, and asked by schema and by tool call."""

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evennia_ai.llm import local
from evennia_ai.llm.local.state import read_snapshot
from evennia_ai.llm.local.supervisor import is_alive
from tests.llm.local.support import eventually
from tests.real_model import NEEDS_MODEL

ASK_SECONDS = 120.0
MESSAGES = [
    {"role": "system", "content": "You are Ada, a librarian. Answer with one JSON object."},
    {"role": "user", "content": 'Nell whispers to you: "hello" (answer with whisper)'},
    {
        "role": "assistant",
        "content": '{"tool": "whisper", "args": {"target": "Nell", "message": "Hello, Nell."}}',
    },
    {"role": "user", "content": 'Tom whispers to you: "good evening" (answer with whisper)'},
]
TEXT = {"type": "string", "minLength": 1, "maxLength": 200}
WHISPER = {
    "type": "object",
    "properties": {"target": {"type": "string", "enum": ["Tom"]}, "message": TEXT},
    "required": ["target", "message"],
    "additionalProperties": False,
}
SAY = {
    "type": "object",
    "properties": {"message": TEXT},
    "required": ["message"],
    "additionalProperties": False,
}

pytestmark = [*NEEDS_MODEL, pytest.mark.xdist_group("real_model")]


@pytest.fixture(scope="module")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def model(state_dir: Path) -> Iterator[local.LocalModel]:
    """The real model, from the cache folder or fetched into it."""
    try:
        yield local.ensure_running(state_dir)
    finally:
        local.stop(state_dir)


def ask(model: local.LocalModel, **more: Any) -> dict[str, Any]:
    body = {"model": model.model, "messages": MESSAGES, "temperature": 0, "max_tokens": 96, **more}
    request = urllib.request.Request(
        f"{model.base_url}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {model.api_key}"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=ASK_SECONDS) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def choice(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of one tool call."""
    return {
        "type": "object",
        "properties": {"tool": {"const": name}, "args": arguments},
        "required": ["tool", "args"],
        "additionalProperties": False,
    }


def test_it_answers_by_a_schema(model: local.LocalModel) -> None:
    schema = {"anyOf": [choice("say", SAY), choice("whisper", WHISPER)]}
    form = {"type": "json_schema", "json_schema": {"name": "act", "strict": True, "schema": schema}}
    answer = ask(model, response_format=form)
    call = json.loads(answer["choices"][0]["message"]["content"])
    assert "whisper" == call["tool"]
    assert "Tom" == call["args"]["target"]
    assert any(letter.isalpha() for letter in call["args"]["message"])
    assert answer["usage"]["total_tokens"] > 0


def test_it_answers_by_a_tool_call(model: local.LocalModel) -> None:
    tools = [
        {
            "type": "function",
            "function": {"name": name, "description": f"{name} something", "parameters": schema},
        }
        for name, schema in (("say", SAY), ("whisper", WHISPER))
    ]
    answer = ask(model, tools=tools, tool_choice="required")
    function = answer["choices"][0]["message"]["tool_calls"][0]["function"]
    assert function["name"] in ("say", "whisper")
    assert json.loads(function["arguments"])["message"]


def test_what_it_has_read_is_not_read_again(model: local.LocalModel) -> None:
    """The common beginning of two prompts is processed only once."""
    head = [{"role": "system", "content": f"You are Ada. {'The library never closes. ' * 30}"}]
    ask(model, messages=[*head, {"role": "user", "content": "hello"}], max_tokens=1)
    asked = [*head, {"role": "user", "content": "where is the lamp?"}]
    answer = ask(model, messages=asked, max_tokens=1)
    assert answer["usage"]["prompt_tokens"] > 150
    assert answer["timings"]["prompt_n"] < 60


def test_it_is_listed_under_its_name(model: local.LocalModel) -> None:
    with urllib.request.urlopen(f"{model.base_url}/models", timeout=ASK_SECONDS) as reply:
        assert [model.model] == [entry["id"] for entry in json.load(reply)["data"]]


@pytest.mark.parametrize("key", ["", "wrong"])
def test_hole_c18_other_users_cannot_ask_it(model: local.LocalModel, key: str) -> None:
    """Only the game's own user can read the key."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(replace(model, api_key=key))
    refused.value.close()
    assert 401 == refused.value.code


def test_it_comes_back_at_the_same_address(model: local.LocalModel, state_dir: Path) -> None:
    before = read_snapshot(state_dir)
    assert before is not None
    os.kill(before.host_pid, signal.SIGKILL)
    assert eventually(lambda: local.find_running(state_dir) is None)
    assert model == local.ensure_running(state_dir)


def test_it_ends_with_its_supervisor(state_dir: Path, model: local.LocalModel) -> None:
    """A killed supervisor cannot stop its host, which ends when its input closes."""
    snapshot = read_snapshot(state_dir)
    assert snapshot is not None
    os.kill(model.pid, signal.SIGKILL)
    assert eventually(lambda: not is_alive(snapshot.host_pid))
    # A process that is killed closes its pipes before it lets its locks go.
    assert eventually(lambda: local.find_running(state_dir) is None)
