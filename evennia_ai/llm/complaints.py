"""Error bodies of endpoints: their text, and what they mean.

Every service has its own wording for "the prompt is too long". Only the service's own message is
read, never a request that it quotes: a player may have said just these words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evennia_ai.core.text.reading import UnreadableError, read_json

LONGEST_COMPLAINT = 2000
# Messages read from one list of them.
MOST_LISTED = 5
TOO_LONG_STATUSES = (400, 413, 422)

# Matched against messages and codes; each comment says whose wording it is.
_TOO_LONG = re.compile(
    "|".join(
        (
            r"context_length_exceeded|maximum context length",  # OpenAI, vLLM, OpenRouter, Mistral
            r"exceed_context_size",  # llama.cpp
            r"exceeds? (?:the |this )?(?:\w+(?:'s)? )?context (?:length|size|window|limit)",  # many
            r"(?:prompt|input) is too long|request_too_large",  # Anthropic
            r"longer than the maximum model length",  # vLLM
            r"token count .{0,40}exceeds the maximum",  # Gemini
            r"must have less than \d+ tokens|`?max_new_tokens`? must be <=",  # TGI
            r"context length of only|greater than the context length",  # LM Studio
            r"request too large for model",  # Groq
            r"ContextWindowExceeded",  # LiteLLM, whatever the service behind it says
        )
    ),
    re.IGNORECASE,
)

# The status does not tell: some services answer 400 or 403, which also mean a bad request.
_USED_UP = re.compile(
    "|".join(
        (
            r"insufficient_quota|exceeded your current quota|quota exceeded",  # OpenAI, Gemini
            r"credit balance is too low",  # Anthropic
            r"insufficient (?:credits?|balance|funds)|out of credits",  # OpenRouter, DeepSeek
            r"billing_(?:error|hard_limit_reached|not_active)",  # OpenAI, Anthropic
            r"budget_exceeded|budget has been exceeded",  # LiteLLM
        )
    ),
    re.IGNORECASE,
)

# A model that a service does not have, or one without tools, where it answers 400 and not 404.
_UNFIT = re.compile(
    "|".join(
        (
            r"model_not_found|model \S{1,100} does not exist",  # many
            r"invalid model name",  # LiteLLM
            r"not a valid model",  # OpenRouter
            r"invalid_model\b|invalid model:",  # Mistral
            r"model not exist",  # DeepSeek
            r"not support (?:tools|tool use|tool calling|function calling)",  # Ollama and others
            r"tool choice requires",  # vLLM
        )
    ),
    re.IGNORECASE,
)


def _texts(part: object, *keys: str) -> Iterator[str]:
    values = (part.get(key) for key in keys) if isinstance(part, Mapping) else (part,)
    return (value for value in values if isinstance(value, str) and value)


def _parts(whole: object) -> list[object]:
    """The parts of a JSON body that may hold the service's message, outermost first."""
    if not isinstance(whole, Mapping):
        return [whole]
    error = _error_in(whole)
    # OpenRouter passes on the error of the provider behind it in `error.metadata.raw`.
    metadata = error.get("metadata") if isinstance(error, Mapping) else None
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    # Mistral wraps the details of FastAPI once more.
    message = whole.get("message")
    wrapped = message.get("detail") if isinstance(message, Mapping) else None
    candidates = (
        error,
        {"message": message, "code": whole.get("code")},
        whole.get("detail"),
        wrapped,
        raw,
        whole.get("errors"),
    )
    return [
        each
        for part in candidates
        for each in (map(_item, part[:MOST_LISTED]) if isinstance(part, list) else (part,))
    ]


def _item(listed: object) -> object:
    """An item of a list of errors; of FastAPI's, only its message and the field it is about."""
    if not isinstance(listed, Mapping) or not isinstance(listed.get("msg"), str):
        return listed
    place = listed.get("loc")
    field = place[-1] if isinstance(place, list) and place else None
    return {"message": f"{field}: {listed['msg']}" if isinstance(field, str) else listed["msg"]}


def _error_in(whole: Mapping[str, Any]) -> object:
    """The error of a body, or of the first choice in it, as with OpenRouter."""
    choices, error = whole.get("choices"), whole.get("error")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, Mapping):
        return error
    if first.get("finish_reason") == "error":
        return first.get("error") or error or "it broke off"
    return first.get("error")


def read_complaint(body: bytes) -> tuple[str, str]:
    """The message and the codes of an error body; "" for either that is missing.

    A body that is not JSON is itself the message.
    """
    text = body[: 10 * LONGEST_COMPLAINT].decode("utf-8", "replace").strip()
    try:
        whole = read_json(body)
    except UnreadableError:
        return text[:LONGEST_COMPLAINT], ""
    # Gemini wraps its errors in a list.
    if isinstance(whole, list) and whole:
        whole = whole[0]
    parts = _parts(whole)
    words = dict.fromkeys(text for part in parts for text in _texts(part, "message"))
    all_parts = [*parts, whole] if isinstance(whole, Mapping) else ()
    codes = (
        code
        for part in all_parts
        if isinstance(part, Mapping)
        for code in _texts(part, "code", "type", "error_type")
    )
    return "; ".join(words)[:LONGEST_COMPLAINT], " ".join(codes)[:LONGEST_COMPLAINT]


def status_within(body: bytes) -> int | None:
    """The HTTP status of an error that came with HTTP 200 in place of an answer.

    OpenRouter answers so if a model fails after it began, and LM Studio, without a status, for an
    address that it does not have.

    Returns:
        0 for an error that states no status; None if there is no error.
    """
    # No text of a model contains this: quotation marks within a text are escaped.
    if b'"error"' not in body:
        return None
    try:
        whole = read_json(body)
    except UnreadableError:
        return None
    error = _error_in(whole) if isinstance(whole, Mapping) else None
    if not error or not isinstance(error, (str, Mapping)):
        return None
    code = error.get("code") if isinstance(error, Mapping) else None
    stated = str(code)  # some gateways send it as a text
    return int(stated) if re.fullmatch(r"[45]\d\d", stated, re.ASCII) else 0


def is_used_up(complaint: tuple[str, str]) -> bool:
    """True if a refusal means that a quota or a credit balance is used up."""
    return any(map(_USED_UP.search, complaint))


def is_unfit(status: int, complaint: tuple[str, str]) -> bool:
    """True if a refusal means that the service has no such model, or that it takes no tools."""
    return status == 400 and any(map(_UNFIT.search, complaint))


def is_of_model(complaint: tuple[str, str]) -> bool:
    """True if a refusal means that the model wrote a tool call which cannot be read, as on Groq."""
    return "tool_use_failed" in complaint[1]


def is_too_long(status: int, complaint: tuple[str, str]) -> bool:
    """True if a refusal means that the prompt does not fit into the model's context."""
    return status in TOO_LONG_STATUSES and any(map(_TOO_LONG.search, complaint))
