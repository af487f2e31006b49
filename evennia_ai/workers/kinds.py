"""The work of workers: pure functions, and the formats of their input and output.

A memory is named by its key and a digest of its text, so that the text is stored in one place. The
words of a model request are in the row until a worker is done with them; the API key never is: a
worker has it from its own settings.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from django.utils.crypto import salted_hmac

from evennia_ai.errors import (
    ContextLengthError,
    MemoryStoreError,
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelStatusError,
    ReplyTooLargeError,
)
from evennia_ai.memory_store.port import Item
from evennia_ai.memory_store.vectors import Vector
from evennia_ai.workers.port import (
    NotBegunError,
    PoisonError,
    UnsentError,
    WorkerError,
    WorkerLostError,
)

EMBED, ASK = "embed", "ask"
CHANGED = "memories changed while their vectors were made"
OTHER_MODEL = "a worker has the embedding model {theirs}, and the game {ours}; start it anew"
NO_KEY = (
    "a worker has no key for {place}: give it the settings and the environment that the game has"
)
LOST = "the worker that was at it ended without a word; it may have been charged for"
POISON = "it ended {count} workers, the last one without a word, and is not tried again"
# Errors of a model's reply, by the name that a result has for them.
_REPLIES = {"large": ReplyTooLargeError, "reply": ModelReplyError}


class JobTools(Protocol):
    """The resources that a worker's jobs need.

    Attributes:
        signature: of its embedding model.
    """

    signature: str

    async def texts(self, keys: Sequence[str]) -> dict[str, str]:
        """The texts of memories that are not forgotten, by key."""

    async def vectors(self, texts: Sequence[str]) -> Any:
        """Their vectors: float32, shape (texts, dimensions)."""

    def has_key(self, base_url: str, mark: str) -> bool:
        """True where it has the API key of that mark for an address; "": none is needed."""

    async def send(
        self, base_url: str, mark: str, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        """Send a request to a model with that key, and return the answer."""


def key_mark(key: str) -> str:
    """A mark by which a worker with the game's settings recognises an API key of its own."""
    return str(salted_hmac("evennia_ai.workers", key).hexdigest()[:16])


class UndoneError(Exception):
    """A job that cannot be done and was not begun: nothing was sent. The text says why."""


def digest(text: str) -> str:
    """A short digest of a text, to notice that it changed."""
    # A lone surrogate, which UTF-8 refuses, must not fail a job.
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class UnfitError(UndoneError):
    """This worker is not set up for the job; another may be."""


# ---- vectors -----------------------------------------------------------------------------------


def embed_given(signature: str, items: Sequence[Item]) -> bytes:
    """The input of a job that makes vectors."""
    memories = [[item.key, digest(item.text)] for item in items]
    return json.dumps({"signature": signature, "memories": memories}).encode()


async def embed(given: bytes, tools: JobTools) -> bytes:
    """Make the vectors of memories; returns them one after the other, as float32.

    Raises:
        UndoneError: the embedding model differs, or a memory changed.
        MemoryStoreError: the vectors could not be made.
    """
    job = json.loads(given)
    if job["signature"] != tools.signature:
        raise UnfitError(OTHER_MODEL.format(theirs=tools.signature, ours=job["signature"]))
    words = await tools.texts([key for key, _ in job["memories"]])
    # A forgotten memory has no text, and so another digest.
    texts = [words.get(key, "") for key, _ in job["memories"]]
    pairs = zip(texts, job["memories"], strict=True)
    if any(digest(text) != mark for text, (_, mark) in pairs):
        raise UndoneError(CHANGED)
    array = np.ascontiguousarray(await tools.vectors(texts), dtype=np.float32)
    return array.tobytes()


def vectors(result: bytes, count: int) -> list[Vector]:
    """The vectors that a worker wrote.

    Raises:
        MemoryStoreError: they are not as many as were asked for.
    """
    if not count or not result or len(result) % (4 * count):
        raise MemoryStoreError(f"a worker gave no {count} vectors")
    return list(np.frombuffer(result, np.float32).reshape(count, -1))


