"""Messages of the protocol, from what the game knows and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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

from evennia_ai.api.a2a.snapshots import Happening, TaskSnapshot
from evennia_ai.core.text.cleaning import quote
from evennia_ai.operations.peers.tasks import Given
from evennia_ai.tasks import peer_parts, peer_store

ROLES = {"user": Role.ROLE_USER, "agent": Role.ROLE_AGENT}
NO_JSON = "There is something in a message that is not JSON: {why}"
NO_WORDS = "A message needs at least one word in its parts."
NOT_TEXT = "A file of the type {kind!r} is not understood here; text, CSV and JSON are."
NO_UTF8 = "The file {name!r} of the type {kind!r} is not text in UTF-8."
NO_LINKS = "A link to a file ({kind!r}) is not followed here; send what is in it."
NO_OUTPUT = "What comes of it is text or JSON here, and files of text; you take only {modes}."
FILE = "File {name} ({kind}): {content}"
FAMILY, OTHERS = "text/", ("application/json", "application/xml", "application/yaml")
NO_ID = "A message needs an id of its own: messageId."
LONGEST_ID = 64
BAD_ID = "An id has at most 64 characters, all printable."
CHOICE, QUESTION, ORDER = "choice_id", "question", "order"
# How a task stands, by the protocol's number and by our word.
STATES: dict[str, int] = {
    peer_store.WORKING: TaskState.TASK_STATE_WORKING,
    peer_store.INPUT_REQUIRED: TaskState.TASK_STATE_INPUT_REQUIRED,
    peer_store.AUTH_REQUIRED: TaskState.TASK_STATE_AUTH_REQUIRED,
    peer_store.COMPLETED: TaskState.TASK_STATE_COMPLETED,
    peer_store.FAILED: TaskState.TASK_STATE_FAILED,
    peer_store.CANCELED: TaskState.TASK_STATE_CANCELED,
}
MADE = (peer_parts.TEXT, peer_parts.JSON)
WORDS = {number: word for word, number in STATES.items()}


def given_of(request: SendMessageRequest) -> Given:
    """A peer's message as the game takes it.

    Raises:
        A2AError: there is something in it that nobody can do anything with.
    """
    message = request.message
    if not message.message_id:
        raise InvalidParamsError(NO_ID)
    for each in (message.message_id, message.context_id, message.task_id):
        if len(each) > LONGEST_ID or not each.isprintable():
            raise InvalidParamsError(BAD_ID)
    metadata = _plain(message.metadata)
    choice, question = metadata.get(CHOICE, ""), metadata.get(QUESTION, 0)
    text = "\n".join(filter(None, map(_words_of, message.parts))).strip()
    if not text and not choice:
        raise InvalidParamsError(NO_WORDS)
    modes = peer_parts.modes_of(request.configuration.accepted_output_modes)
    if not any(peer_parts.is_taken(kind, modes) for kind in MADE) and not _has_text(modes):
        raise ContentTypeNotSupportedError(NO_OUTPUT.format(modes=", ".join(modes)))
    is_number = isinstance(question, int | float) and question == int(question)
    return Given(
        message.message_id,
        text,
        message.context_id,
        metadata.get(ORDER) is True,
        choice if isinstance(choice, str) else "",
        int(question) if is_number else 0,
        metadata,
        tuple(modes),
    )


def _plain(sent: Struct | Value) -> Any:
    """JSON that a peer sent."""
    try:
        return MessageToDict(sent)
    except ValueError as error:
        raise InvalidParamsError(NO_JSON.format(why=error)) from None


def _has_text(modes: Iterable[str]) -> bool:
    return any(mode.startswith(FAMILY) for mode in modes)


def _words_of(part: Part) -> str:
    kind = part.WhichOneof("content")
    if kind == "text":
        return str(part.text)
    if kind == "data":
        return json.dumps(_plain(part.data), ensure_ascii=False)
    if kind == "raw":
        return _file_of(part)
    if kind == "url":
        raise ContentTypeNotSupportedError(NO_LINKS.format(kind=part.media_type[:LONGEST_ID]))
    return ""


def _file_of(part: Part) -> str:
    """The text of a file, quoted, so that nothing in it passes for words beside it."""
    given = part.media_type.partition(";")[0].strip().lower()[:LONGEST_ID]
    name = part.filename[:LONGEST_ID]
    if not (given.startswith(FAMILY) or given in OTHERS):
        raise ContentTypeNotSupportedError(NOT_TEXT.format(kind=given))
    try:
        content = part.raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ContentTypeNotSupportedError(NO_UTF8.format(name=name, kind=given)) from None
    return FILE.format(name=quote(name), kind=given, content=quote(content))


def task_of(shown: TaskSnapshot, *, history: int | None = None) -> Task:
    """A task as the protocol has it.

    Args:
        history: how many messages of it, the last ones; None: all.
    """
    words = shown.words if history is None else shown.words[len(shown.words) - history :]
    made = Task(
        id=shown.id,
        context_id=shown.context,
        status=_status(shown.state, shown.message, shown.at, shown.id, shown.context),
        history=[] if history == 0 else [_message(each, shown.id, shown.context) for each in words],
    )
    made.metadata.update({"number": shown.number})
    if shown.usage:
        made.metadata.update({"usage": dict(shown.usage)})
    made.artifacts.extend(map(_artifact, shown.made))
    return made


def message_of(shown: TaskSnapshot) -> Message:
    """The answer alone: mere words, for which there was nothing to follow."""
    assert shown.message is not None
    made = _message(shown.message, "", shown.context)
    made.metadata.update({"number": shown.number, "task": shown.id})
    if shown.usage:
        made.metadata.update({"usage": dict(shown.usage)})
    return made


def event_of(shown: TaskSnapshot, told: Happening) -> Event:
    """Something that happened to a task as the protocol has it."""
    if told.kind == peer_store.ARTIFACT:
        return TaskArtifactUpdateEvent(
            task_id=shown.id,
            context_id=shown.context,
            artifact=_artifact(told.data),
            last_chunk=True,
        )
    message = told.data.get("message")
    status = _status(str(told.data["state"]), message, told.at, shown.id, shown.context)
    return TaskStatusUpdateEvent(task_id=shown.id, context_id=shown.context, status=status)


def told_of(shown: TaskSnapshot, told: Happening) -> dict[str, Any]:
    """The same as an address is told."""
    event = event_of(shown, told)
    is_status = isinstance(event, TaskStatusUpdateEvent)
    name = "status_update" if is_status else "artifact_update"
    return dict(MessageToDict(StreamResponse(**{name: event})))


def _status(
    state: str, message: Mapping[str, object] | None, at: float, task: str, context: str
) -> TaskStatus:
    made = TaskStatus(state=STATES[state], timestamp=datetime.fromtimestamp(at, UTC))
    if message is not None:
        made.message.CopyFrom(_message(message, task, context))
    return made


def _message(kept: Mapping[str, Any], task: str, context: str) -> Message:
    parts = [Part(text=kept["text"])] if kept["text"] else []
    made = Message(
        message_id=kept["id"],
        role=ROLES[kept["role"]],
        task_id=task,
        context_id=context,
        parts=parts,
    )
    if kept.get("data"):
        part = Part(media_type="application/json")
        ParseDict(kept["data"], part.data)
        made.parts.append(part)
    if kept.get("metadata"):
        made.metadata.update(kept["metadata"])
    return made


def _artifact(told: Mapping[str, Any]) -> Artifact:
    made = Artifact(artifact_id=told["id"], name=told.get("name", told["id"]))
    # Those of before had a text, and no parts.
    made.parts.extend(map(_part, told.get("parts") or [{"text": told["text"]}]))
    return made


def _part(kept: Mapping[str, Any]) -> Part:
    """A part of something made; the shapes stand in `tasks.peer_parts`."""
    if "text" in kept:
        return Part(text=kept["text"])
    if "data" in kept:
        made = Part(media_type=peer_parts.JSON)
        ParseDict(kept["data"], made.data)
        return made
    file = kept["file"]
    made = Part(filename=file["name"], media_type=file["type"])
    if "url" in file:
        made.url = file["url"]
    else:
        made.raw = peer_parts.bytes_of(file)
    return made


def hook_of(config: TaskPushNotificationConfig, key: str) -> dict[str, str]:
    """An address as the game keeps it."""
    return {
        "key": config.id or key,
        "url": config.url,
        "token": config.token,
        "scheme": config.authentication.scheme,
        "credentials": config.authentication.credentials,
    }


def config_of(task: str, hook: Mapping[str, str]) -> TaskPushNotificationConfig:
    """An address as the protocol has it; its credentials are not told again."""
    made = TaskPushNotificationConfig(
        id=hook["key"], task_id=task, url=hook["url"], token=hook["token"]
    )
    if hook["scheme"]:
        made.authentication.CopyFrom(AuthenticationInfo(scheme=hook["scheme"]))
    return made


def configs_of(task: str, hooks: Iterable[Mapping[str, str]]) -> list[TaskPushNotificationConfig]:
    """Several of them."""
    return [config_of(task, hook) for hook in hooks]
