"""Jobs as they are written into rows: vectors, requests, and each kind of failure."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from evennia_ai.errors import (
    ContextLengthError,
    MemoryStoreError,
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelStatusError,
    ReplyTooLargeError,
)
from evennia_ai.llm.payments import may_be_charged
from evennia_ai.memory_store.port import Item
from evennia_ai.workers import kinds
from evennia_ai.workers.port import NotBegunError, PoisonError, WorkerError, WorkerLostError

ITEMS = [Item("a" * 32, "a boat", "room:object-2"), Item("b" * 32, "a crate", "room:object-2")]


class OwnHands:
    """A worker's hands that work on given words."""

    signature = "plain/2"

    def __init__(self, words: Mapping[str, str]) -> None:
        self.words = dict(words)
        self.sent: list[tuple[object, ...]] = []

    async def texts(self, keys: Sequence[str]) -> dict[str, str]:
        return {key: self.words[key] for key in keys if key in self.words}

    async def vectors(self, texts: Sequence[str]) -> Any:
        """The length of each text, and 1."""
        return np.array([[len(text), 1.0] for text in texts], np.float64)

    def has_key(self, base_url: str, mark: str) -> bool:
        return mark in ("", "mine")

    async def send(
        self, base_url: str, mark: str, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        self.sent.append((base_url, mark, dict(headers), body))
        return b"an answer"


def embed(hands: OwnHands, given: bytes) -> bytes:
    """Run one job that makes vectors."""
    return asyncio.run(kinds.embed(given, hands))


def test_vectors_come_back_in_the_order_of_memories() -> None:
    """They are float32, whatever the model gives."""
    hands = OwnHands({item.key: item.text for item in ITEMS})
    vectors = kinds.vectors(embed(hands, kinds.embed_given("plain/2", ITEMS)), 2)
    assert [[6.0, 1.0], [7.0, 1.0]] == [vector.tolist() for vector in vectors]
    assert {np.dtype(np.float32)} == {vector.dtype for vector in vectors}


def test_no_word_of_a_memory_stands_in_its_job() -> None:
    """A memory is named by its key and a digest."""
    assert b"boat" not in kinds.embed_given("plain/2", ITEMS)


def test_a_memory_that_changed_or_was_forgotten_gets_no_vector() -> None:
    """The whole portion fails, and the server asks again."""
    given = kinds.embed_given("plain/2", ITEMS)
    changed = {item.key: item.text for item in ITEMS} | {ITEMS[0].key: "another boat"}
    for words in (changed, {ITEMS[0].key: ITEMS[0].text}):
        with pytest.raises(kinds.UndoneError, match="changed"):
            embed(OwnHands(words), given)


def test_another_embedding_model_makes_none() -> None:
    with pytest.raises(kinds.UndoneError, match="plain/2, and the game other/2"):
        embed(OwnHands({}), kinds.embed_given("other/2", ITEMS))


@pytest.mark.parametrize("result", [b"", b"1234567", b"12345678" * 2 + b"1234"])
def test_what_is_no_vectors_is_refused(result: bytes) -> None:
    with pytest.raises(MemoryStoreError, match="no 2 vectors"):
        kinds.vectors(result, 2)


def test_a_request_goes_out_as_it_was_written() -> None:
    """Its body may hold anything, including line ends."""
    hands = OwnHands({})
    given = kinds.ask_given("http://m/v1", "mine", {"X-Title": "t"}, b'{"a":\n1}')
    assert b"an answer" == asyncio.run(kinds.ask(given, hands))
    assert [("http://m/v1", "mine", {"X-Title": "t"}, b'{"a":\n1}')] == hands.sent


def test_without_the_key_nothing_is_sent() -> None:
    hands = OwnHands({})
    with pytest.raises(kinds.UndoneError, match="no key for http://m/v1"):
        asyncio.run(kinds.ask(kinds.ask_given("http://m/v1", "other", {}, b"{}"), hands))
    assert [] == hands.sent


@pytest.mark.parametrize(
    "error",
    [
        ModelStatusError(429, "busy", retry_after=3.0),
        ModelStatusError(429, "empty", is_used_up=True),
        ModelStatusError(401, "no"),
        ModelStatusError(502, "down", is_of_answer=True),
        ContextLengthError(400, "too long"),
        ModelConnectionError("gone", was_sent=True),
        ModelConnectionError("nobody"),
        ReplyTooLargeError("large"),
        ModelReplyError("odd"),
    ],
    ids=lambda error: f"{type(error).__name__} {error}",
)
def test_an_error_of_a_model_is_the_same_on_the_other_side(error: ModelError) -> None:
    """Its fields decide on a retry, on blame for the service, and on the charge."""
    read = kinds.model_error(kinds.failure(error))
    assert type(error) is type(read)
    assert (str(error), vars(error)) == (str(read), vars(read))


def test_what_went_wrong_with_a_worker_blames_no_model() -> None:
    """A bug is told by its name alone, as its text may quote private words."""
    undone = kinds.model_error(kinds.failure(kinds.UndoneError("why not")))
    bug = kinds.model_error(kinds.failure(RuntimeError("whispered words")))
    assert ("why not", "a worker met a bug (RuntimeError)") == (str(undone), str(bug))
    assert {WorkerError} == {type(undone), type(bug)}
    assert not undone.blames_service
    lost = kinds.model_error(kinds.lost())
    assert isinstance(lost, WorkerLostError)
    assert (True, True, False) == (lost.retryable, lost.was_sent, lost.blames_service)


def test_what_was_not_sent_costs_nothing() -> None:
    """It may cost something if an earlier worker may have sent it."""
    unsent = kinds.failure(kinds.UnfitError("no key"))
    assert not may_be_charged(kinds.model_error(unsent, is_begun=False))
    assert may_be_charged(kinds.model_error(unsent, is_begun=True))
    assert isinstance(kinds.store_error(unsent, is_begun=False), NotBegunError)
    assert type(kinds.store_error(unsent, is_begun=True)) is MemoryStoreError
    bug = kinds.failure(RuntimeError("anything"))
    assert may_be_charged(kinds.model_error(bug, is_begun=False))


def test_what_ends_every_worker_is_told_apart() -> None:
    """Such a portion must not be asked for again as a whole."""
    assert isinstance(kinds.store_error(kinds.poison(3)), PoisonError)
    assert PoisonError is not type(kinds.store_error(kinds.failure(MemoryStoreError("down"))))


def test_a_key_is_known_by_a_mark_that_does_not_tell_it() -> None:
    assert kinds.key_mark("sk-1") == kinds.key_mark("sk-1") != kinds.key_mark("sk-2")
    assert "sk" not in kinds.key_mark("sk-1")
