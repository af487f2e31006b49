"""Embedding models about which nothing is known: the checks of their vectors, and a function."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store.embedding import Embedder, cut
from evennia_ai.memory_store.vectors import normalised

# Common embedding models read at least 512 tokens, which are about 2,000 characters.
MOST_CHARS = 2_000
# A guess for an unknown model; unrelated texts are mostly below this.
BASE_COSINE = 0.1
# The width of the column `indexed_as`.
MOST_SIGNATURE = 64


class BatchEmbedder(Embedder):
    """An embedding model of which nothing is known: its vectors are checked and scaled."""

    least_similarity = 0.3
    knows_meaning = True
    base_cosine = BASE_COSINE
    _dimensions = 0

    @abstractmethod
    def _vectors_of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, none of which is empty."""

    @abstractmethod
    def _problem(self, reason: str) -> MemoryStoreError:
        """The error that names the model."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors. The first use embeds a word."""
        if not self._dimensions:
            self._ask(["memory"])
        return self._dimensions

    def embed_query(self, text: str) -> Any:
        """Embed a query."""
        return self._ask([text])[0]

    def embed_passages(self, texts: Sequence[str]) -> Any:
        """Embed texts to be stored."""
        return self._ask(texts) if texts else np.zeros((0, self.dimensions), np.float32)

    def _ask(self, texts: Sequence[str]) -> Any:
        # OpenAI's API rejects empty texts.
        vectors = self._vectors_of([cut(text, MOST_CHARS).strip() or "-" for text in texts])
        self._check(vectors, len(texts))
        return np.stack([normalised(vector) for vector in vectors])

    def _check(self, vectors: NDArray[np.float32], count: int) -> None:
        if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
            raise self._problem(f"its answer is not {count} vectors of one length")
        if not np.isfinite(vectors).all():
            raise self._problem("its vectors hold what is not a number")
        width = int(vectors.shape[1])
        if self._dimensions and width != self._dimensions:
            raise self._problem(f"it gave {width} numbers, and {self._dimensions} before")
        self._dimensions = width


class FunctionEmbedder(BatchEmbedder):
    """A function of the game: it takes a list of texts and returns a list of vectors."""

    is_paid = False
    notice = ""

    def __init__(self, path: str, function: Callable[[list[str]], Any]) -> None:
        self.model = path
        self.signature = signature_of(path)
        self._function = function

    def _vectors_of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            answer = self._function(list(texts))
        except Exception as error:  # a game's function may raise anything
            raise self._problem(f"{type(error).__name__}: {error}") from error
        try:
            return np.asarray(answer, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._problem("its answer is not a list of vectors of one length") from error

    def _problem(self, reason: str) -> MemoryStoreError:
        return MemoryStoreError(f"{self.model} makes no vectors: {one_line(reason, 160)}")


def signature_of(name: str) -> str:
    """A name as a signature, at most as long as its column."""
    if len(name) <= MOST_SIGNATURE:
        return name
    # A hash of the whole name keeps long names distinct after truncation.
    return f"{name[: MOST_SIGNATURE - 13]}~{sha256(name.encode()).hexdigest()[:12]}"