# ---- requests to a model -----------------------------------------------------------------------


def ask_given(base_url: str, mark: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """The input of a job that asks a model.

    Args:
        mark: of the API key to use, "" for none; see `key_mark`.
        headers: those that hold no secret.
    """
    head = {"base_url": base_url, "mark": mark, "headers": dict(headers)}
    # JSON escapes line breaks, so the first one ends the head.
    return json.dumps(head).encode() + b"\n" + body


async def ask(given: bytes, tools: JobTools) -> bytes:
    """Ask a model, and return its answer as it came.

    Raises:
        UndoneError: this worker has no key for it.
        ModelError: the service failed.
    """
    first, _, body = given.partition(b"\n")
    head = json.loads(first)
    place, mark = head["base_url"], head["mark"]
    if not tools.has_key(place, mark):
        raise UnfitError(NO_KEY.format(place=place))
    return await tools.send(place, mark, head["headers"], body)


KINDS: dict[str, Callable[[bytes, JobTools], Awaitable[bytes]]] = {EMBED: embed, ASK: ask}


# ---- what went wrong ---------------------------------------------------------------------------


def poison(count: int) -> bytes:
    """The result of a job that ended every worker which began it."""
    return _error_result("poison", POISON.format(count=count))


def lost() -> bytes:
    """The result of a job whose worker ended when it may have been charged for."""
    return _error_result("lost", LOST)


def failure(error: Exception) -> bytes:
    """An error as a result."""
    text = str(error)
    if isinstance(error, ModelStatusError):
        kind = "context" if isinstance(error, ContextLengthError) else "status"
        return _error_result(
            kind,
            text,
            status=error.status,
            retry_after=error.retry_after,
            is_used_up=error.is_used_up,
            is_of_answer=error.is_of_answer,
        )
    if isinstance(error, ModelConnectionError):
        return _error_result("connection", text, was_sent=error.was_sent)
    if isinstance(error, UndoneError):
        return _error_result("unsent", text)
    replies = (kind for kind, known in _REPLIES.items() if isinstance(error, known))
    if (reply := next(replies, "")) or isinstance(error, MemoryStoreError):
        return _error_result(reply or "undone", text)
    # Not the text of an unexpected error, which may quote words of the request.
    return _error_result("undone", f"a worker met a bug ({type(error).__name__})")


def _error_result(kind: str, text: str, **more: object) -> bytes:
    return json.dumps({"kind": kind, "text": text, **more}).encode()


def text_of(result: bytes) -> str:
    """The text of an error result."""
    return str(json.loads(result)["text"])


def store_error(result: bytes, *, is_begun: bool = True) -> MemoryStoreError:
    """The error of a job that was to make vectors.

    Args:
        is_begun: whether an earlier worker may have sent something.
    """
    fields = json.loads(result)
    kind, error_class = fields["kind"], MemoryStoreError
    if kind == "poison":
        error_class = PoisonError
    elif kind == "unsent" and not is_begun:
        error_class = NotBegunError
    return error_class(fields["text"])


def model_error(result: bytes, *, is_begun: bool = True) -> ModelError:
    """The error of a job that was to ask a model, as the game itself would have met it.

    Args:
        is_begun: whether an earlier worker may have sent something.
    """
    fields = json.loads(result)
    kind, text = fields["kind"], fields["text"]
    if kind == "context":
        return ContextLengthError(fields["status"], text)
    if kind == "status":
        return ModelStatusError(
            fields["status"],
            text,
            retry_after=fields["retry_after"],
            is_used_up=fields["is_used_up"],
            is_of_answer=fields.get("is_of_answer", False),  # a worker of before has none
        )
    if kind == "connection":
        return ModelConnectionError(text, was_sent=fields["was_sent"])
    if kind == "lost":
        return WorkerLostError(text, was_sent=True)
    if kind == "unsent" and not is_begun:
        return UnsentError(text)
    return _REPLIES.get(kind, WorkerError)(text)
