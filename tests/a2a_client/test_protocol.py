"""A2A messages as they are sent, and the reading of any answer."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.a2a_client.cards import JSONRPC, REST, RemoteCard
from evennia_ai.a2a_client.protocol import (
    CANCEL,
    GET,
    MOST_TEXT,
    SEND,
    AgentMessage,
    AgentRefusedError,
    read_json,
    read_standing,
    refusal_of,
    request_of,
)
from evennia_ai.errors import ToolError
from evennia_ai.mcp.pins import Pin

PIN = Pin("", "{}")
RPC = RemoteCard("Atlas", "", "https://maps.example/rpc", JSONRPC, PIN)
PLAIN = RemoteCard("Atlas", "", "https://maps.example", REST, PIN)
DONE = {
    "id": "t1",
    "contextId": "c1",
    "status": {"state": "TASK_STATE_COMPLETED", "message": {"parts": [{"text": "Bye."}]}},
    "artifacts": [
        {"parts": [{"text": "North."}, {"data": {"x": 1}}, {"raw": "AA=="}]},
        {"parts": [{"text": "Hm, where?", "metadata": {"adk_thought": True}}]},
    ],
    "metadata": {"usage": {"total_tokens": 12.0}},
}


def test_calls_by_either_binding() -> None:
    """JSON-RPC has one address and a method in the body; REST has an address for each call."""
    sent = AgentMessage("m1", "Where?", metadata={"hops": 1}).as_params()
    assert "taskId" not in sent["message"]
    assert "t1" == AgentMessage("m1", "There.", "t1", "c1").as_params()["message"]["taskId"]
    body = json.loads(request_of(RPC, SEND, sent).body or b"")
    assert ("SendMessage", sent) == (body["method"], body["params"])
    ways = [request_of(PLAIN, call, {"id": "a/../b", **sent}) for call in (SEND, GET, CANCEL)]
    assert [
        ("POST", "https://maps.example/message:send"),
        ("GET", "https://maps.example/tasks/a%2F..%2Fb?historyLength=0"),
        ("POST", "https://maps.example/tasks/a%2F..%2Fb:cancel"),
    ] == [(way.method, way.url) for way in ways]
    shared, below = (replace(card, tenant="grey port") for card in (RPC, PLAIN))
    assert "grey port" == json.loads(request_of(shared, GET, {}).body or b"")["params"]["tenant"]
    assert "https://maps.example/grey%20port/message:send" == request_of(below, SEND, sent).url


def test_a_task_that_is_done() -> None:
    """Artifacts count before the status message; a file is named, and a thought is left out."""
    for card, answer in ((RPC, {"result": {"task": DONE}}), (PLAIN, {"task": DONE}), (PLAIN, DONE)):
        standing = read_standing(card, answer)
        assert ("t1", "c1", "completed") == (standing.task, standing.context, standing.state)
        assert 'North.\n{"x": 1}\n[a file that is not shown]' == standing.text
        assert standing.usage is not None
        assert 12 == standing.usage.total_tokens
    without = read_standing(PLAIN, {**DONE, "artifacts": [], "metadata": None})
    assert ("Bye.", None) == (without.text, without.usage)


def test_an_answer_without_a_task() -> None:
    standing = read_standing(RPC, {"result": {"message": {"parts": [{"text": "North."}]}}})
    assert ("", "completed", "North.") == (standing.task, standing.state, standing.text)


def test_a_long_answer_is_cut() -> None:
    long = {**DONE, "artifacts": [{"parts": [{"text": "x" * 100_000}]}]}
    assert MOST_TEXT + 100 > len(read_standing(PLAIN, long).text) > MOST_TEXT


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((code, AgentRefusedError) for code in (-32700, -32600, -32601, -32602)),
        *(
            (code, AgentRefusedError)
            for code in range(-32009, -32000)
            if code not in (-32006, -32005)
        ),
        *(
            (code, ConnectionError)
            for code in (-32603, -32006, -32005, -32000, -32010, 1, "x", None)
        ),
    ],
)
def test_what_was_begun(code: Any, kind: type[Exception]) -> None:
    """A refusal means that no work began; after any other error nobody can say.

    The agent's words are quoted: they could give orders to the model.
    """
    with pytest.raises(kind, match=r'^it (refuses that|failed)\. It says, as hearsay: "no \\"x"$'):
        read_standing(RPC, {"error": {"code": code, "message": 'no "x'}})
    with pytest.raises(kind, match=r"^it (refuses that|failed)$"):
        read_standing(RPC, {"error": {"code": code}})


@pytest.mark.parametrize(
    ("error", "change"),
    [
        ("it has no valid 'state'", {"status": {"state": "completed"}}),
        ("it has no valid 'id'", {"id": "x" * 1000}),
        ("it has no valid 'status'", None),
        ("it is not built like one of A2A 1.0", {"status": "completed"}),
    ],
)
def test_an_answer_that_cannot_be_read_says_where(error: str, change: Any) -> None:
    """States in small letters are those of A2A before 1.0."""
    with pytest.raises(ConnectionError, match=f"its answer cannot be read: {error}"):
        read_standing(PLAIN, {"id": "t1"} if change is None else {**DONE, **change})


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["result", "task", "message", "status", "state", "id", "parts", "artifacts"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_whatever_comes_is_read_or_refused(told: Any) -> None:
    for card in (RPC, PLAIN):
        with suppress(ConnectionError, ToolError):  # both are handled by the caller
            read_standing(card, told)


def test_what_is_no_json() -> None:
    for body in (b"<html>", b"\xff", b"[" * 100_000):
        with pytest.raises(ConnectionError, match="it is not JSON"):
            read_json(body)
        assert ("", None) == refusal_of(body)
    for error in ("400", "5", '"x"', "null"):
        assert ("", None) == refusal_of(b'{"error": {"code": %s}}' % error.encode())
    assert ("", None) == refusal_of(b'{"error": "no"}') == refusal_of(b"[]")
    assert ("", -32603) == refusal_of(b'{"error": {"code": -32603}}')
    assert ("no", None) == refusal_of(b'{"error": {"message": "no"}}')
    assert ("no", None) == refusal_of(b'{"detail": "no"}')
