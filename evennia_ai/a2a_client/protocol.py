"""Requests of A2A 1.0, and the parts of the answers that are used. Nothing here does I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib import parse

from evennia_ai.a2a_client.cards import REST, RemoteCard
from evennia_ai.core.safety.prices import reported
from evennia_ai.core.text.cleaning import quote
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ToolError
from evennia_ai.mcp.listing import bounded

WORKING, COMPLETED, FAILED = "working", "completed", "failed"
CANCELED, REJECTED = "canceled", "rejected"
INPUT_REQUIRED, AUTH_REQUIRED = "input-required", "auth-required"
OVER = (COMPLETED, FAILED, CANCELED, REJECTED)
STATES = {
    "TASK_STATE_SUBMITTED": WORKING,
    "TASK_STATE_WORKING": WORKING,
    "TASK_STATE_COMPLETED": COMPLETED,
    "TASK_STATE_FAILED": FAILED,
    "TASK_STATE_CANCELED": CANCELED,
    "TASK_STATE_REJECTED": REJECTED,
    "TASK_STATE_INPUT_REQUIRED": INPUT_REQUIRED,
    "TASK_STATE_AUTH_REQUIRED": AUTH_REQUIRED,
}
MOST_TEXT, MOST_ERROR, MOST_ID, MOST_PARTS = 8_000, 300, 128, 200
# Error codes of JSON-RPC and A2A after which nothing was begun. Left out: internal errors (-32603,
# -32006), unsupported content (-32005), which may be the agent's own output, and codes that neither
# specification defines. After those the agent may have worked.
NOT_BEGUN = frozenset(
    (-32700, *range(-32602, -32599), *range(-32009, -32006), *range(-32004, -32000))
)
SEND, GET, CANCEL = "SendMessage", "GetTask", "CancelTask"
# Stands for a file part: files of strangers are neither downloaded nor shown.
A_FILE = "[a file that is not shown]"
CANNOT = "its answer cannot be read: {why}"
REFUSED, FAILED_THERE = "it refuses that", "it failed"
USAGE = "usage"


class AgentRefusedError(ToolError):
    """The agent understood a request and refused it; nothing was begun."""


class NoEntryError(AgentRefusedError):
    """The agent does not authorize this game."""


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """A message to an agent.

    Attributes:
        id: our own id for it.
        task, context: ids of the task whose question it answers; "" for a new task.
        metadata: plain data that is sent along.
    """

    id: str
    text: str
    task: str = ""
    context: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def as_params(self) -> dict[str, Any]:
        """Build the parameters of `SendMessage`."""
        message: dict[str, Any] = {
            "messageId": self.id,
            "role": "ROLE_USER",
            "parts": [{"text": self.text}],
        }
        if self.metadata:
            message["metadata"] = dict(self.metadata)
        if self.task:
            message |= {"taskId": self.task, "contextId": self.context}
        configuration = {
            # A task may take minutes, so its state is polled later.
            "returnImmediately": True,
            "historyLength": 0,
            "acceptedOutputModes": ["text/plain", "application/json"],
        }
        return {"message": message, "configuration": configuration}


@dataclass(frozen=True, slots=True)
class RemoteStanding:
    """The state of a remote task at one moment.

    Attributes:
        task, context: its ids; "" if the agent answered without a task.
        state: a value of `STATES`.
        text: its result, question or message, cut to size; untrusted.
        usage: the tokens that the agent reports; None if it reports none.
    """

    task: str
    context: str
    state: str
    text: str
    usage: TokenUsage | None = None


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """An HTTP request."""

    method: str
    url: str
    body: bytes | None
    media: str


def request_of(card: RemoteCard, call: str, params: Mapping[str, object]) -> OutgoingRequest:
    """Build the request for a call, in the agent's protocol binding.

    Args:
        call: SEND, GET or CANCEL.
    """
    if card.binding != REST:
        if card.tenant:
            params = {**params, "tenant": card.tenant}
        # A constant id: a connection carries one request, so there is nothing to tell apart.
        body = {"jsonrpc": "2.0", "id": "1", "method": call, "params": params}
        return OutgoingRequest("POST", card.url, _encoded(body), "application/json")
    media = "application/a2a+json"
    url = f"{card.url}/{parse.quote(card.tenant, safe='')}".rstrip("/")
    if call == SEND:
        return OutgoingRequest("POST", f"{url}/message:send", _encoded(params), media)
    task = f"{url}/tasks/{parse.quote(str(params['id']), safe='')}"
    if call == GET:
        return OutgoingRequest("GET", f"{task}?historyLength=0", None, media)
    return OutgoingRequest("POST", f"{task}:cancel", b"{}", media)


def _encoded(value: object) -> bytes:
    # "replace": a model may write half a surrogate pair, which UTF-8 cannot encode.
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def read_json(body: bytes) -> Any:
    """Parse the body of an answer.

    Raises:
        ConnectionError: it is not JSON.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ConnectionError(CANNOT.format(why="it is not JSON")) from None


