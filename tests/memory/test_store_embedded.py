"""The embedded store: vectors in the game's own table, and the index in memory."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db import DatabaseError, OperationalError, ProgrammingError, connection
from mem0.vector_stores.base import VectorStoreBase

from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store import index as indexes
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.hashing import HashingEmbedder
from evennia_ai.memory_store.index import Index
from evennia_ai.memory_store.mem0_parts import GameVectors, RefusingModel, SearchParts, read_filters
from evennia_ai.memory_store.mem0_store import TableVectors
from evennia_ai.memory_store.port import MemoryQuery
from evennia_ai.memory_store.table import Table
from evennia_ai.models import Memory, MemoryVector
from tests.memory.store_support import (
    CASTLE,
    LAMP,
    SMITH,
    TOM,
    WORLD,
    InStep,
    found_keys,
    item,
    key,
    opened,
    sought,
)


class OtherEmbedder(HashingEmbedder):
    """A model with another signature."""

    signature = "hashing-other/384"


class ShorterEmbedder(HashingEmbedder):
    """A model of the same signature whose vectors are shorter."""

    dimensions = 100

    def embed_query(self, text: str) -> object:
        return super().embed_query(text)[:100]

    def embed_passages(self, texts: object) -> object:
        return super().embed_passages(texts)[:, :100]  # type: ignore[arg-type]


@pytest.fixture
def store(table: None, tmp_path: Path) -> Iterator[InStep]:
    """A new store with its table."""
    result = InStep(opened("inline", tmp_path))
    yield result
    result.close()


def reopened(tmp_path: Path, embedder: object = None) -> InStep:
    """Open the same store as a restarted game does."""
    return InStep(opened("inline", tmp_path, embedder=embedder))


def entry(number: int, words: str, at: float, name: str = "Tom") -> Recollection:
    """Return an entry of the journal."""
    text = f'{name} whispered: "{words}"'
    return Recollection(key(number), MemoryKind.JOURNAL, text, WORLD, at=at)


def test_a_start_finds_everything(store: InStep, tmp_path: Path) -> None:
    """The next process finds the same memories in the same order."""
    store.add(1, [item(1), item(2, LAMP, TOM, 0.4), item(3, CASTLE)])
    store.add(2, [item(4)])
    store.remove(1, [key(3)])
    before = [hit.key for hit in store.search(sought(LAMP, WORLD, TOM))]
    next_one = reopened(tmp_path)
    assert {key(1), key(2)} == next_one.keys(1)
    assert {key(4)} == next_one.keys(2)
    assert before == [hit.key for hit in next_one.search(sought(LAMP, WORLD, TOM))]
    assert [] == found_keys(next_one, LAMP, TOM, min_trust=0.5)


def test_what_is_forgotten_leaves_no_trace(store: InStep) -> None:
    """The vector leaves the table and the index at once."""
    store.add(1, [item(number, f"{SMITH} {number}") for number in range(1, 9)])
    assert key(3) in found_keys(store, f"{SMITH} 3")
    rows.remove(1, [key(3)])
    assert 7 == MemoryVector.objects.count()
    assert key(3) not in found_keys(store, f"{SMITH} 3")
    rows.change(1, key(4), text=LAMP)
    assert 6 == MemoryVector.objects.count(), "the vector of other words goes"
    assert key(4) == found_keys(store, LAMP)[0], "and the new words are found at once"
    Memory.objects.filter(assistant=1).delete()
    assert 0 == MemoryVector.objects.count()


def test_words_are_found_before_there_is_a_vector(store: InStep) -> None:
    rows.insert(1, [entry(n, f"{text} {n}", n * 5000.0) for n, text in enumerate((SMITH, LAMP), 1)])
    result = store.store.search_words(sought("which lamp?", limit=1))
    assert ([key(2)], False) == ([hit.key for hit in result.hits], result.is_all)
    assert (None, 1.0) == (result.hits[0].meaning, result.hits[0].words)
    assert key(2) == found_keys(store, "which lamp?")[0]
    assert 0 == MemoryVector.objects.count()


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [("灯台の鍵はどこ?", 1), ("鍵", 1), ("谁有灯油", 2), ("น้ำมันอยู่ที่ไหน", 3), ("ランプはある?", 4)],
)
def test_words_without_spaces_between_them_are_found(
    store: InStep, asked: str, wanted: int
) -> None:
    texts = (
        "鍵は古い灯台にある。",
        "铁匠的灯油在桶里。",
        "ขวดน้ำมันวาฬ",
        "赤いランプを見た。",
        SMITH,
    )
    rows.insert(1, [entry(n, text, n * 5000.0) for n, text in enumerate(texts, 1)])
    result = store.store.search_words(sought(asked, limit=1))
    assert [key(wanted)] == [hit.key for hit in result.hits]


def test_all_of_few_are_told_without_a_vector(store: InStep) -> None:
    """Where all memories fit into the limit all are told, except to small talk."""
    rows.insert(1, [entry(n, text, n * 5000.0) for n, text in enumerate((SMITH, LAMP), 1)])
    everything = store.store.search_words(sought("what of the lamp?", limit=2, fits=2))
    assert ([key(2), key(1)], True) == ([hit.key for hit in everything.hits], everything.is_all)
    for chatter in ("lol", "Hello there!", "ok thanks, good night :)", "..."):
        nothing = store.store.search_words(sought(chatter, limit=2, fits=2))
        assert ([], True) == (nothing.hits, nothing.is_all), chatter


def test_what_only_asks_is_no_knowledge(store: InStep) -> None:
    """A player's questions must not take the places of their answers."""
    rows.insert(1, [entry(1, "my lamp is called Ember", 0.0)])
    asked = [entry(n, "what is my lamp called?", n * 5000.0) for n in range(2, 30)]
    rows.insert(1, asked)
    result = store.store.search_words(sought("what is my lamp called?", limit=5, fits=5))
    assert ([key(1)], True) == ([hit.key for hit in result.hits], result.is_all)
    assert [key(1)] == found_keys(store, "what is my lamp called?")


