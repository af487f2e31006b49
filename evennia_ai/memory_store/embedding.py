"""The interface of embedding models, and comparison of texts by their vectors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

BY_WORDS = "memories are found by the words they share, not by their meaning"


class Embedder(ABC):
    """An embedding model. Its methods block and are called by one thread at a time.

    They raise MemoryStoreError while the model is unavailable.

    Attributes:
        model: its name in prices and in the ledger.
        signature: name, version and dimensions, at most 64 characters; vectors with different
            signatures are not comparable.
        least_similarity: hits with a lower similarity, 0 to 1, are unrelated to the query.
        notice: a message for the game's owner, or "".
        knows_meaning: True if texts without a common word can be similar.
        base_cosine: typical cosine of two unrelated texts.
    """

    model: str
    signature: str
    least_similarity: float
    notice: str
    is_paid: bool
    knows_meaning: bool
    base_cosine: float

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The length of a vector. May send a request to find out."""

    @abstractmethod
    def embed_query(self, text: str) -> Any:
        """Embed a query: a float32 unit vector of shape (dimensions,)."""

    @abstractmethod
    def embed_passages(self, texts: Sequence[str]) -> Any:
        """Embed texts to be stored: float32 unit vectors of shape (texts, dimensions)."""

    def similarity(self, cosine: float) -> float:
        """Convert a cosine to a similarity: 0 for unrelated texts, 1 for the same text."""
        # Related texts are only a little above the base cosine; the root spreads that range.
        share = (cosine - self.base_cosine) / (1.0 - self.base_cosine)
        return math.sqrt(min(1.0, max(0.0, share)))

    def close(self) -> None:  # noqa: B027 - most models have nothing to close
        """Release models and connections, if there are any."""


def cut(text: str, most_chars: int) -> str:
    """Truncate a text for a model, at a space if there is one near the end."""
    if len(text) <= most_chars:
        return text
    head = text[:most_chars]
    whole, _, rest = head.rpartition(" ")
    return whole if len(rest) < most_chars // 4 else head


# Vectors, of 1.5 kB each with 384 dimensions.
MAX_CACHED = 4_000


class Likeness:
    """Compares texts by their vectors, which are cached. Blocks; called by one thread."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # Key: the text, and whether it is a question, which models embed differently.
        self._vectors: OrderedDict[tuple[str, bool], Any] = OrderedDict()

    def of(
        self, queries: Sequence[str], texts: Sequence[str], questions: Sequence[str] = ()
    ) -> list[dict[str, float]]:
        """The similarity, 0 to 1, of each query to each text and question, by text."""
        known = [*((text, False) for text in texts), *((text, True) for text in questions)]
        self._cache_vectors(known)
        similarity, similarities = self._embedder.similarity, []
        for vector in map(self._embedder.embed_query, queries):
            similarities.append(
                {key[0]: similarity(float(vector @ self._vectors[key])) for key in known}
            )
        return similarities

    def _cache_vectors(self, known: Sequence[tuple[str, bool]]) -> None:
        for key in known:
            if key in self._vectors:
                self._vectors.move_to_end(key)
            else:  # one by one, so that a call that misses its deadline still fills the cache
                self._vectors[key] = self._vector(*key)
        # Never below what this call needs, or `of` would miss vectors.
        while len(self._vectors) > max(MAX_CACHED, len(known)):
            self._vectors.popitem(last=False)

    def _vector(self, text: str, asks: bool) -> Any:
        if asks:
            return self._embedder.embed_query(text)
        return self._embedder.embed_passages([text])[0]
