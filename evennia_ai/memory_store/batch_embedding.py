"""Embedding models about which nothing is known: the checks of their vectors, a function, an API.

The operator of an OpenAI-compatible embeddings API can read all memories. The openai SDK takes half
a second to import, so it is imported by the first request.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from hashlib import sha256
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

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
# Below the deadline of a search (5 s), so that the error names the cause and not the deadline.
TIMEOUT_SECONDS = 4.0
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


class EndpointEmbedder(BatchEmbedder):
    """An embedding model behind an API. One request per batch, without retries."""

    is_paid = True

    def __init__(self, model: str, url: str, key: str) -> None:
        self.model = model
        self._url = url
        self._key = key
        self._place = urlsplit(url).netloc
        self._client: Any = None
        self.signature = signature_of(f"{model}@{self._place}")
        self.notice = f"what is remembered is sent to {self._place}, which makes vectors of it"

    def close(self) -> None:
        """Close connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _vectors_of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        openai = importlib.import_module("openai")
        try:
            # The SDK's default is base64, which not every compatible service supports.
            answer = self._opened(openai).embeddings.create(
                model=self.model, input=texts, encoding_format="float"
            )
            # Not every service returns vectors in the order of the texts, or says their place.
            rows = sorted(answer.data, key=lambda row: row.index or 0)
            return np.asarray([row.embedding for row in rows], dtype=np.float32)
        except openai.OpenAIError as error:
            raise self._problem(f"{type(error).__name__}: {error}") from error
        except (AttributeError, TypeError, ValueError) as error:
            raise self._problem("its answer is not a list of vectors") from error

    def _opened(self, openai: ModuleType) -> Any:
        if self._client is None:
            self._client = openai.OpenAI(
                base_url=self._url,
                # With an empty key the SDK sends an invalid header, and each request fails.
                api_key=self._key or "none",
                timeout=TIMEOUT_SECONDS,
                # A retry would exceed the deadline; the memory stays queued for indexing.
                max_retries=0,
            )
        return self._client

    def _problem(self, reason: str) -> MemoryStoreError:
        # Some services repeat the key in their error message.
        text = reason.replace(self._key, "***") if self._key else reason
        return MemoryStoreError(
            f"the embeddings API at {self._place} cannot be used: {one_line(text, 160)}"
        )


def signature_of(name: str) -> str:
    """A name as a signature, at most as long as its column."""
    if len(name) <= MOST_SIGNATURE:
        return name
    # A hash of the whole name keeps long names distinct after truncation.
    return f"{name[: MOST_SIGNATURE - 13]}~{sha256(name.encode()).hexdigest()[:12]}"