def test_a_talk_is_its_context(store: InStep) -> None:
    """An answer is found by the words of the line before it in the same conversation."""
    talk = [entry(1, "guess how my journey to Hammerfest went", 0.0), entry(2, "I lost it all", 60)]
    later = [entry(n, f"I saw {n} gulls", 9000.0 * n) for n in range(3, 9)]
    rows.insert(1, [*talk, *later])
    result = store.store.search_words(sought("the journey to Hammerfest", limit=3))
    assert [key(1), key(2)] == [hit.key for hit in result.hits]
    Memory.objects.filter(key=key(2)).update(at=9_000.0)
    result = InStep(opened("inline", Path())).store.search_words(sought("Hammerfest", limit=3))
    assert [key(1)] == [hit.key for hit in result.hits], "what comes much later is another talk"


def test_another_embedding_model_starts_anew(store: InStep, tmp_path: Path) -> None:
    """Vectors of two models cannot be compared; meanwhile words find everything."""
    store.add(1, [item(1), item(2, LAMP)])
    other = reopened(tmp_path, OtherEmbedder())
    assert set() == other.keys(1)
    assert [None] == [hit.meaning for hit in other.search(sought(LAMP, limit=1))]
    by_key = {row.key: row for row in rows.of(1)}
    rows.change(1, key(2), text=LAMP)
    rows.mark_indexed(1, [by_key[key(2)]], other.signature, other.store.add(1, [item(2, LAMP)]))
    assert {key(2)} == other.keys(1)
    assert {key(1)} == reopened(tmp_path).keys(1)


