"""The port of stores on mem0: it ranks by meaning and words what the table of memories holds.

mem0 is given keys in place of words. No word of a player is in any file, history or log of it.
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
from evennia_ai.memory_store.vectors import Vector, as_kept
from evennia_ai.memory_store.words import is_small_talk

# mem0 adds what meaning and words say, each 0 to 1.
SIGNALS = 2.0


class Mem0Store:
    """Memories of all assistants. For one thread."""

    def __init__(self, embedder: Embedder, shelf: Table, backend: VectorBackend) -> None:
        self.signature = embedder.signature
        self.least_similarity = embedder.least_similarity
        self.notice = embedder.notice
        self.is_loading = False
        self._embedder = embedder
        self._shelf = shelf
        self._backend = backend
        self._index = Index(shelf, self.signature)

    @cached_property
    def _memory(self) -> Any:
        """mem0's Memory, and with it mem0: made once there is something to find by its meaning."""
        self.is_loading = True
        try:
            parts = importlib.import_module("evennia_ai.memory_store.mem0_parts")
            return parts.make_memory(self._embedder, self._index, self._backend)
        finally:
            self.is_loading = False

    def prepare(self) -> None:
        """Load mem0."""
        with self._explained():
            _ = self._memory

    def add(self, collection: int, items: Sequence[Item]) -> list[bytes]:
        """Make vectors of memories that are in the table."""
        wanted = checked_items(items)
        checked_collection(collection)
        if not wanted:
            return []
        with self._explained():
            vectors = self._embedder.embed_passages([item.text for item in wanted])
            return self.keep(collection, wanted, vectors)

    def keep(
        self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]
    ) -> list[bytes]:
        """Take vectors of memories that were made somewhere else."""
        with self._explained():
            kept = self._backend.add(collection, items, vectors)
            made = zip(items, vectors, strict=True)
            _ = self._memory  # now, so that no search by meaning waits for it
            if kept:
                found = {item.key: (item.audience, vector) for item, vector in made}
                self._index.read(collection, found)
        return kept

    def search_words(self, sought: MemoryQuery) -> ByWords:
        """Those that share the most words with a text, the best first."""
        self._check(sought)
        if sought.limit < 1 or (sought.fits and is_small_talk(sought.text)):
            return ByWords([], is_all=True)
        with self._explained():
            self._index.refresh(sought.collection)
            view = self._index.view(sought.collection, sought.audiences, sought.min_trust)
            scores = view.words(sought.text)
        is_all = len(view.fit) <= sought.fits
        places = view.fit if is_all else view.best(scores, sought.limit)
        most = float(scores[places].max(initial=0.0)) or 1.0
        shares = zip(view.keys(places), (scores[places] / most).tolist(), strict=True)
        hits = [Hit(key, share / SIGNALS, words=share) for key, share in shares]
        return ByWords(sorted(hits, key=lambda hit: -hit.similarity), is_all)

    def search(self, sought: MemoryQuery) -> list[Hit]:
        """Those that fit a text best by meaning and words, the best first."""
        self._check(sought)
        if sought.limit < 1 or not sought.audiences or not sought.text.strip():
            return []
        with self._explained():
            self._index.refresh(sought.collection)
            answer = self._memory.search(
                sought.text,
                filters=filters_of(sought),
                top_k=sought.limit,
                # By default mem0 leaves out what is little alike; `memory_config` decides that.
                threshold=0.0,
                # Else there is one score, of which nobody knows how much is meaning.
                explain=True,
            )
        return [self._hit(each["memory"], each["score_details"]) for each in answer["results"]]

    @staticmethod
    def _hit(key: str, details: dict[str, float]) -> Hit:
        alike = details["semantic_score"]
        meaning = None if alike == UNKNOWN else alike
        return Hit(key, min(1.0, details["raw_score"] / SIGNALS), meaning, details["bm25_score"])

    def remove(self, collection: int, keys: Iterable[str]) -> None:
        """Take vectors out; those not there do not matter."""
        wanted = [key for key in keys if is_key(key)]
        checked_collection(collection)
        with self._explained():
            if wanted:
                self._backend.remove(collection, wanted)

    def keys(self, collection: int) -> set[str]:
        """The memories of which there is a vector of this embedding model."""
        checked_collection(collection)
        with self._explained():
            found = self._backend.keys(collection)
            if found:
                _ = self._memory
            return found

    def drop(self, collection: int) -> None:
        """Remove a collection, also what another embedding model left of it."""
        self._index.forget(checked_collection(collection))
        with self._explained():
            self._backend.drop(collection)

    def close(self) -> None:
        """Let go of memory and connections."""
        with self._explained():
            if "_memory" in vars(self):
                self._memory.close()
            self._backend.close()
            self._shelf.close()

    def _check(self, sought: MemoryQuery) -> None:
        checked_audiences(sought.audiences)
        checked_collection(sought.collection)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Make one kind of error of whatever goes wrong below."""
        try:
            yield
        except MemoryStoreError:
            raise
        except ImportError as error:
            raise MemoryStoreError(f"mem0 cannot be imported: {error}") from error
        except DatabaseError as error:
            self._shelf.renew()
            raise MemoryStoreError(explained(error)) from error
        except Exception as error:
            raise MemoryStoreError(self._backend.explain(error)) from error


def open_embedded(embedder: Embedder, shelf: Table) -> Mem0Store:
    """The store whose vectors are in the game's own table."""
    return Mem0Store(embedder, shelf, TableVectors(shelf, embedder.signature))


def open_server(embedder: Embedder, shelf: Table, kind: str, url: str, api_key: str) -> Mem0Store:
    """The store whose vectors are on a server: kind "qdrant" or "pgvector".

    Raises:
        MemoryStoreError: nobody answers there.
    """
    module = importlib.import_module(f"evennia_ai.memory_store.{kind}_server")
    backend: VectorBackend = module.make(url, api_key, embedder)
    return Mem0Store(embedder, shelf, backend)


class TableVectors:
    """The backend of the embedded store. Whoever changes the table changes its vectors with it."""

    def __init__(self, shelf: Table, signature: str) -> None:
        self._shelf = shelf
        self._signature = signature

    def search(
        self, view: View, sought: MemoryQuery, vector: Vector, also: NDArray[np.intp]
    ) -> Mapping[str, float | None]:
        """The most alike in meaning, and what stands at some other places; by key."""
        cosines = view.cosines(vector)
        places = np.concatenate((view.best(cosines, sought.limit), also))
        found = zip(view.keys(places), cosines[places].tolist(), strict=True)
        return {key: cosine or None for key, cosine in found}

    def add(self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]) -> list[bytes]:
        """The vectors as the table is to keep them."""
        return [as_kept(vector) for vector in vectors]

    def remove(self, collection: int, keys: Sequence[str]) -> None:
        """A vector goes with its row."""

    def keys(self, collection: int) -> set[str]:
        """The memories whose vectors are kept."""
        return self._shelf.keys(collection, self._signature)

    def drop(self, collection: int) -> None:
        """All vectors go with their rows."""

    def explain(self, error: Exception) -> str:
        """An error as one sentence for people."""
        return explained(error)

    def close(self) -> None:
        """There is nothing but the table."""
