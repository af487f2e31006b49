"""Answers of the scripted model: a pure function from a request's body to a completion's body.

The policy is small on purpose. It looks for the last message in which somebody whispers or says
something, and answers by the tool of the same name, repeating the words, so that a test can tell
whose question an answer belongs to. Once that message has been answered it has nothing to add.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.fakes.behaviour import Behaviour

SPOKEN = re.compile(
    r"^(?:\[[^\]\n]*\]\s*)?(?P<name>\w[^\"“\n]*?)(?:\s*\([^)\n]*\))?\s+"
    r"(?P<verb>whisper|say|page)s?\b[^\"“\n]*[\"“](?P<words>.*?)[\"”]\s*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
ARGUMENT_KEYS = ("args", "parameters", "arguments")
LIMITS = ("max_tokens", "max_completion_tokens")
LETTERS_OF_A_TOKEN = 4
THOUGHT = "<think>Somebody speaks to me. I should answer them.</think>\n"


def compose_reply(words: str) -> str:
    return f"I heard: {words}"


def read_text(message: Mapping[str, Any]) -> str:
    """A message's text, whether its content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def decide_calls(messages: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The tool calls a sensible model would make; empty when everything is answered."""
    for message in reversed(messages):
        if message.get("role") in ("assistant", "tool"):
            break
        spoken = list(SPOKEN.finditer(read_text(message))) if message.get("role") == "user" else []
        if spoken:
            return (_answer_to(spoken[-1]),)
    return ()


def _answer_to(spoken: re.Match[str]) -> Mapping[str, Any]:
    reply = compose_reply(_unquote(spoken["words"]).strip())
    if spoken["verb"] == "say":
        return {"tool": "say", "arguments": {"message": reply}}
    return {"tool": spoken["verb"], "arguments": {"target": spoken["name"], "message": reply}}


def _unquote(words: str) -> str:
    try:
        return str(json.loads(f'"{words}"'))
    except ValueError:
        return words


def refusal_of(request: Mapping[str, Any], behaviour: Behaviour) -> str:
    """The error message for a member of the request that the endpoint does not know, or ""."""
    name = behaviour.refuses
    if not name or name not in request:
        return ""
    other = next(each for each in LIMITS if each != name)
    return (
        f"Unsupported parameter: '{name}' is not supported with this model. Use '{other}' instead."
    )