def test_a_model_that_changes_its_length_is_refused(store: InStep, tmp_path: Path) -> None:
    store.add(1, [item(1)])
    with pytest.raises(MemoryStoreError, match="gives 100 numbers where these memories have 384"):
        reopened(tmp_path, ShorterEmbedder()).search(sought(SMITH))


def test_grows_past_a_page(store: InStep, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One query reads at most a page, so the index needs several."""
    monkeypatch.setattr(Table, "page_size", 7)
    store.add(1, [item(number, f"chest {number} {number * 7}") for number in range(40)])
    assert key(33) == found_keys(store, "chest 33 231")[0]
    store.add(1, [item(number, f"chest {number} {number * 7}") for number in range(40, 90)])
    for number in (1, 41, 89):
        assert key(number) == found_keys(store, f"chest {number} {number * 7}")[0]
        assert key(number) == found_keys(reopened(tmp_path), f"chest {number} {number * 7}")[0]


def test_what_is_long_unasked_leaves_memory(store: InStep, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently used part goes, and is read again when needed."""
    store.add(1, [item(1)])
    store.add(2, [item(2, LAMP)])
    index = store.store._index  # type: ignore[attr-defined]
    assert [key(1)] == found_keys(store, SMITH)
    monkeypatch.setattr(indexes, "MOST_BYTES", 1)
    assert [key(2)] == [hit.key for hit in store.search(MemoryQuery(2, LAMP, (WORLD,), 3))]
    assert [(2, WORLD)] == list(index._parts)
    monkeypatch.undo()
    assert [key(1)] == found_keys(store, SMITH)
    monkeypatch.setattr(indexes, "LONGEST_UNUSED", -1.0)
    assert [key(2)] == [hit.key for hit in store.search(MemoryQuery(2, LAMP, (WORLD,), 3))]
    assert [(2, WORLD)] == list(index._parts)


def test_a_search_reads_what_is_current(table: None) -> None:
    """Its own query must select the rows of `rows.current` but lore, and vectors of its model."""
    kinds = (MemoryKind.FACT, MemoryKind.JOURNAL, MemoryKind.LORE)
    memories = [
        Recollection(key(n), kinds[n % 3], f"chest {n}", (WORLD, TOM)[n % 2]) for n in range(24)
    ]
    rows.insert(1, memories)
    rows.insert(2, [Recollection(key(99), MemoryKind.FACT, "another's", WORLD)])
    rows.remove(1, [key(1), key(3)])
    rows.change(1, key(4), superseded_at=1.0)
    for signature, numbers in (("old", (6, 7)), ("new", (9, 10))):
        read = list(rows.of(1, key__in=[key(n) for n in numbers]))
        rows.mark_indexed(1, read, signature, [signature.encode()] * 2)
    shelf, last = Table(is_shared=True), rows.newest(1, rows.keys_of(1))
    assert last == shelf.newest(1)
    for audience in (None, WORLD, TOM):
        which = {} if audience is None else {"audience": audience}
        wanted = rows.current(1, **which).exclude(kind=MemoryKind.LORE).order_by("id")
        page = shelf.page(1, "new", audience, 0, last)
        assert [row.key for row in wanted] == [row.key for row in page]
    by_key = {row.key: row for row in shelf.page(1, "new", None, 0, last)}
    assert {key(9), key(10)} == {which for which, row in by_key.items() if row.vector}
    assert b"new" == by_key[key(9)].vector
    assert by_key[key(7)].is_talk
    assert not by_key[key(6)].is_talk
    later = shelf.page(1, "new", None, by_key[key(6)].number, last)
    assert list(by_key)[2:] == [row.key for row in later]


@pytest.mark.parametrize("has_locks", [False, True])
def test_what_is_forgotten_meanwhile_is_not_marked(
    table: None, monkeypatch: pytest.MonkeyPatch, has_locks: bool
) -> None:
    """A row may be removed before it is marked, so databases with row locks lock it."""
    monkeypatch.setattr(connection.features, "has_select_for_update", has_locks)
    rows.insert(1, [entry(0, LAMP, 1.0)])
    read, asked = list(rows.of(1)), []

    def forget(execute: Any, sql: str, *rest: Any) -> Any:
        asked.append(sql)
        if "SET indexed_as" in sql:
            Memory.objects.filter(pk=read[0].pk).update(is_removed=True)
        return execute(sql.removesuffix(" FOR UPDATE"), *rest)

    with connection.execute_wrapper(forget):
        rows.mark_indexed(1, read, "s")
    assert has_locks is asked[1].endswith(" FOR UPDATE")
    assert "" == Memory.objects.get().indexed_as


def test_half_the_bytes_keep_the_order(table: None) -> None:
    """Vectors are stored as float16; their cosines differ by at most a thousandth."""
    vectors = HashingEmbedder().embed_passages([SMITH, LAMP, CASTLE])
    rows.insert(1, [Recollection(key(n), "fact", "x", WORLD) for n in range(3)])
    halves = TableVectors(Table(is_shared=True), "s").add(1, [], vectors)
    rows.mark_indexed(1, list(rows.of(1)), "s", halves)
    index = Index(Table(is_shared=True), "s")
    index.refresh(1)
    view = index.view(1, (WORLD,), 0.0)
    wanted = vectors @ vectors[0]
    assert np.abs(view.cosines(vectors[0]) - wanted).max() < 0.001


def test_mem0_changes_nothing_by_itself() -> None:
    """mem0 gets neither a model nor a way to write, and only known filters."""
    with pytest.raises(MemoryStoreError, match="never may"):
        RefusingModel().generate_response([{"role": "user", "content": "hello"}])
    places = SearchParts(
        Index(Table(is_shared=True), "s"),
        TableVectors(Table(is_shared=True), "s"),
        HashingEmbedder(),
    )
    vectors = GameVectors("evennia_ai_entities", places)
    assert isinstance(vectors, VectorStoreBase)
    assert [] == vectors.search("the smith", [1.0], 3, {"agent_id": "1"}), "it draws nothing itself"
    with pytest.raises(MemoryStoreError, match="only the game's table"):
        vectors.insert([[1.0]], [{}], ["x"])
    for wrong in (None, {"user_id": "1"}, {"agent_id": "1 OR 1", "audience": {"in": [WORLD]}}):
        with pytest.raises(ValueError, match="is not a filter"):
            read_filters("x", 3, wrong)
    with pytest.raises(ValueError, match="not an audience"):
        read_filters("x", 3, {"agent_id": "1", "audience": {"in": ["*"]}})


def test_a_broken_connection_is_opened_anew(tmp_path: Path) -> None:
    """Django renews connections at the end of requests, which this thread has none of."""
    results: list[object] = []
    is_file = connection.vendor == "sqlite"

    def ask() -> None:
        if is_file:
            # A copy, because the suite's connections share one dictionary.
            own = {**connection.settings_dict, "NAME": str(tmp_path / "game.db3")}
            connection.settings_dict = own
            with connection.cursor() as cursor:
                cursor.execute("CREATE TABLE evennia_ai_memory (id integer, assistant integer)")
        table = Table(is_shared=False)
        results.append(table.newest(1))
        connection.connection.close()
        try:
            table.newest(1)
        except DatabaseError as error:
            results.append(type(error))
        table.renew()
        results.append(table.newest(1))
        table.close()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(20)
    assert [0, ProgrammingError if is_file else OperationalError, 0] == results


def test_a_database_that_fails_is_one_sentence(
    store: InStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store reports the error of the database, and works again after it."""
    store.add(1, [item(1)])

    def fail(*_: object) -> None:
        raise OperationalError("database or disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("evennia_ai.memory_store.table.Table.newest", fail)
        with pytest.raises(MemoryStoreError, match="full"):
            store.search(sought(SMITH))
    assert [key(1)] == found_keys(store, SMITH)
    assert connection.connection is not None
