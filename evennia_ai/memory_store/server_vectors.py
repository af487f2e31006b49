"""Vectors on a server, through mem0's own provider: one collection per assistant.

The server gets keys, audiences, trust and vectors; texts stay in the game's table.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
from mem0.utils.factory import VectorStoreFactory
from mem0.vector_stores.base import VectorStoreBase
from numpy.typing import NDArray

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.memory_store.checks import filters_of
from evennia_ai.memory_store.embedding import Embedder
from evennia_ai.memory_store.index import View
from evennia_ai.memory_store.port import Item, MemoryQuery
from evennia_ai.memory_store.vectors import Vector

# The limit of a listing, which providers do not page: more points than any assistant has.
MOST_POINTS = 2_000_000


def point_id(key: str) -> str:
    """The id of a memory's point: its key as a UUID, so that each memory has at most one."""
    return str(UUID(hex=key))


class ServerVectors(ABC):
    """The base of server backends, which differ in how mem0's provider is configured."""

    provider: str
    title: str

    def __init__(self, embedder: Embedder, place: str, secret: str) -> None:
        """Create the backend.

        Args:
            place: address of the server in messages.
            secret: password or key, which is masked in messages.
        """
        self._embedder = embedder
        self._place = place
        self._secret = secret
        self._mark = sha256(embedder.signature.encode()).hexdigest()[:12]
        self._stores: dict[str, Any] = {}

    @abstractmethod
    def config(self, name: str, dimensions: int) -> dict[str, Any]:
        """The settings of mem0's provider for a collection."""

    @abstractmethod
    def names(self) -> set[str]:
        """The existing collections."""

    def explain(self, error: Exception) -> str:
        """One sentence about an error for the game's owner, without secrets."""
        text = f"{type(error).__name__}: {self.reason(error)}"
        if self._secret:
            text = text.replace(self._secret, "***")
        return f"the {self.title} server at {self._place} cannot be used: {one_line(text, 160)}"

    def reason(self, error: Exception) -> str:
        """The text of an error."""
        return str(error)

    @abstractmethod
    def close(self) -> None:
        """Close connections."""

    def search(
        self, view: View, query: MemoryQuery, vector: Vector, also: NDArray[np.intp]
    ) -> Mapping[str, float | None]:
        """Find the nearest vectors of memories in the view; those at `also` get None as well."""
        store, hits = self._open_collection(self._name(query.collection)), []
        if store is not None and query.audiences:
            numbers = [float(number) for number in vector]
            # No provider reads the text of the query, and it must not leave the game.
            hits = store.search("", numbers, query.limit, filters_of(query))
        cosines = {str(hit.payload["data"]): float(hit.score) for hit in hits}
        others = dict.fromkeys(view.keys(also))
        # The server may still hold memories that were forgotten in the table.
        return {key: cosine for key, cosine in (others | cosines).items() if view.may_tell(key)}

    def add(self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]) -> list[bytes]:
        """Store vectors on the server, replacing those with the same key."""
        store = self._open_collection(self._name(collection), create=True)
        # Qdrant replaces an existing point, but pgvector's provider fails on it.
        self._delete(store, [item.key for item in items])
        store.insert(
            vectors=[vector.tolist() for vector in vectors],
            ids=[point_id(item.key) for item in items],
            payloads=[
                {
                    "data": item.key,
                    "agent_id": str(collection),
                    "audience": item.audience,
                    "trust": item.trust,
                }
                for item in items
            ],
        )
        return []

    def remove(self, collection: int, keys: Sequence[str]) -> None:
        """Delete vectors. Keys without a vector are ignored."""
        store = self._open_collection(self._name(collection))
        if store is not None:
            self._delete(store, keys)

    def keys(self, collection: int) -> set[str]:
        """Keys of the memories that have a vector on the server."""
        store = self._open_collection(self._name(collection))
        if store is None:
            return set()
        answer = store.list(filters={"agent_id": str(collection)}, top_k=MOST_POINTS)
        return {UUID(str(point.id)).hex for point in _points(answer)}

    def drop(self, collection: int) -> None:
        """Delete all vectors of a collection, whatever embedding model made them."""
        theirs = re.compile(rf"a{collection}e[0-9a-f]{{12}}")
        for name in filter(theirs.fullmatch, self.names()):
            self._open_collection(name).delete_col()
            self.forget(name)

    def forget(self, name: str) -> None:
        """Forget a collection, so that the next use creates it again."""
        self._stores.pop(name, None)

    def _delete(self, store: VectorStoreBase, keys: Iterable[str]) -> None:
        for key in keys:
            store.delete(point_id(key))

    def _name(self, collection: int) -> str:
        return f"a{collection}e{self._mark}"

    def _open_collection(self, name: str, *, create: bool = False) -> Any:
        """mem0's provider for a collection; None if that does not exist and `create` is False."""
        if name not in self._stores:
            is_there = name in self.names()
            if not is_there and not create:
                return None
            # Only a new one needs them, and asking the model may send a request.
            dimensions = 1 if is_there else self._embedder.dimensions
            config = self.config(name, dimensions)
            self._stores[name] = VectorStoreFactory.create(self.provider, config)
        return self._stores[name]


def _points(listed: Sequence[object]) -> list[Any]:
    """The points of a listing, which is a list, a list of lists or a tuple with a cursor."""
    first = listed[0] if listed else []
    return list(first) if isinstance(first, (list, tuple)) else list(listed)