def compose_completion(
    request: Mapping[str, Any], behaviour: Behaviour, index: int
) -> dict[str, Any]:
    """The body of a chat completion that answers `request`.

    Args:
        request: the body of a POST to /v1/chat/completions.
        behaviour: the fields that matter are `style`, `calls`, `content`, `think`,
            `answer_tokens`, `ignores_limit`, `usage`, and `size_bytes` when huge.
        index: the number of the request, which makes ids unique.
    """
    message = _compose_message(request, behaviour, index)
    limit = limit_of(request, behaviour)
    is_cut = limit < count_answer(message)
    finish = "length" if is_cut else "tool_calls" if message.get("tool_calls") else "stop"
    if is_cut:
        message = _cut(message, limit)
    completion = {
        "id": f"chatcmpl-{index}",
        "object": "chat.completion",
        "created": 1_700_000_000 + index,
        "model": request.get("model", "scripted"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
    }
    if behaviour.usage is not None:
        prompt, answer = count_tokens(request, completion)
        usage = {"prompt_tokens": prompt, "completion_tokens": answer}
        completion["usage"] = {**usage, "total_tokens": prompt + answer, **behaviour.usage}
    return completion


def limit_of(request: Mapping[str, Any], behaviour: Behaviour) -> float:
    limits = [request[name] for name in LIMITS if name in request]
    return math.inf if behaviour.ignores_limit else min(limits, default=math.inf)


def count_tokens(request: Mapping[str, Any], completion: Mapping[str, Any]) -> tuple[int, int]:
    """Tokens read and written by the server's own count: four letters are a token."""
    letters = sum(len(read_text(message)) for message in request.get("messages", ()))
    message = completion["choices"][0]["message"]
    return letters // LETTERS_OF_A_TOKEN + 1, count_answer(message)


def count_answer(message: Mapping[str, Any]) -> int:
    calls = message.get("tool_calls") or ()
    texts = [message.get("content") or "", *(call["function"]["arguments"] for call in calls)]
    return max(1, sum(-(-len(text) // LETTERS_OF_A_TOKEN) for text in texts))


def _cut(message: dict[str, Any], limit: float) -> dict[str, Any]:
    """The answer as it is when the tokens run out in its middle."""
    left = int(limit) * LETTERS_OF_A_TOKEN
    content = (message.get("content") or "")[:left]
    cut = {**message, "content": content or None}
    left -= -(-len(content) // LETTERS_OF_A_TOKEN) * LETTERS_OF_A_TOKEN
    calls = []
    for call in message.get("tool_calls") or ():
        arguments = call["function"]["arguments"][:left]
        calls.append({**call, "function": {**call["function"], "arguments": arguments}})
        left -= -(-len(arguments) // LETTERS_OF_A_TOKEN) * LETTERS_OF_A_TOKEN
    return {**cut, "tool_calls": calls} if calls else cut


def _compose_message(
    request: Mapping[str, Any], behaviour: Behaviour, index: int
) -> dict[str, Any]:
    thought = THOUGHT if behaviour.think else ""
    if behaviour.kind == "huge":
        return {"role": "assistant", "content": "a" * behaviour.size_bytes}
    if behaviour.answer_tokens:
        # With its blank the word has four letters, so it is one token here as for a real model.
        return {"role": "assistant", "content": "sea " * behaviour.answer_tokens}
    if behaviour.content is not None:
        return {"role": "assistant", "content": thought + behaviour.content}
    calls = behaviour.calls or decide_calls(request.get("messages", ()))
    style = behaviour.style if behaviour.style != "auto" else choose_style(request)
    if style == "native":
        return _write_native(calls, thought, index)
    if style == "json":
        return {"role": "assistant", "content": thought + _write_json(request, calls)}
    spoken = [call["arguments"]["message"] for call in calls if "message" in call["arguments"]]
    return {"role": "assistant", "content": thought + " ".join(spoken)}


def choose_style(request: Mapping[str, Any]) -> str:
    """The style that a request asks for: `native`, `json` or `plain`."""
    if request.get("tools"):
        return "native"
    asked = request.get("response_format", {}).get("type", "text")
    return "json" if asked in ("json_schema", "json_object") else "plain"


def _write_native(calls: Iterable[Mapping[str, Any]], thought: str, index: int) -> dict[str, Any]:
    written = [
        {
            "id": f"call_{index}_{position}",
            "type": "function",
            "function": {"name": call["tool"], "arguments": _write_arguments(call["arguments"])},
        }
        for position, call in enumerate(calls)
    ]
    if not written:
        return {"role": "assistant", "content": thought}
    return {"role": "assistant", "content": thought or None, "tool_calls": written}


def _write_arguments(arguments: Mapping[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _write_json(request: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> str:
    key = _find_argument_key(request)
    if not calls:
        return json.dumps({"tool": "noop", key: {}})
    if isinstance(calls[0]["arguments"], str):
        return f'{{"tool": "{calls[0]["tool"]}", "{key}": {calls[0]["arguments"]}}}'
    written = [json.dumps({"tool": call["tool"], key: call["arguments"]}) for call in calls]
    return "\n".join(written)


def _find_argument_key(request: Mapping[str, Any]) -> str:
    """The name that the request's JSON schema gives to a tool's arguments."""
    schema = json.dumps(request.get("response_format", {}))
    return next((key for key in ARGUMENT_KEYS if f'"{key}"' in schema), "parameters")
