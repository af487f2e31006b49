"""Vectors of texts, and the meaning of the likeness of two vectors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

BY_WORDS = "memories are found by the words they share, not by their meaning"


class Embedder(ABC):
    """An embedding model. All of it blocks, and is called by one thread at a time.

    Attributes:
        signature: its name, version and dimensions, at most 64 characters; vectors of another
            signature are not comparable.
        least_similarity: below this, 0 to 1, what is found has nothing to do with what was sought.
        notice: what the owner should know of it, or "".
        is_paid: whether somebody charges for each text.
        knows_meaning: whether texts that share no word can be alike.
        base_cosine: the usual cosine of texts that have nothing to do with each other.
    """

    signature: str
    least_similarity: float
    notice: str
    is_paid: bool
    knows_meaning: bool
    base_cosine: float

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The length of a vector; a model that has to be asked for that is asked."""

    @abstractmethod
    def embed_query(self, text: str) -> Any:
        """The vector of what is sought: float32, of length 1, shape (dimensions,).

        Raises:
            MemoryStoreError: there is no vector to be had.
        """

    @abstractmethod
    def embed_passages(self, texts: Sequence[str]) -> Any:
        """The vectors of what is kept: float32, each of length 1, shape (texts, dimensions).

        Raises:
            MemoryStoreError: there are no vectors to be had.
        """

    def similarity(self, cosine: float) -> float:
        """The meaning of a cosine: 0 nothing alike, 1 the same.

        The root spreads what matters: from unrelated to related is the smaller part of the way.
        """
        share = (cosine - self.base_cosine) / (1.0 - self.base_cosine)
        return math.sqrt(min(1.0, max(0.0, share)))

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of models and connections, where there are any."""


def cut(text: str, most_chars: int) -> str:
    """The beginning of a text that is too long for a model, cut between words where it has any."""
    if len(text) <= most_chars:
        return text
    head = text[:most_chars]
    whole, _, rest = head.rpartition(" ")
    return whole if len(rest) < most_chars // 4 else head


MOST_KEPT = 4_000


class Likeness:
    """Compares texts with one embedding model. All of it blocks, and is called by one thread."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # By text, and whether it asks: models make other vectors of questions than of statements.
        self._vectors: OrderedDict[tuple[str, bool], Any] = OrderedDict()

    def of(
        self, queries: Sequence[str], texts: Sequence[str], questions: Sequence[str] = ()
    ) -> list[dict[str, float]]:
        """The similarity, 0 to 1, of each query to each text and question, by text.

        Raises:
            MemoryStoreError: there are no vectors to be had.
        """
        known = [*((text, False) for text in texts), *((text, True) for text in questions)]
        self._learn(known)
        return [self._one(query, known) for query in queries]

    def _one(self, query: str, known: Sequence[tuple[str, bool]]) -> dict[str, float]:
        sought, similarity = self._embedder.embed_query(query), self._embedder.similarity
        return {key[0]: similarity(float(sought @ self._vectors[key])) for key in known}

    def _learn(self, known: Sequence[tuple[str, bool]]) -> None:
        """The vectors of texts that are new; those not asked for lately go."""
        for key in known:
            if key in self._vectors:
                self._vectors.move_to_end(key)
            else:  # one by one, so that what was made before a deadline is there the next time
                self._vectors[key] = self._vector(*key)
        while len(self._vectors) > max(MOST_KEPT, len(known)):
            self._vectors.popitem(last=False)

    def _vector(self, text: str, asks: bool) -> Any:
        if asks:
            return self._embedder.embed_query(text)
        return self._embedder.embed_passages([text])[0]
