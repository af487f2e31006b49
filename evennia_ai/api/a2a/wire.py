"""Conversion between messages of the protocol and the game's own values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from a2a.server.events.event_queue import Event
from a2a.types import (
    Artifact,
    AuthenticationInfo,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct, Value

from evennia_ai.core.text.cleaning import quote
from evennia_ai.models import PeerEvent, PeerTask
from evennia_ai.operations.peers.tasks import Given
from evennia_ai.tasks import peer_parts, peer_store


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """A task at one moment.

    Attributes:
        seq: number of the last event that is included.
        words: the messages so far.
        message: the message of the last change of state; None if there was none.
        at: when the state last changed, in seconds since 1970.
        number: its number for `assistant why`.
        made: its artifacts, the answer last; empty if they were not asked for.
        is_talk: the answer is text alone; nothing was done or attached.
        usage: the tokens it took, once it is over and if they are known.
    """

    id: str
    context: str
    state: str
    seq: int
    words: list[dict[str, Any]]
    message: Mapping[str, Any] | None
    at: float
    number: int
    made: list[dict[str, Any]]
    is_talk: bool
    usage: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """An event of a task; `kind` and `data` are those of `peer_store`."""

    seq: int
    kind: str
    data: Mapping[str, Any]
    at: float


def snapshot(task: PeerTask, *, with_artifacts: bool = True) -> TaskSnapshot:
    """Copy the current state of a task."""
    last = status = peer_store.last_event(task.pk)
    # The last event may be an artifact: the message is in the last event about the state.
    if last is not None and last.kind != peer_store.STATUS:
        status = peer_store.last_event(task.pk, kind=peer_store.STATUS)
    # A task and its first event are stored in one transaction.
    assert last is not None
    assert status is not None
    status_event = read_event(status)
    return TaskSnapshot(
        id=task.pk,
        context=task.context,
        state=task.state,
        seq=last.pk,
        words=peer_store.messages_of(task),
        message=status_event.data.get("message"),
        at=status_event.at,
        number=task.number,
        made=peer_store.made_of(task.pk) if with_artifacts else [],
        is_talk=bool(status_event.data.get("is_talk")),
        usage=status_event.data.get("usage", {}),
    )


def read_event(event: PeerEvent) -> TaskEvent:
    """Copy an event."""
    return TaskEvent(event.pk, event.kind, peer_store.read(event), event.at)


ROLES = {"user": Role.ROLE_USER, "agent": Role.ROLE_AGENT}
NO_JSON = "There is something in a message that is not JSON: {why}"
NO_WORDS = "A message needs at least one word in its parts."
NOT_TEXT = "A file of the type {kind!r} is not understood here; text, CSV and JSON are."
NO_UTF8 = "The file {name!r} of the type {kind!r} is not text in UTF-8."
NO_LINKS = "A link to a file ({kind!r}) is not followed here; send what is in it."
NO_OUTPUT = "What comes of it is text or JSON here, and files of text; you take only {modes}."
FILE = "File {name} ({kind}): {content}"
TEXT_PREFIX, TEXT_TYPES = "text/", ("application/json", "application/xml", "application/yaml")
NO_ID = "A message needs an id of its own: messageId."
LONGEST_ID = 64
BAD_ID = "An id has at most 64 characters, all printable."
CHOICE, QUESTION, ORDER = "choice_id", "question", "order"
# Our state of a task: the protocol's.
STATES: dict[str, int] = {
    peer_store.WORKING: TaskState.TASK_STATE_WORKING,
    peer_store.INPUT_REQUIRED: TaskState.TASK_STATE_INPUT_REQUIRED,
    peer_store.AUTH_REQUIRED: TaskState.TASK_STATE_AUTH_REQUIRED,
    peer_store.COMPLETED: TaskState.TASK_STATE_COMPLETED,
    peer_store.FAILED: TaskState.TASK_STATE_FAILED,
    peer_store.CANCELED: TaskState.TASK_STATE_CANCELED,
}
ANSWER_TYPES = (peer_parts.TEXT, peer_parts.JSON)
STATE_NAMES = {number: word for word, number in STATES.items()}


def read_message(request: SendMessageRequest) -> Given:
    """Read a peer's message.

    Raises:
        A2AError: something in it is invalid or not supported.
    """
    message = request.message
    if not message.message_id:
        raise InvalidParamsError(NO_ID)
    for each in (message.message_id, message.context_id, message.task_id):
        if len(each) > LONGEST_ID or not each.isprintable():
            raise InvalidParamsError(BAD_ID)
    metadata = _plain(message.metadata)
    choice, question = metadata.get(CHOICE, ""), metadata.get(QUESTION, 0)
    text = "\n".join(filter(None, map(_text_of, message.parts))).strip()
    if not text and not choice:
        raise InvalidParamsError(NO_WORDS)
    modes = peer_parts.modes_of(request.configuration.accepted_output_modes)
    has_text = any(mode.startswith(TEXT_PREFIX) for mode in modes)
    if not (has_text or any(peer_parts.is_taken(kind, modes) for kind in ANSWER_TYPES)):
        raise ContentTypeNotSupportedError(NO_OUTPUT.format(modes=", ".join(modes)))
    # JSON in protobuf has floats only.
    is_number = isinstance(question, int | float) and question == int(question)
    return Given(
        id=message.message_id,
        text=text,
        context=message.context_id,
        # Only `true` itself: an order acts in the world, and a text such as "no" must not give one.
        is_order=metadata.get(ORDER) is True,
        choice=choice if isinstance(choice, str) else "",
        question=int(question) if is_number else 0,
        metadata=metadata,
        modes=tuple(modes),
    )


def _plain(sent: Struct | Value) -> Any:
    try:
        return MessageToDict(sent)
    # Protobuf can hold NaN and infinity, which JSON cannot.
    except ValueError as error:
        raise InvalidParamsError(NO_JSON.format(why=error)) from None


def _text_of(part: Part) -> str:
    kind = part.WhichOneof("content")
    if kind == "text":
        return str(part.text)
    if kind == "data":
        return json.dumps(_plain(part.data), ensure_ascii=False)
    if kind == "raw":
        return _file_text(part)
    if kind == "url":
        raise ContentTypeNotSupportedError(NO_LINKS.format(kind=part.media_type[:LONGEST_ID]))
    return ""


def _file_text(part: Part) -> str:
    """The text of a file, quoted, so that it cannot pose as the message around it."""
    media_type = part.media_type.partition(";")[0].strip().lower()[:LONGEST_ID]
    name = part.filename[:LONGEST_ID]
    if not (media_type.startswith(TEXT_PREFIX) or media_type in TEXT_TYPES):
        raise ContentTypeNotSupportedError(NOT_TEXT.format(kind=media_type))
    try:
        content = part.raw.decode("utf-8-sig")  # some editors write a byte order mark
    except UnicodeDecodeError:
        raise ContentTypeNotSupportedError(NO_UTF8.format(name=name, kind=media_type)) from None
    return FILE.format(name=quote(name), kind=media_type, content=quote(content))


def task_of(shown: TaskSnapshot, *, history: int | None = None) -> Task:
    """Build a task of the protocol.

    Args:
        history: the number of its last messages to include; None for all.
    """
    words = shown.words if history is None else shown.words[max(0, len(shown.words) - history) :]
    task = Task(
        id=shown.id,
        context_id=shown.context,
        status=_status(shown.state, shown.message, shown.at, shown.id, shown.context),
        history=[] if history == 0 else [_message(each, shown.id, shown.context) for each in words],
    )
    task.metadata.update({"number": shown.number})
    if shown.usage:
        task.metadata.update({"usage": dict(shown.usage)})
    task.artifacts.extend(map(_artifact, shown.made))
    return task


def message_of(shown: TaskSnapshot) -> Message:
    """Build the answer as a message, for a task that was answered with text alone."""
    assert shown.message is not None
    message = _message(shown.message, "", shown.context)
    message.metadata.update({"number": shown.number, "task": shown.id})
    if shown.usage:
        message.metadata.update({"usage": dict(shown.usage)})
    return message


def event_of(shown: TaskSnapshot, event: TaskEvent) -> Event:
    """Build an event of the protocol."""
    if event.kind == peer_store.ARTIFACT:
        return TaskArtifactUpdateEvent(
            task_id=shown.id,
            context_id=shown.context,
            artifact=_artifact(event.data),
            last_chunk=True,
        )
    message = event.data.get("message")
    status = _status(str(event.data["state"]), message, event.at, shown.id, shown.context)
    return TaskStatusUpdateEvent(task_id=shown.id, context_id=shown.context, status=status)


def push_payload(shown: TaskSnapshot, event: TaskEvent) -> dict[str, Any]:
    """Build the JSON body that a webhook is sent for an event."""
    update = event_of(shown, event)
    is_status = isinstance(update, TaskStatusUpdateEvent)
    name = "status_update" if is_status else "artifact_update"
    return dict(MessageToDict(StreamResponse(**{name: update})))


def _status(
    state: str, message: Mapping[str, object] | None, at: float, task: str, context: str
) -> TaskStatus:
    status = TaskStatus(state=STATES[state], timestamp=datetime.fromtimestamp(at, UTC))
    if message is not None:
        status.message.CopyFrom(_message(message, task, context))
    return status


def _message(stored: Mapping[str, Any], task: str, context: str) -> Message:
    parts = [Part(text=stored["text"])] if stored["text"] else []
    result = Message(
        message_id=stored["id"],
        role=ROLES[stored["role"]],
        task_id=task,
        context_id=context,
        parts=parts,
    )
    if stored.get("data"):
        part = Part(media_type="application/json")
        ParseDict(stored["data"], part.data)
        result.parts.append(part)
    if stored.get("metadata"):
        result.metadata.update(stored["metadata"])
    return result


def _artifact(stored: Mapping[str, Any]) -> Artifact:
    artifact = Artifact(artifact_id=stored["id"], name=stored.get("name", stored["id"]))
    # Rows of older versions have a text instead of parts.
    artifact.parts.extend(map(_part, stored.get("parts") or [{"text": stored["text"]}]))
    return artifact


def _part(stored: Mapping[str, Any]) -> Part:
    """Build a part of an artifact; `tasks.peer_parts` defines the stored shapes."""
    if "text" in stored:
        return Part(text=stored["text"])
    if "data" in stored:
        part = Part(media_type=peer_parts.JSON)
        ParseDict(stored["data"], part.data)
        return part
    file = stored["file"]
    part = Part(filename=file["name"], media_type=file["type"])
    if "url" in file:
        part.url = file["url"]
    else:
        part.raw = peer_parts.bytes_of(file)
    return part


def hook_of(config: TaskPushNotificationConfig, key: str) -> dict[str, str]:
    """Read a webhook; `key` is its name if the peer gave none."""
    return {
        "key": config.id or key,
        "url": config.url,
        "token": config.token,
        "scheme": config.authentication.scheme,
        "credentials": config.authentication.credentials,
    }


def config_of(task: str, hook: Mapping[str, str]) -> TaskPushNotificationConfig:
    """Build a webhook of the protocol, without its credentials, which are never sent back."""
    result = TaskPushNotificationConfig(
        id=hook["key"], task_id=task, url=hook["url"], token=hook["token"]
    )
    if hook["scheme"]:
        result.authentication.CopyFrom(AuthenticationInfo(scheme=hook["scheme"]))
    return result


def configs_of(task: str, hooks: Iterable[Mapping[str, str]]) -> list[TaskPushNotificationConfig]:
    """Build several webhooks of the protocol."""
    return [config_of(task, hook) for hook in hooks]
