"""The contract of all memory stores, run on each: dictionary, table, and servers."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qdrant_client import QdrantClient

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store import qdrant_server
from evennia_ai.memory_store.hashing import HashingEmbedder
from evennia_ai.memory_store.mem0_store import Mem0Store
from evennia_ai.memory_store.port import Item, MemoryQuery
from tests.memory.store_support import (
    CASTLE,
    LAMP,
    MIA,
    OTHER,
    ROOM,
    SMITH,
    TOM,
    WORLD,
    DictStore,
    InStep,
    found_keys,
    item,
    key,
    opened,
    sought,
)

QDRANT_URL = os.environ.get("QDRANT_URL", "")
NO_AUDIENCES = (
    "*",
    "AND",
    "OR",
    "",
    "world ",
    "World",
    "person:*",
    "person:Tom the Smith",
    "person:account-3' OR '1'='1",
    "room:object-2\nworld",
    "room:object-2}",
    '{"in": ["world"]}',
    {"in": ["person:account-3"]},
    {"ne": "x"},
    ["world"],
    None,
    3,
)
EVERYBODY = (WORLD, ROOM, OTHER, TOM, MIA)
Step = tuple[str, int, str, str, float]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "search", "drop"]),
        st.integers(0, 5),
        st.sampled_from([SMITH, LAMP, CASTLE]),
        st.sampled_from(EVERYBODY),
        st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    ),
    max_size=14,
)


def apply(step: Step, store: Any, model: dict[str, Item]) -> None:
    """Do the same to a store and to the dictionary it is compared with."""
    act, number, text, audience, trust = step
    if act == "add":
        model[key(number)] = item(number, text, audience, trust)
        store.add(1, [model[key(number)]])
    elif act == "remove":
        model.pop(key(number), None)
        store.remove(1, [key(number)])
    elif act == "drop" and number == 0:
        model.clear()
        store.drop(1)


class AwayEmbedder(HashingEmbedder):
    """A paid model that does not answer; how long its vectors are, only its answer tells."""

    @property
    def dimensions(self) -> int:  # type: ignore[override]
        """Not known."""
        raise MemoryStoreError("the model is away")


class Contract:
    """A subclass names a kind of store by its fixture `store`; the collection 1 is empty."""

    def test_finds_by_likeness(self, store: Any) -> None:
        store.add(1, [item(1), item(2, LAMP), item(3, CASTLE)])
        assert [key(1)] == found_keys(store, "who owes the smith gold?", limit=1)
        assert key(2) == found_keys(store, "which lamp went out")[0]
        hits = store.search(sought(SMITH, limit=3))
        assert hits == sorted(hits, key=lambda hit: -hit.similarity)
        assert 0.99 < hits[0].meaning <= 1.0
        assert all(0.0 < hit.similarity <= 1.0 for hit in hits)

    def test_tells_nobody_what_is_for_others(self, store: Any) -> None:
        store.add(1, [item(n, SMITH, audience) for n, audience in enumerate(EVERYBODY, 1)])
        for number, audience in enumerate(EVERYBODY, 1):
            assert [key(number)] == found_keys(store, SMITH, audience)
        assert {key(1), key(4)} == set(found_keys(store, SMITH, WORLD, TOM))
        assert [] == store.search(MemoryQuery(1, SMITH, (), 5))
        assert [] == found_keys(store, SMITH, "person:account-99")

    def test_refuses_what_is_no_audience(self, store: Any) -> None:
        """No text that a filter could interpret may pass as an audience."""
        store.add(1, [item(1, SMITH, TOM)])
        for wrong in NO_AUDIENCES:
            with pytest.raises(ValueError, match="not an audience"):
                store.search(MemoryQuery(1, SMITH, (WORLD, wrong), 5))  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="not an audience"):
                store.add(1, [Item(key(2), SMITH, wrong)])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="list of audiences"):
            store.search(MemoryQuery(1, SMITH, WORLD, 5))  # type: ignore[arg-type]
        assert {key(1)} == store.keys(1)

    def test_refuses_what_is_no_key_and_no_id(self, store: Any) -> None:
        for wrong in ("", "tom", "*", key(1).upper() + "A", "../../etc", key(1)[:-1]):
            with pytest.raises(ValueError, match="not the key"):
                store.add(1, [Item(wrong, SMITH, WORLD)])
        for bad in (0, -1, True, "1", "1 OR 1", None):
            with pytest.raises(ValueError, match="not an assistant's id"):
                store.search(MemoryQuery(bad, SMITH, (WORLD,), 5))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="from 0 to 1"):
            store.add(1, [item(1, trust=1.5)])

    def test_trust_is_a_bound(self, store: Any) -> None:
        store.add(1, [item(n, f"{SMITH} {n}", WORLD, n / 10) for n in range(11)])
        assert {key(n) for n in (7, 8, 9, 10)} == set(found_keys(store, SMITH, min_trust=0.7))
        assert 11 == len(found_keys(store, SMITH, limit=20))

    def test_the_same_key_is_the_same_memory(self, store: Any) -> None:
        """Adding it again replaces its text, audience and trust."""
        store.add(1, [item(1), item(1, LAMP, TOM, 0.4)])
        store.add(1, [item(1, CASTLE, ROOM, 0.6), item(2)])
        store.add(1, [item(1, CASTLE, ROOM, 0.6)])
        assert {key(1), key(2)} == store.keys(1)
        assert [] == found_keys(store, LAMP, TOM)
        assert [key(1)] == found_keys(store, CASTLE, ROOM, min_trust=0.6)
        assert [] == found_keys(store, CASTLE, ROOM, min_trust=0.7)

    def test_forgets(self, store: Any) -> None:
        store.add(1, [item(n, f"{SMITH} and {n}") for n in range(1, 9)])
        store.remove(1, [key(1), key(8), key(99), "nonsense"])
        store.remove(1, [])
        store.remove(7, [key(1)])
        left = {key(n) for n in range(2, 8)}
        assert left == store.keys(1) == set(found_keys(store, SMITH))

    def test_assistants_are_apart(self, store: Any) -> None:
        """The numbers 1, 12 and 121 must not be mixed up by a prefix."""
        for collection in (1, 12, 121):
            store.add(collection, [item(collection)])
        store.drop(1)
        assert set() == store.keys(1)
        assert [] == found_keys(store, SMITH)
        assert {key(12)} == store.keys(12)
        assert {key(121)} == store.keys(121)
        store.drop(1)
        store.add(1, [item(4)])
        assert [key(4)] == found_keys(store, SMITH)

    def test_nothing_is_not_an_error(self, store: Any) -> None:
        assert [] == found_keys(store, SMITH)
        assert set() == store.keys(1)
        store.add(1, [])
        store.add(1, [item(1)])
        assert [] == found_keys(store, "  \n ")
        assert [] == found_keys(store, SMITH, limit=0)

    def test_takes_any_text(self, store: Any) -> None:
        texts = ["*", "AND", "'; DROP TABLE a1; --", "日本語のランプ", "\0\ud800 x", "", "w" * 9000]
        store.add(1, [item(n, text) for n, text in enumerate(texts, 1)])
        for text in texts:
            assert set(found_keys(store, text)) <= {key(n) for n in range(1, 8)}
        assert key(4) == found_keys(store, "日本語のランプ")[0]
        assert 7 == len(store.keys(1))

    def test_behaves_like_a_dictionary(self, store: Any) -> None:
        @settings(max_examples=12)
        @given(STEPS)
        def follow(steps: list[Step]) -> None:
            store.drop(1)
            model: dict[str, Item] = {}
            for step in steps:
                apply(step, store, model)
                text, audience, trust = step[2:]
                same = [
                    each.key
                    for each in model.values()
                    if each.text == text and each.audience == audience and each.trust >= trust
                ]
                hits = store.search(sought(text, audience, limit=9, min_trust=trust))
                assert sorted(same) == sorted(hit.key for hit in hits if (hit.meaning or 0) > 0.99)
                assert set(model) == store.keys(1)

        follow()


class TestOverADictionary(Contract):
    """The embedded store over a dictionary."""

    @pytest.fixture
    def store(self) -> Iterator[Any]:
        store = DictStore()
        yield store
        store.close()


class TestEmbedded(Contract):
    """Vectors in the game's own table."""

    @pytest.fixture
    def store(self, table: None, tmp_path: Path) -> Iterator[Any]:
        store = InStep(opened("inline", tmp_path))
        yield store
        store.close()


