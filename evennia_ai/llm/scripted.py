"""The scripted model: fixed answers without any language model, for building a game and for tests.

It speaks the same protocol as a real endpoint, so everything around it is the real thing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from twisted.internet.defer import Deferred, succeed

Answer = Callable[[str], tuple[str, dict[str, Any]]]

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


def _last_told(messages: list[Mapping[str, Any]]) -> str:
    told = (m["content"] for m in reversed(messages) if m["role"] == "user")
    return next((text for text in told if isinstance(text, str)), "")


def _next_call(messages: list[Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
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


class ScriptedTransport:
    """Answers at once, from `answer`. Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
        """Answer one completion."""
        self.calls += 1
        name, arguments = _offered_call(body)
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_s{self.calls}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        completion = {
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0},
        }
        return succeed(json.dumps(completion).encode())
