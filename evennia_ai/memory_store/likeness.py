"""Likeness of short texts in meaning, without a store: vectors of what is compared are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from evennia_ai.memory_store.embedding import Embedder

MOST_KEPT = 4_000


class Likeness:
    """Compares texts with one embedding model. All of it blocks, and is called by one thread."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: OrderedDict[str, Any] = OrderedDict()

    def of(self, queries: Sequence[str], texts: Sequence[str]) -> list[dict[str, float]]:
        """The similarity, 0 to 1, of each query to each text, by text.

        Raises:
            MemoryStoreError: there are no vectors to be had.
        """
        self._learn(texts)
        return [self._one(query, texts) for query in queries]

    def _one(self, query: str, texts: Sequence[str]) -> dict[str, float]:
        sought = self._embedder.embed_query(query)
        return {
            text: self._embedder.similarity(float(sought @ self._vectors[text])) for text in texts
        }

    def _learn(self, texts: Sequence[str]) -> None:
        """The vectors of texts that are new; those not asked for lately go."""
        for text in texts:
            if text in self._vectors:
                self._vectors.move_to_end(text)
            else:  # one by one, so that what was made before a deadline is there the next time
                self._vectors[text] = self._embedder.embed_passages([text])[0]
        while len(self._vectors) > max(MOST_KEPT, len(texts)):
            self._vectors.popitem(last=False)
