"""Models without any language model: one that follows a script, and one a test speaks for.

They speak the same protocol as a real endpoint, so everything around them is the real thing.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from evennia_ai.llm.rate_limits import RateLimitInfo

# A call of a tool: its name, and its arguments.
Call = tuple[str, Mapping[str, Any]]

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
    """The call for the last thing the model was told: a tool's name and its arguments."""
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


def _last_told(messages: list[Mapping[str, object]]) -> str:
    told = (m["content"] for m in reversed(messages) if m["role"] == "user")
    return next((text for text in told if isinstance(text, str)), "")


def _next_call(messages: list[Mapping[str, object]]) -> tuple[str, dict[str, Any]]:
    heard = _last_told(messages)
    if messages[-1]["role"] == "user" and any(word in heard.casefold() for word in LOOK_WORDS):
        return "look", {}
    return answer(heard)


def _offered_call(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The call that answers, or, where its tool is not on offer, the first one that is."""
    name, arguments = _next_call(body["messages"])
    offered = {t["function"]["name"]: t["function"]["parameters"] for t in body.get("tools", ())}
    if not offered or name in offered:
        return name, arguments
    name, schema = next(iter(offered.items()))
    wanted = {key: schema["properties"][key] for key in schema.get("required", ())}
    return name, {key: _sample(kind) for key, kind in wanted.items()}


def _sample(schema: Mapping[str, Any]) -> Any:
    """A value that fits a simple schema."""
    kind = schema.get("type", "string")
    return _SAMPLES.get(kind[0] if isinstance(kind, list) else kind, "something")


def completion(
    content: object = None,
    *calls: Call,
    usage: Mapping[str, object] | None = None,
    finish_reason: str = "stop",
) -> bytes:
    """The body of a chat completion with this text and these calls of tools."""
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
    """Answers at once, from `answer`. Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def post(self, body: Mapping[str, object]) -> Deferred[bytes]:
        """Answer one completion."""
        self.calls += 1
        usage = {"prompt_tokens": 0, "completion_tokens": 0}
        call = _offered_call(body)
        return succeed(completion(None, call, usage=usage, finish_reason="tool_calls"))


class ScriptedModel:
    """Answers from `answers` while there are some; after that a test fires `waiting` by hand.

    Attributes:
        answers: bytes to answer with, or an error to fail with, the next first.
        bodies: the requests, the oldest first: `messages` is what it was told.
        waiting: the Deferreds of calls that were neither answered nor cancelled.
        cancelled: the number of calls that were cancelled.
        rate_limit_info: limits that its last answer told of, for a test to set.
    """

    rate_limit_info: RateLimitInfo | None = None

    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers = deque(answers)
        self.bodies: list[Mapping[str, Any]] = []
        self.waiting: list[Deferred[bytes]] = []
        self.cancelled = 0

    def post(self, body: Mapping[str, object]) -> Deferred[bytes]:
        """Take one request."""
        self.bodies.append(body)
        if self.answers:
            answer = self.answers.popleft()
            return fail(answer) if isinstance(answer, Exception) else succeed(answer)
        held = self._hold()
        self.waiting.append(held)
        return held

    def answer(self, body: bytes) -> None:
        """Answer the oldest waiting call."""
        self.waiting.pop(0).callback(body)

    def fail(self, error: Exception) -> None:
        """Fail the oldest waiting call."""
        self.waiting.pop(0).errback(error)

    def _hold(self) -> Deferred[bytes]:
        return Deferred(self._forget)

    def _forget(self, held: Deferred[bytes]) -> None:
        self.waiting.remove(held)
        self.cancelled += 1
