"""The port of stores on mem0: embedded, on a Qdrant server, or on PostgreSQL with pgvector.

mem0 is given keys in place of words. Whatever the store keeps, no word of a player is in it, in no
file, history or log of it; the words are in the game's own table, and only there to be forgotten.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory.checks import checked_audiences, checked_collection, checked_items, is_key
from evennia_ai.memory.embedding import Embedder
from evennia_ai.memory.index import EmbeddedBackend
from evennia_ai.memory.mem0_parts import Backend, Prepared, make_memory
from evennia_ai.memory.port import Hit, Item


class Mem0Store:
    """A collection for each assistant and embedding model, over one client. For one thread."""

    def __init__(self, embedder: Embedder, backend: Backend) -> None:
        self.signature = embedder.signature
        self.least_similarity = embedder.least_similarity
        self.notice = embedder.notice
        self._embedder = embedder
        self._backend = backend
        self._mark = sha256(self.signature.encode()).hexdigest()[:12]
        self._memory: Any = None
        self._stores: dict[int, Any] = {}

    def add(self, collection: int, items: Sequence[Item]) -> None:
        """Put memories in; one whose key is there already is replaced."""
        wanted = checked_items(items)
        checked_collection(collection)
        if not wanted:
            return
        with self._explained():
            vectors = self._embedder.embed_passages([item.text for item in wanted])
            memory = self._at(collection, must_be=True)
            prepared: Prepared = memory.embedding_model
            prepared.vectors = dict(zip([item.key for item in wanted], vectors, strict=True))
            for item in wanted:
                memory.add(
                    [{"role": "user", "content": item.key}],
                    agent_id=str(collection),
                    metadata={"key": item.key, "audience": item.audience, "trust": item.trust},
                    infer=False,
                )
            prepared.vectors = {}
            memory.db.connection.execute("DELETE FROM history")
            memory.db.connection.commit()

    def search(
        self,
        collection: int,
        query: str,
        audiences: Sequence[str],
        *,
        limit: int,
        min_trust: float = 0.0,
    ) -> list[Hit]:
        """Those most alike to a text, the best first, of these audiences only."""
        filters = filter_of(checked_collection(collection), audiences, min_trust)
        if not query.strip() or not audiences or limit < 1:
            return []
        with self._explained():
            memory = self._at(collection)
            if memory is None:
                return []
            found = memory.search(query, filters=filters, top_k=limit, threshold=0.0)
        pairs = [(hit["memory"], hit["score"]) for hit in found["results"]]
        return hits(pairs, self._embedder)[:limit]

    def neighbours(
        self, collection: int, key: str, audiences: Sequence[str], *, limit: int
    ) -> list[Hit]:
        """Those most alike to a memory that is in it, without itself; [] where it is not."""
        filters = filter_of(checked_collection(collection), audiences, 0.0)
        if not is_key(key) or not audiences or limit < 1:
            return []
        with self._explained():
            memory = self._at(collection)
            vector = None if memory is None else memory.vector_store.vector(key)
            if vector is None:
                return []
            numbers = [float(number) for number in vector]
            found = memory.vector_store.search("", numbers, limit + 1, filters)
        pairs = [(hit.payload["data"], hit.score) for hit in found if hit.payload["data"] != key]
        return hits(pairs, self._embedder)[:limit]

    def remove(self, collection: int, keys: Iterable[str]) -> None:
        """Take memories out; those not there do not matter."""
        wanted = [key for key in keys if is_key(key)]
        checked_collection(collection)
        with self._explained():
            memory = self._at(collection) if wanted else None
            if memory is not None:
                memory.vector_store.discard(wanted)

    def keys(self, collection: int) -> set[str]:
        """What is in a collection, as this embedding model's vectors."""
        checked_collection(collection)
        with self._explained():
            memory = self._at(collection)
            found: set[str] = set() if memory is None else memory.vector_store.keys()
        return found

    def drop(self, collection: int) -> None:
        """Remove a collection, also what another embedding model left of it."""
        theirs = re.compile(rf"a{checked_collection(collection)}e[0-9a-f]{{12}}")
        with self._explained():
            self._stores.pop(collection, None)
            for name in self._backend.names():
                if theirs.fullmatch(name):
                    self._backend.drop(name)

    def close(self) -> None:
        """Let go of files and connections."""
        with self._explained():
            self._stores.clear()
            if self._memory is not None:
                self._memory.close()
                self._memory = None
            self._backend.close()

    def _name(self, collection: int) -> str:
        return f"a{collection}e{self._mark}"

    def _at(self, collection: int, *, must_be: bool = False) -> Any:
        """mem0 on a collection; None where there is no such collection and none is to be made."""
        store = self._stores.get(collection)
        if store is None:
            name = self._name(collection)
            if not must_be and name not in self._backend.names():
                return None
            made = make_memory(self._embedder, self._backend, name, self._embedder.dimensions)
            self._memory = self._memory or made
            store = self._stores[collection] = made.vector_store
        self._memory.vector_store = store
        return self._memory

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Make one kind of error of whatever goes wrong below."""
        try:
            yield
        except MemoryStoreError:
            raise
        except Exception as error:
            raise MemoryStoreError(self._backend.explain(error)) from error


def filter_of(collection: int, audiences: Sequence[str], min_trust: float) -> dict[str, Any]:
    """The only filter that is ever made: of audiences that are some, and of a number.

    Raises:
        ValueError: an audience is none.
    """
    filters: dict[str, Any] = {
        "agent_id": str(collection),
        "audience": {"in": checked_audiences(audiences)},
    }
    if min_trust > 0.0:
        filters["trust"] = {"gte": float(min_trust)}
    return filters


def hits(pairs: Sequence[tuple[str, float]], embedder: Embedder) -> list[Hit]:
    """What was found and has at all to do with what was sought."""
    found = [Hit(key, embedder.similarity(float(cosine))) for key, cosine in pairs]
    return [hit for hit in found if hit.similarity > 0.0]


def open_embedded(embedder: Embedder, folder: Path) -> Mem0Store:
    """The store in a folder.

    Raises:
        MemoryStoreError: it cannot be opened.
    """
    return Mem0Store(embedder, EmbeddedBackend(folder))


def open_server(embedder: Embedder, kind: str, url: str, api_key: str) -> Mem0Store:
    """The store on a server: kind "qdrant" or "pgvector".

    Raises:
        MemoryStoreError: nobody answers there.
    """
    module = importlib.import_module(f"evennia_ai.memory.{kind}_server")
    backend: Backend = module.Backend(url, api_key)
    return Mem0Store(embedder, backend)
