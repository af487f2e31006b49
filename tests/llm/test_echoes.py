"""Services that want back what they sent beside a tool call."""

import json
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from evennia_ai.core.turn.conversation import (
    BESIDE,
    OF,
    TOKENS,
    call_message,
    history_entries,
    result_message,
    user_message,
)
from evennia_ai.core.turn.tokens import count_messages, estimate
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.answer_limits import MAX_TOKENS, MOST_TRIES
from evennia_ai.llm.echoes import (
    NO_SIGNATURE,
    NO_THOUGHTS,
    SIGNATURE,
    THOUGHTS,
    Echoes,
    with_echoes,
)
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.pool import Pool, PoolConfig
from evennia_ai.llm.replies import parse_reply
from evennia_ai.llm.scripted import ScriptedModel, completion
from tests.llm.client_bench import FINE, Bench

DEEPSEEK = ModelStatusError(
    400, "The `reasoning_content` in the thinking mode must be passed back to the API."
)
GEMINI = ModelStatusError(
    400, "Function call is missing a thought_signature in functionCall parts."
)
LOOK, SAY = ToolCall("look00001", "look"), ToolCall("say000001", "say")
DONE = ToolResult(True, "done")
TALK = [
    user_message("hello"),
    call_message(LOOK, SAY),
    result_message(LOOK, DONE),
    result_message(SAY, DONE),
]


def asked(bench: Bench) -> Any:
    """The reply to a conversation with tool calls, or the error."""
    outcomes: list[Any] = []
    bench.client.chat_completion(TALK).addBoth(outcomes.append)
    return getattr(outcomes[0], "value", outcomes[0])


def echoes_in(body: Any) -> tuple[Any, Any, Any]:
    """The thoughts, and the signature of either call, in the second message of a request."""
    message = body["messages"][1]
    extras = [each.get("extra_content", {}) for each in message["tool_calls"]]
    return message.get(THOUGHTS), *(extra.get("google", {}).get(SIGNATURE) for extra in extras)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        pytest.param(DEEPSEEK, (NO_THOUGHTS, None, None), id="thoughts"),
        pytest.param(GEMINI, (None, NO_SIGNATURE, None), id="a signature"),
    ],
)
def test_a_refused_request_is_repeated_with_a_stand_in(refusal: Any, expected: Any) -> None:
    """Later requests have it at once; nothing else in them differs, and the talk stays as it is."""
    bench = Bench(refusal, FINE, FINE)
    assert "hi" == asked(bench).content
    assert "hi" == asked(bench).content
    bodies = bench.transport.bodies
    assert [(None,) * 3, expected, expected] == [echoes_in(body) for body in bodies]
    assert TALK == bodies[0]["messages"]
    assert bodies[0]["messages"][2:] == bodies[1]["messages"][2:]
    assert THOUGHTS not in TALK[1]


def thoughtful(signature: Any = "c2ln") -> bytes:
    """An answer of two calls, with the thoughts behind them."""
    whole = json.loads(completion(None, ("look", {}), ("say", {"message": "hi"})))
    message = whole["choices"][0]["message"]
    message |= {THOUGHTS: "I should look.\ud800"}
    message["tool_calls"][0]["extra_content"] = {"google": {SIGNATURE: signature}}
    return json.dumps(whole).encode()


def after(reply: Reply, model: str = "m") -> Any:
    """What a model is sent of a reply's calls at the next step."""
    talk = [user_message("hello"), call_message(*reply.tool_calls, beside=reply.beside)]
    bench = Bench(FINE)
    bench.client.model = model
    bench.client._echoes.wanted = frozenset((THOUGHTS, SIGNATURE))
    bench.client.chat_completion(talk)
    return bench.transport.bodies[0]


def test_a_model_gets_its_own_thoughts_back() -> None:
    """From the first refusal on they are kept; no other model gets them."""
    bench = Bench(thoughtful(), DEEPSEEK, GEMINI, thoughtful())
    assert {} == asked(bench).beside
    reply = asked(bench)
    size = estimate("I should look.?") + estimate("c2ln")
    assert {"m": {THOUGHTS: "I should look.?", SIGNATURE: "c2ln", TOKENS: size}} == reply.beside
    assert ("I should look.?", "c2ln", None) == echoes_in(after(reply))
    assert (NO_THOUGHTS, NO_SIGNATURE, None) == echoes_in(after(reply, "other"))
    bare, whole = (call_message(*reply.tool_calls, beside=each) for each in ({}, reply.beside))
    assert size == count_messages([whole], estimate) - count_messages([bare], estimate)


