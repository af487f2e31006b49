"""A store in memory: for tests, and for a game that wants nothing on its disk but its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import RLock

from evennia_ai.memory.checks import checked_audiences, checked_collection, checked_items
from evennia_ai.memory.embedding import Embedder
from evennia_ai.memory.matrix import VectorMatrix
from evennia_ai.memory.port import Hit, Item


class VolatileStore:
    """The port of stores, in memory. Threads may share it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._collections: dict[int, VectorMatrix] = {}
        self._lock = RLock()
        self.signature = embedder.signature
        self.least_similarity = embedder.least_similarity
        self.notice = embedder.notice

    def add(self, collection: int, items: Sequence[Item]) -> None:
        """Put memories in; one whose key is there already is replaced."""
        wanted = checked_items(items)
        checked_collection(collection)
        if not wanted:
            return
        vectors = self._embedder.embed_passages([item.text for item in wanted])
        with self._lock:
            matrix = self._collections.setdefault(collection, VectorMatrix(vectors.shape[1]))
            for item, vector in zip(wanted, vectors, strict=True):
                matrix.put(item.key, vector, item.audience, item.trust)

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
        wanted = checked_audiences(audiences)
        if checked_collection(collection) not in self._collections or not query.strip():
            return []
        vector = self._embedder.embed_query(query)
        with self._lock:
            matrix = self._collections.get(collection)
            if matrix is None:
                return []
            found = matrix.search(vector, wanted, limit=limit, min_trust=min_trust)
        return self._hits(found)

    def neighbours(
        self, collection: int, key: str, audiences: Sequence[str], *, limit: int
    ) -> list[Hit]:
        """Those most alike to a memory that is in it, without itself; [] where it is not."""
        wanted = checked_audiences(audiences)
        with self._lock:
            matrix = self._collections.get(checked_collection(collection))
            vector = None if matrix is None else matrix.vector(key)
            if matrix is None or vector is None:
                return []
            return self._hits(matrix.search(vector, wanted, limit=limit, without=(key,)))

    def remove(self, collection: int, keys: Iterable[str]) -> None:
        """Take memories out; those not there do not matter."""
        with self._lock:
            matrix = self._collections.get(checked_collection(collection))
            if matrix is not None:
                for key in keys:
                    matrix.discard(key)

    def keys(self, collection: int) -> set[str]:
        """What is in a collection."""
        with self._lock:
            matrix = self._collections.get(checked_collection(collection))
            return matrix.keys if matrix is not None else set()

    def drop(self, collection: int) -> None:
        """Remove a collection."""
        with self._lock:
            self._collections.pop(checked_collection(collection), None)

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._collections.clear()

    def _hits(self, found: Sequence[tuple[str, float]]) -> list[Hit]:
        hits = [Hit(key, self._embedder.similarity(cosine)) for key, cosine in found]
        return [hit for hit in hits if hit.similarity > 0.0]