def read_standing(card: RemoteCard, answer: Any) -> RemoteStanding:
    """Read the answer to a call.

    Args:
        answer: the parsed JSON.

    Raises:
        AgentRefusedError: the agent refused; the text has its words.
        ConnectionError: the agent failed, or its answer cannot be understood.
    """
    try:
        if card.binding != REST:
            answer = _result(answer)
        # A message instead of a task is the whole result: there is nothing to poll.
        if "message" in answer:
            parts = _list(answer["message"].get("parts"))
            return RemoteStanding("", "", COMPLETED, _text_of(parts), _usage(answer["message"]))
        # `SendMessage` wraps the task in a member; `GetTask` and `CancelTask` return it bare.
        return _task(answer.get("task", answer))
    except KeyError as error:
        raise ConnectionError(CANNOT.format(why=f"it has no valid {error}")) from None
    except (AttributeError, TypeError, RecursionError):
        raise ConnectionError(CANNOT.format(why="it is not built like one of A2A 1.0")) from None


def in_its_words(what: str, said: str) -> str:
    """Our own sentence, and the agent's words as a quotation: a stranger wrote them."""
    return f"{what}. It says, as hearsay: {quote(said)}" if said else what


def _result(answer: Any) -> Any:
    if error := answer.get("error"):
        text = bounded(str(error.get("message") or ""), MOST_ERROR)
        if error.get("code") in NOT_BEGUN:
            raise AgentRefusedError(in_its_words(REFUSED, text))
        raise ConnectionError(in_its_words(FAILED_THERE, text))
    return answer["result"]


def refusal_of(body: bytes) -> tuple[str, int | None]:
    """Find the message for the model and the JSON-RPC code in the body of a refusal.

    Returns:
        "" and None for what is not there. HTTP+JSON has a code of HTTP or gRPC in the same place,
        which is never negative.
    """
    try:
        answer = json.loads(body)
        error = answer.get("error", answer)
        text = bounded(str(error.get("message") or error.get("detail") or ""), MOST_ERROR)
        code = error.get("code")
    except (ValueError, AttributeError, RecursionError):
        return "", None
    return text, code if isinstance(code, int) and code < 0 else None


def _task(task: Any) -> RemoteStanding:
    number, context, status = str(task["id"]), str(task.get("contextId") or ""), task["status"]
    state = STATES.get(status["state"], "")
    if not state:
        raise KeyError("state")
    # The agent chose both, and they are stored and sent back with later requests.
    if (
        not number
        or max(len(number), len(context)) > MOST_ID
        or not (number + context).isprintable()
    ):
        raise KeyError("id")
    artifact_parts = [
        part for each in _list(task.get("artifacts")) for part in _list(each.get("parts"))
    ]
    message_parts = _list((status.get("message") or {}).get("parts"))
    parts = artifact_parts if state == COMPLETED and artifact_parts else message_parts
    return RemoteStanding(number, context, state, _text_of(parts), _usage(task))


def _list(value: object) -> list[Any]:
    return value[:MOST_PARTS] if isinstance(value, list) else []


def _text_of(parts: list[Any]) -> str:
    return bounded("\n".join(filter(None, _texts(parts))), MOST_TEXT)


def _texts(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        if (part.get("metadata") or {}).get("adk_thought"):
            continue  # agents by google-adk send their model's thoughts, too
        if isinstance(part.get("text"), str):
            yield part["text"]
        elif "data" in part:
            yield json.dumps(part["data"], ensure_ascii=False)
        else:
            yield A_FILE


def _usage(answer: Any) -> TokenUsage | None:
    metadata = answer.get("metadata") or {}
    usage = metadata.get(USAGE)
    # A2A spells names in camelCase, model services in snake_case; an agent may use either.
    names = {"totalTokens": "total_tokens"}
    plain = (
        {names.get(name, name): value for name, value in usage.items()}
        if isinstance(usage, dict)
        else {}
    )
    used = reported(plain, lambda: 0)
    return used if used.total_tokens else None
