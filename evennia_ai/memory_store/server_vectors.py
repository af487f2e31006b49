"""Vectors on a server of the game's own, by mem0's own provider: a collection for each assistant.

The server is given keys, audiences and numbers; words stay in the game's table.
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

# A provider lists its points in one answer; no assistant has so many.
MOST_POINTS = 2_000_000


def point_id(key: str) -> str:
    """The id of a memory's point: its own key, so that putting it in twice is once."""
    return str(UUID(hex=key))


class ServerVectors(ABC):
    """The backend of a server; what differs is how mem0's provider is made.

    Attributes:
        provider: mem0's name of it.
        title: its name for people.
    """

    provider: str
    title: str

    def __init__(self, embedder: Embedder, place: str, secret: str) -> None:
        """Make it.

        Args:
            place: where the server is, for people.
            secret: the password or key, which no error may show.
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
        """The collections that are there."""

    def explain(self, error: Exception) -> str:
        """An error as one sentence for people and without a secret."""
        text = f"{type(error).__name__}: {self.reason(error)}"
        if self._secret:
            text = text.replace(self._secret, "***")
        return f"the {self.title} server at {self._place} cannot be used: {one_line(text, 160)}"

    def reason(self, error: Exception) -> str:
        """The cause of an error, in its own words."""
        return str(error)

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""

    def search(
        self, view: View, sought: MemoryQuery, vector: Vector, also: NDArray[np.intp]
    ) -> Mapping[str, float | None]:
        """The most alike in meaning that the table still has, and what stands at other places."""
        store, hits = self._at(self._name(sought.collection)), []
        if store is not None and sought.audiences:
            numbers = [float(number) for number in vector]
            # The place for words stays empty: no provider reads it, and none are to leave.
            hits = store.search("", numbers, sought.limit, filters_of(sought))
        cosines = {str(hit.payload["data"]): float(hit.score) for hit in hits}
        others = dict.fromkeys(view.keys(also))
        return {key: cosine for key, cosine in (others | cosines).items() if view.may_tell(key)}

    def add(self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]) -> list[bytes]:
        """Keep vectors on the server; one whose key is there already is replaced."""
        store = self._at(self._name(collection), must_be=True)
        # One provider replaces a point that is there, the other fails on it.
        self._take_out(store, [item.key for item in items])
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
        """Take vectors out; those not there do not matter."""
        store = self._at(self._name(collection))
        if store is not None:
            self._take_out(store, keys)

    def keys(self, collection: int) -> set[str]:
        """The memories whose vectors are on the server."""
        store = self._at(self._name(collection))
        if store is None:
            return set()
        listed = store.list(filters={"agent_id": str(collection)}, top_k=MOST_POINTS)
        return {UUID(str(point.id)).hex for point in _points(listed)}

    def drop(self, collection: int) -> None:
        """Remove all of a collection's vectors, whatever embedding model made them."""
        theirs = re.compile(rf"a{collection}e[0-9a-f]{{12}}")
        for name in filter(theirs.fullmatch, self.names()):
            store = self._at(name, must_be=True)
            store.delete_col()
            self.forget(name)

    def forget(self, name: str) -> None:
        """Let a collection be made anew when it is next asked."""
        self._stores.pop(name, None)

    def _take_out(self, store: VectorStoreBase, keys: Iterable[str]) -> None:
        for key in keys:
            store.delete(point_id(key))

    def _name(self, collection: int) -> str:
        return f"a{collection}e{self._mark}"

    def _at(self, name: str, *, must_be: bool = False) -> Any:
        """A collection as mem0's provider has it; None where it is not and need not be."""
        if name not in self._stores:
            if not must_be and name not in self.names():
                return None
            config = self.config(name, self._embedder.dimensions)
            self._stores[name] = VectorStoreFactory.create(self.provider, config)
        return self._stores[name]


def _points(listed: Sequence[object]) -> list[Any]:
    """The points of a provider's list, which some wrap in another list, or give with a cursor."""
    first = listed[0] if listed else []
    return list(first) if isinstance(first, (list, tuple)) else list(listed)
