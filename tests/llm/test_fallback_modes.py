"""Fallback models over HTTP, each in its own tool mode."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.core.turn.conversation import call_message, result_message, user_message
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult, ToolSpec
from evennia_ai.llm.answer_limits import Generation
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.pool import Pool, PoolConfig
from tests.fakes.handle import FakeModel

SAY = ToolSpec(
    "say",
    "Say it.",
    {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
)
CALL = ToolCall("call00001", "say", {"message": "Good evening."})
TALK = [
    {"role": "system", "content": "You are Ada."},
    user_message("Tom says: hello"),
    call_message(CALL),
    result_message(CALL, ToolResult(True, "said")),
    user_message('Tom says to you: "how are you"'),
]


@pytest.fixture
def pool(tmp_path: Path, running_reactor: SelectReactor) -> Iterator[Pool]:
    result = Pool(PoolConfig(tmp_path, deadline_seconds=20.0), reactor=running_reactor)
    yield result
    blockingCallFromThread(running_reactor, result.close)


def test_a_json_model_stands_in_for_a_native_one(
    pool: Pool, model: FakeModel, running_reactor: SelectReactor
) -> None:
    """One prompt serves both: the second model gets the conversation without tool roles."""
    first = Endpoint("custom", "big", model.base_url)
    second = Endpoint("custom", "small", model.root_url + "/v1", tool_mode="json")
    busy = {"kind": "status", "status": 401}
    model.queue(busy, {"kind": "answer"})
    client = pool.client(first, Generation(temperature=0.9, max_tokens=77), (second,))
    reply = blockingCallFromThread(running_reactor, client.chat_completion, TALK, [SAY])
    assert ("say", {"message": "I heard: how are you"}) == (
        reply.tool_calls[0].name,
        reply.tool_calls[0].arguments,
    )
    assert f"small via {second.base_url}" == reply.model
    assert "HTTP 401" in reply.notice
    native, json_mode = (call["body"] for call in model.read_calls())
    assert (TALK, "auto", 0.9) == (native["messages"], native["tool_choice"], native["temperature"])
    roles = [message["role"] for message in json_mode["messages"]]
    assert ["system", "user", "assistant", "user"] == roles
    retold = json.loads(json_mode["messages"][2]["content"])
    assert {"tool": "say", "parameters": {"message": "Good evening."}} == retold
    assert ("json_schema", 77, 0.0) == (
        json_mode["response_format"]["type"],
        json_mode["max_tokens"],
        json_mode["temperature"],
    )


def test_the_scripted_model_answers_when_nobody_listens(
    pool: Pool, model: FakeModel, running_reactor: SelectReactor
) -> None:
    model.refuse_connections()
    first = Endpoint("custom", "big", model.base_url)
    client = pool.client(first, Generation(), (Endpoint("scripted", "scripted"),))
    reply = blockingCallFromThread(running_reactor, client.chat_completion, TALK, [SAY])
    assert "say" == reply.tool_calls[0].name
    assert "scripted model: fixed answers, for building and tests" == reply.model
    assert f"no connection to {model.base_url}" in reply.notice
