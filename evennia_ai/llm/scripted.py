"""Transports without a language model: one with scripted answers, one that a test controls.

They speak the protocol of a real endpoint, so all code around them runs as in production.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from evennia_ai.llm.rate_limits import RateLimitInfo

# Name and arguments of a tool call.
Call = tuple[str, Mapping[str, Any]]

# These match the sentences in which the prompt reports an event to the model.
_HEARD = re.compile(
    r"(?P<name>.+?) (?P<verb>whispers to you|pages you|says on the channel (?P<place>.+?))"
    r"(?: \(trust [\d.]+\))?: (?P<body>.*)"
)
_TASK = re.compile(r".+? hands you a task(?: \(trust [\d.]+\))?;[^:]*: (?P<body>.*)")
_TOOLS = {"whispers to you": "whisper", "pages you": "page"}
SCRIPTED = 'I heard you: "{}". I answer from a script.'
_CALLED = "Somebody called "
_SAMPLES = {"string": "something", "integer": 1, "number": 1.0, "boolean": True}
LOOK_WORDS = ("what do you see", "look around", "who is here", "what is in this room")


def _spoken(body: str) -> str:
    try:
        return str(json.loads(body))
    except ValueError:
        return body


def answer(heard: str) -> tuple[str, dict[str, Any]]:
    """The tool call that answers the last event in the prompt."""
    line = heard.rpartition("\n")[2]
    if task := _TASK.fullmatch(line):
        return "report", {"message": SCRIPTED.format(_spoken(task["body"]))}
    match = _HEARD.fullmatch(line)
    if match is None:
        return "say", {"message": "I answer from a script, and I heard every word."}
    text = SCRIPTED.format(_spoken(match["body"]))
    if match["place"]:
        return "channel", {"channel": match["place"], "message": text}
    name = _spoken(match["name"].removeprefix(_CALLED))
    return _TOOLS[match["verb"]], {"target": name, "message": text}


def _last_event(messages: list[Mapping[str, object]]) -> str:
    contents = (m["content"] for m in reversed(messages) if m["role"] == "user")
    return next((text for text in contents if isinstance(text, str)), "")


def _next_call(messages: list[Mapping[str, object]]) -> tuple[str, dict[str, Any]]:
    heard = _last_event(messages)
    # After a tool result, the same event is answered in words; otherwise it would look forever.
    if messages[-1]["role"] == "user" and any(word in heard.casefold() for word in LOOK_WORDS):
        return "look", {}
    return answer(heard)


def _offered_call(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The call that answers, or a call of the first offered tool if that one is not offered."""
    name, arguments = _next_call(body["messages"])
    offered = {t["function"]["name"]: t["function"]["parameters"] for t in body.get("tools", ())}
    if not offered or name in offered:
        return name, arguments
    name, schema = next(iter(offered.items()))
    schemas = {key: schema["properties"][key] for key in schema.get("required", ())}
    return name, {key: _sample(kind) for key, kind in schemas.items()}


def _sample(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "string")
    return _SAMPLES.get(kind[0] if isinstance(kind, list) else kind, "something")


def completion(
    content: object = None,
    *calls: Call,
    usage: Mapping[str, object] | None = None,
    finish_reason: str = "stop",
) -> bytes:
    """The body of a chat completion with this text and these tool calls."""
    raw = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if raw:
        message["tool_calls"] = raw
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


class ScriptedTransport:
    """Answers each request at once with `answer`, and counts the requests."""

    def __init__(self) -> None:
        self.calls = 0

    def post(self, body: Mapping[str, object]) -> Deferred[bytes]:
        """Answer one completion."""
        self.calls += 1
        usage = {"prompt_tokens": 0, "completion_tokens": 0}
        call = _offered_call(body)
        return succeed(completion(None, call, usage=usage, finish_reason="tool_calls"))


class ScriptedModel:
    """Gives the prepared `answers` in order; after that, a test fires `waiting` itself.

    Attributes:
        answers: bytes to answer with, or errors to fail with, in order.
        bodies: the request bodies, oldest first.
        waiting: the Deferreds of calls neither answered nor cancelled.
        cancelled: the number of cancelled calls.
        rate_limit_info: rate limits of the last answer, for a test to set.
    """

    rate_limit_info: RateLimitInfo | None = None

    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers = deque(answers)
        self.bodies: list[Mapping[str, Any]] = []
        self.waiting: list[Deferred[bytes]] = []
        self.cancelled = 0

    def post(self, body: Mapping[str, object]) -> Deferred[bytes]:
        """Answer one completion, or let it wait."""
        self.bodies.append(body)
        if self.answers:
            answer = self.answers.popleft()
            return fail(answer) if isinstance(answer, Exception) else succeed(answer)
        outcome = self._new_outcome()
        self.waiting.append(outcome)
        return outcome

    def answer(self, body: bytes) -> None:
        """Answer the oldest waiting call."""
        self.waiting.pop(0).callback(body)

    def fail(self, error: Exception) -> None:
        """Fail the oldest waiting call."""
        self.waiting.pop(0).errback(error)

    def _new_outcome(self) -> Deferred[bytes]:
        return Deferred(self._cancel)

    def _cancel(self, outcome: Deferred[bytes]) -> None:
        self.waiting.remove(outcome)
        self.cancelled += 1
