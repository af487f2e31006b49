"""A transport in memory, and the bodies of chat completions it answers with."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from evennia_ai.llm.rate_limits import RateLimitInfo

Said = tuple[str, Mapping[str, Any]]


def completion(
    content: Any = None, *calls: Said, usage: Any = None, finish_reason: str = "stop"
) -> bytes:
    """The body of a chat completion with this text and these native tool calls."""
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


class MemoryTransport:
    """Answers from `answers` while there are some; after that a test fires `waiting` by hand.

    Attributes:
        answers: bytes to answer with, or an error to fail with, the next first.
        bodies: what was posted, the oldest first.
        waiting: the Deferreds of calls that were neither answered nor cancelled.
        cancelled: how many calls were cancelled.
        rate_limit_info: what its last answer said of limits, for a test to set.
    """

    rate_limit_info: RateLimitInfo | None = None

    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers = deque(answers)
        self.bodies: list[Mapping[str, Any]] = []
        self.waiting: list[Deferred[bytes]] = []
        self.cancelled = 0

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
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


class StubbornTransport(MemoryTransport):
    """Cannot be cancelled: a test can bring an answer after all, when it is too late."""

    def _hold(self) -> Deferred[bytes]:
        return Deferred()