def emptied(store: Mem0Store) -> InStep:
    """Return a store on a server without the memories of earlier tests."""
    result = InStep(store)
    for collection in (1, 12, 121):
        result.drop(collection)
    return result


class TestPgvector(Contract):
    """mem0's own provider on a real PostgreSQL with pgvector."""

    @pytest.fixture
    def store(self, table: None, tmp_path: Path, postgres: str) -> Iterator[Any]:
        store = emptied(opened("pgvector", tmp_path, postgres))
        yield store
        store.close()


class TestQdrantInThisProcess(Contract):
    """mem0's own provider on Qdrant's client, which keeps the points itself."""

    @pytest.fixture
    def store(self, table: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
        local = QdrantClient(":memory:")
        monkeypatch.setattr(qdrant_server, "QdrantClient", lambda **_: local)
        store = emptied(opened("qdrant", tmp_path, "http://127.0.0.1:6333"))
        yield store
        store.close()

    def test_a_collection_is_used_without_asking_the_model(
        self, store: Any, tmp_path: Path
    ) -> None:
        """After a restart: it may cost money, and what was forgotten has to go while it is down."""
        store.add(1, [item(1), item(2)])
        again = opened("qdrant", tmp_path, "http://127.0.0.1:6333", AwayEmbedder())
        again.remove(1, [key(1)])
        assert {key(2)} == again.keys(1)
        again.drop(1)
        assert set() == again.keys(1)


class OnQdrantServer(Contract):
    """mem0's own provider on a real Qdrant server."""

    @pytest.fixture
    def store(self, table: None, tmp_path: Path) -> Iterator[Any]:
        store = emptied(opened("qdrant", tmp_path, QDRANT_URL))
        yield store
        store.close()


if QDRANT_URL:
    TestQdrantServer = OnQdrantServer
else:

    @pytest.mark.skip(reason="QDRANT_URL names no Qdrant server: that store is NOT tested here")
    def test_qdrant_server() -> None:
        """Stands for the contract on a Qdrant server."""
