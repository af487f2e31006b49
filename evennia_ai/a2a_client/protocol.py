"""Messages of A2A 1.0 as they are sent, and what is read of the answers. Nothing here does I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from evennia_ai.a2a_client.cards import REST, RemoteCard
from evennia_ai.core.safety.prices import reported
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
# Errors of JSON-RPC and of A2A by which nothing was begun. Not among them are an error inside the
# agent (-32603, -32006), a kind of content that is not taken (-32005), be it of what it made, and
# codes that neither names: nobody knows what came before those.
NOT_BEGUN = frozenset(
    (-32700, *range(-32602, -32599), *range(-32009, -32006), *range(-32004, -32000))
)
SEND, GET, CANCEL = "SendMessage", "GetTask", "CancelTask"
# Besides words only their number and their kind are told of what it made.
A_FILE = "[a file that is not shown]"
CANNOT = "its answer cannot be read: {why}"
USAGE = "usage"


class AgentRefusedError(ToolError):
    """The agent understood a call, and does not do it: nothing was begun by it."""


class NoEntryError(AgentRefusedError):
    """The agent does not let this game in."""


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """One message to an agent.

    Attributes:
        id: our own for it.
        task, context: of the task that it answers a question of; "" for a new one.
        metadata: plain data that goes along.
    """

    id: str
    text: str
    task: str = ""
    context: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def as_params(self) -> dict[str, Any]:
        """The same as it is sent."""
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
            # A task may take minutes; it is asked later how it stands.
            "returnImmediately": True,
            "historyLength": 0,
            "acceptedOutputModes": ["text/plain", "application/json"],
        }
        return {"message": message, "configuration": configuration}


@dataclass(frozen=True, slots=True)
class RemoteStanding:
    """A task of an agent elsewhere at one moment.

    Attributes:
        task, context: its ids; "" where the agent answered without a task.
        state: one of the words above.
        text: what it made, asks or says, cut to size; words of a stranger.
        usage: the tokens that it says it used; None: it does not say.
    """

    task: str
    context: str
    state: str
    text: str
    usage: TokenUsage | None = None


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """One request of HTTP."""

    method: str
    url: str
    body: bytes | None
    media: str


def request_of(card: RemoteCard, call: str, params: Mapping[str, object]) -> OutgoingRequest:
    """A call as the agent is to be asked it.

    Args:
        call: SEND, GET or CANCEL.
    """
    if card.binding != REST:
        # A connection carries one request, so that its id has nothing to tell apart.
        body = {"jsonrpc": "2.0", "id": "1", "method": call, "params": params}
        return OutgoingRequest("POST", card.url, _encoded(body), "application/json")
    media = "application/a2a+json"
    if call == SEND:
        return OutgoingRequest("POST", f"{card.url}/message:send", _encoded(params), media)
    task = f"{card.url}/tasks/{quote(str(params['id']), safe='')}"
    if call == GET:
        return OutgoingRequest("GET", f"{task}?historyLength=0", None, media)
    return OutgoingRequest("POST", f"{task}:cancel", b"{}", media)


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def read_json(body: bytes) -> Any:
    """The JSON of an answer.

    Raises:
        ConnectionError: it is none.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ConnectionError(CANNOT.format(why="it is not JSON")) from None


def read_standing(card: RemoteCard, told: Any) -> RemoteStanding:
    """The answer to a call.

    Args:
        told: the JSON of it.

    Raises:
        AgentRefusedError: the agent does not do what it was asked; the text says why, in its words.
        ConnectionError: the agent failed, or its answer makes no sense.
    """
    try:
        if card.binding != REST:
            told = _result(told)
        if "message" in told:
            parts = _list(told["message"].get("parts"))
            return RemoteStanding("", "", COMPLETED, _words(parts), _usage(told["message"]))
        return _task(told.get("task", told))
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ConnectionError(CANNOT.format(why=f"{type(error).__name__} in it")) from None


def _result(told: Any) -> Any:
    """The result of JSON-RPC."""
    if error := told.get("error"):
        text = bounded(str(error.get("message", "")), MOST_ERROR) or "it says not why"
        if error.get("code") in NOT_BEGUN:
            raise AgentRefusedError(text)
        raise ConnectionError(f"it failed: {text}")
    return told["result"]


def code_of(body: bytes) -> int | None:
    """The code of JSON-RPC by which a request was refused; None where there is none.

    The other binding has codes of HTTP or gRPC in the same place, none of them below 0.
    """
    try:
        code = json.loads(body)["error"]["code"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return code if isinstance(code, int) and code < 0 else None


def complaint_of(body: bytes) -> str:
    """The sentence with which a request was refused, for the model; "" where there is none."""
    try:
        told = json.loads(body)
        error = told.get("error", told)
        return bounded(str(error.get("message") or error.get("detail") or ""), MOST_ERROR)
    except (ValueError, AttributeError, RecursionError):
        return ""


def _task(told: Any) -> RemoteStanding:
    number, context, status = str(told["id"]), str(told.get("contextId") or ""), told["status"]
    state = STATES.get(status["state"], "")
    if not state:
        raise KeyError("state")
    if (
        not number
        or max(len(number), len(context)) > MOST_ID
        or not (number + context).isprintable()
    ):
        raise KeyError("id")
    made = [part for each in _list(told.get("artifacts")) for part in _list(each.get("parts"))]
    said = _list((status.get("message") or {}).get("parts"))
    parts = made if state == COMPLETED and made else said
    return RemoteStanding(number, context, state, _words(parts), _usage(told))


def _list(value: object) -> list[Any]:
    return value[:MOST_PARTS] if isinstance(value, list) else []


def _words(parts: list[Any]) -> str:
    return bounded("\n".join(filter(None, _texts(parts))), MOST_TEXT)


def _texts(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part.get("text"), str):
            yield part["text"]
        elif "data" in part:
            yield json.dumps(part["data"], ensure_ascii=False)
        else:
            yield A_FILE


def _usage(told: Any) -> TokenUsage | None:
    metadata = told.get("metadata") or {}
    said = metadata.get(USAGE)
    # As this protocol writes names, and as services of models do.
    names = {"totalTokens": "total_tokens"}
    plain = (
        {names.get(name, name): value for name, value in said.items()}
        if isinstance(said, dict)
        else {}
    )
    used = reported(plain, lambda: 0)
    return used if used.total_tokens else None