def test_services_that_want_nothing_get_nothing() -> None:
    """Such as a fallback that goes on where the first model failed."""
    talk = [user_message("hello"), call_message(LOOK, SAY, beside={"m": {THOUGHTS: "Hm."}})]
    bench = Bench(FINE)
    bench.client.chat_completion(talk)
    assert {"role", "content", "tool_calls"} == bench.transport.bodies[0]["messages"][1].keys()


@pytest.mark.parametrize("signature", [None, 3, "", {"a": 1}])
def test_what_is_no_signature_is_not_kept(signature: Any) -> None:
    body = thoughtful(signature)
    assert {} == parse_reply(body, "native", model="m", wanted=(SIGNATURE,)).beside
    assert {} == parse_reply(FINE, "native", model="m", wanted=(THOUGHTS,)).beside


def test_thoughts_stay_in_their_turn() -> None:
    messages = [user_message("hello"), call_message(LOOK, beside={"m": {THOUGHTS: "Hm."}})]
    entries = history_entries([*messages, result_message(LOOK, DONE)], "*#1", {}, is_private=False)
    assert [messages[0] | {OF: "*#1"}, call_message(LOOK) | {OF: "*#1"}] == entries[:2]
    assert BESIDE in messages[1]


def test_both_may_be_wanted() -> None:
    bench = Bench(DEEPSEEK, GEMINI, FINE)
    assert "hi" == asked(bench).content
    assert (NO_THOUGHTS, NO_SIGNATURE, None) == echoes_in(bench.transport.bodies[-1])


def test_a_length_is_learned_as_well() -> None:
    short = ModelStatusError(400, "max_tokens is too large: 4096. At most 1024 are supported.")
    bench = Bench(DEEPSEEK, short, FINE)
    assert "hi" == asked(bench).content
    last = bench.transport.bodies[-1]
    assert (1024, NO_THOUGHTS) == (last[MAX_TOKENS], echoes_in(last)[0])


@pytest.mark.parametrize(
    "refusal",
    [DEEPSEEK, GEMINI, ModelStatusError(400, f"unknown member {THOUGHTS}")],
    ids=["thoughts", "a signature", "not after all"],
)
def test_a_service_that_refuses_the_stand_in_too_is_not_asked_for_ever(refusal: Any) -> None:
    bench = Bench(*[refusal] * (MOST_TRIES + 2))
    assert refusal is asked(bench)
    assert 2 == len(bench.transport.bodies)


@pytest.mark.parametrize(
    "error",
    [ModelStatusError(500, THOUGHTS), ModelStatusError(400, "no such tool")],
    ids=["not about the request", "about something else"],
)
def test_other_errors_teach_nothing(error: ModelStatusError) -> None:
    echoes = Echoes()
    assert not echoes.after(error, ())
    assert not echoes.wanted


def test_what_another_call_learned_meanwhile_is_worth_a_repeat() -> None:
    echoes = Echoes(frozenset((THOUGHTS,)))
    assert [True, False] == [echoes.after(DEEPSEEK, sent) for sent in ((), (THOUGHTS,))]


def test_a_message_that_lacks_nothing_is_not_copied() -> None:
    body = {"model": "m", "messages": TALK}
    assert TALK[0] is with_echoes(body, (SIGNATURE,))["messages"][0]


def test_all_clients_of_a_model_know_what_one_learned(tmp_path: Path) -> None:
    """A refusal costs one request in a process, not one for each assistant."""
    pool = Pool(PoolConfig(tmp_path), reactor=Clock())
    endpoint, model = Endpoint("custom", "m", "http://127.0.0.1:9/v1"), ScriptedModel()
    pool.set_transport(endpoint, model)
    model.answers.extend((DEEPSEEK, FINE, FINE))
    for _ in range(2):
        pool.client(endpoint).chat_completion(TALK)
    assert [None, NO_THOUGHTS, NO_THOUGHTS] == [echoes_in(body)[0] for body in model.bodies]
