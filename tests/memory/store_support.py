"""Memories, embedding models and stores of every kind, shared by tests of stores."""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.core.text.cleaning import sendable
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.checks import checked_collection, checked_items
from evennia_ai.memory_store.hashing import HashingEmbedder
from evennia_ai.memory_store.mem0_store import Mem0Store, TableVectors
from evennia_ai.memory_store.opening import MemorySettings, open_store
from evennia_ai.memory_store.port import Hit, Item, MemoryQuery
from evennia_ai.memory_store.table import MemoryRow
from evennia_ai.models import Memory

WORLD, ROOM, OTHER = "world", "room:object-2", "room:object-9"
TOM, MIA = "person:account-3", "person:account-4"
SMITH = "Tom owes the smith twelve gold coins"
LAMP = "the lamp in the hall went out"
CASTLE = "the baron of the castle broke his word"


def key(number: int) -> str:
    return f"{number:032x}"


def item(number: int, text: str = SMITH, audience: str = WORLD, trust: float = 1.0) -> Item:
    return Item(key(number), text, audience, trust)


class DictShelf:
    """A table of memories in a dictionary, for tests of threads rather than databases."""

    page_size = 10

    def __init__(self) -> None:
        self.rows: dict[tuple[int, str], MemoryRow] = {}
        self.epochs: Counter[int] = Counter()
        self._number = 0

    def put(self, collection: int, one: Item) -> None:
        """Store a memory, or change the one of that key."""
        self._number += 1
        if (collection, one.key) in self.rows:
            self.epochs[collection] += 1
        self.rows[collection, one.key] = MemoryRow(
            self._number, one.key, one.audience, one.text, one.trust, 0.0, False, b""
        )

    def read(self, collection: int, which: str, vector: bytes) -> None:
        """Store a vector."""
        place = collection, which
        self.rows[place] = self.rows[place]._replace(vector=vector)

    def discard(self, collection: int, keys: Iterable[str]) -> None:
        for each in keys:
            self.rows.pop((collection, each), None)
        self.epochs[collection] += 1

    def epoch(self, collection: int) -> int:
        """Return the number of changes and removals."""
        return self.epochs[collection]

    def arrivals(self, collection: int) -> int:
        """Return the number of stored memories."""
        return self._number

    def newest(self, collection: int) -> int:
        """Return the highest number of a collection."""
        return max((r.number for (c, _), r in self.rows.items() if c == collection), default=0)

    def page(
        self, collection: int, signature: str, audience: str | None, after: int, until: int
    ) -> Sequence[MemoryRow]:
        result = [
            row
            for (owner, _), row in self.rows.items()
            if owner == collection
            and after < row.number <= until
            and audience in (None, row.audience)
        ]
        return sorted(result, key=lambda row: row.number)[: self.page_size]

    def keys(self, collection: int, signature: str) -> set[str]:
        """Return the keys with a vector."""
        return {k for (c, k), row in self.rows.items() if c == collection and row.vector}

    def renew(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing: there is no connection."""


class DictStore(Mem0Store):
    """The embedded store over a dictionary; what is added is also in its table."""

    def __init__(self, embedder: Any = None) -> None:
        self.shelf = DictShelf()
        model = embedder or HashingEmbedder()
        super().__init__(model, self.shelf, TableVectors(self.shelf, model.signature))

    def add(self, collection: int, items: Sequence[Item]) -> list[bytes]:
        """Store memories and their vectors."""
        checked_collection(collection)
        wanted = checked_items(items)
        for one in wanted:
            self.shelf.put(collection, one)
        vectors = super().add(collection, wanted)
        for one, vector in zip(wanted, vectors, strict=True):
            self.shelf.read(collection, one.key, vector)
        return vectors

    def remove(self, collection: int, keys: Iterable[str]) -> None:
        self.shelf.discard(collection, keys)

    def drop(self, collection: int) -> None:
        self.shelf.discard(collection, [k for c, k in self.shelf.rows if c == collection])
        super().drop(collection)


class InStep:
    """A store together with the game's table: each act changes both."""

    def __init__(self, store: Mem0Store) -> None:
        self.store = store
        self.signature = store.signature

    def add(self, collection: int, items: Sequence[Item]) -> None:
        """Store memories and make their vectors."""
        checked_collection(collection)
        wanted = [replace(one, text=sendable(one.text)) for one in checked_items(items)]
        there = rows.by_keys(collection, [one.key for one in wanted])
        new = [
            Recollection(one.key, MemoryKind.FACT, one.text, one.audience, trust=one.trust)
            for one in wanted
            if one.key not in there
        ]
        rows.insert(collection, new)
        for one in wanted:
            if one.key in there:
                rows.change(
                    collection, one.key, text=one.text, audience=one.audience, trust=one.trust
                )
        vectors = self.store.add(collection, wanted)
        by_key = {row.key: row for row in rows.of(collection)}
        rows.mark_indexed(collection, [by_key[one.key] for one in wanted], self.signature, vectors)

    def search(self, sought: MemoryQuery) -> list[Hit]:
        return self.store.search(sought)

    def remove(self, collection: int, keys: Sequence[str]) -> None:
        rows.remove(collection, keys)
        self.store.remove(collection, keys)
        rows.erase(collection, rows.gone(collection, 1000))

    def keys(self, collection: int) -> set[str]:
        return self.store.keys(collection)

    def drop(self, collection: int) -> None:
        Memory.objects.filter(assistant=collection).delete()
        self.store.drop(collection)

    def close(self) -> None:
        self.store.close()


def opened(kind: str, folder: Path, url: str = "", embedder: Any = None) -> Mem0Store:
    """Return a store of a kind, with an embedding model that needs no files."""
    read = MemorySettings(kind, "hashing", folder, url, os.environ.get("QDRANT_API_KEY", ""))
    return open_store(read, embedder or HashingEmbedder())


def outcome(deferred: Deferred[Any]) -> Any:
    """Return the result of a Deferred that has fired, or raise its failure."""
    results: list[Any] = []
    deferred.addBoth(results.append)
    assert results, "it has not fired"
    if isinstance(results[0], Exception) or hasattr(results[0], "raiseException"):
        results[0].raiseException()
    return results[0]


def sought(
    query: str, *audiences: str, limit: int = 10, min_trust: float = 0.0, fits: int = 0
) -> MemoryQuery:
    """Return a search in collection 1, by default of the audience of the world."""
    return MemoryQuery(1, query, audiences or (WORLD,), limit, min_trust, fits)


def found_keys(store: Any, query: str, *audiences: str, **how: Any) -> list[str]:
    """Return the keys that a search finds in collection 1, best first."""
    return [hit.key for hit in store.search(sought(query, *audiences, **how))]


def python(*arguments: str) -> list[str]:
    """Return the command of a process of this Python."""
    return [sys.executable, *arguments]
