"""mem0 as this package uses it: its public Memory ranks, on a vector store registered with it.

It neither calls a model, nor the network, nor keeps words. Imported by name when there is something
to find by its meaning, in the thread that uses it: mem0 takes a second to import, and 62 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from mem0 import Memory
from mem0.configs.base import MemoryConfig
from mem0.configs.llms.base import BaseLlmConfig
from mem0.embeddings.base import EmbeddingBase
from mem0.embeddings.configs import EmbedderConfig
from mem0.llms.base import LLMBase
from mem0.llms.configs import LlmConfig
from mem0.utils.factory import EmbedderFactory, LlmFactory, VectorStoreFactory
from mem0.vector_stores.base import VectorStoreBase
from mem0.vector_stores.configs import VectorStoreConfig
from pydantic import BaseModel, ConfigDict

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store.checks import checked_audiences
from evennia_ai.memory_store.embedding import Embedder
from evennia_ai.memory_store.index import UNKNOWN, Index, VectorBackend, View
from evennia_ai.memory_store.port import MemoryQuery

PROVIDER = "evennia_ai"
# The least score of what has a vector.
LEAST = 1e-6
Filters = Mapping[str, Any]


class Found(NamedTuple):
    """A memory that was found, as mem0 reads it."""

    id: str
    score: float
    payload: Mapping[str, str]


def _found(key: str, score: float) -> Found:
    """A memory by its key; mem0 is given the key in place of the words."""
    return Found(key, score, {"data": key})


class Places:
    """The backend that the registered vector store looks in.

    No dataclass: mem0 has pydantic take its settings apart, and would be handed the pieces.
    """

    def __init__(self, index: Index, backend: VectorBackend, embedder: Embedder) -> None:
        self.index = index
        self.backend = backend
        self.embedder = embedder

    def __deepcopy__(self, memo: object) -> Places:
        """Itself: mem0 copies its settings."""
        return self


class GameVectors(VectorStoreBase):
    """The game's memories as a vector store of mem0's kind: by meaning, and by words with BM25.

    What mem0 would write goes through `Mem0Store.add`, as its rows are written with their table.
    """

    def __init__(self, collection_name: str, places: Places) -> None:
        self.collection_name = collection_name
        self._places = places

    def search(
        self, query: str, vectors: Sequence[float], top_k: int = 5, filters: Filters | None = None
    ) -> list[Found]:
        """The most alike in meaning, and those of the same words beside them."""
        if self.collection_name != PROVIDER:  # mem0's own, of what it would draw from words
            return []
        sought = read_filters(query, top_k, filters)
        view = self._view(sought)
        vector = np.asarray(vectors, np.float32)
        also = view.best(view.words(query), top_k)
        cosines = self._places.backend.search(view, sought, vector, also)
        return [_found(key, self._score(cosine)) for key, cosine in cosines.items()]

    def _score(self, cosine: float | None) -> float:
        """The meaning of a cosine, whatever the embedding model."""
        return UNKNOWN if cosine is None else max(LEAST, self._places.embedder.similarity(cosine))

    def keyword_search(
        self, query: str, top_k: int = 5, filters: Filters | None = None
    ) -> list[Found]:
        """Those that share the most words, with their BM25."""
        sought = read_filters(query, top_k, filters)
        view = self._view(sought)
        scores = view.words(query)
        places = view.best(scores, top_k)
        return list(map(_found, view.keys(places), scores[places].tolist()))

    def _view(self, sought: MemoryQuery) -> View:
        return self._places.index.view(sought.collection, sought.audiences, sought.min_trust)

    def list_cols(self) -> list[str]:
        """Its one name; whose memories are meant, the filters say."""
        return [self.collection_name]

    def col_info(self) -> dict[str, str]:
        """Its name."""
        return {"name": self.collection_name}

    def create_col(self, name: str, vector_size: int, distance: str) -> None:
        """There is nothing to make: the table is there."""

    def _refuse(self, *arguments: object, **named: object) -> None:
        raise MemoryStoreError("mem0 wanted to change memories, which only the game's table does")

    insert = delete = update = get = delete_col = list = reset = _refuse


def read_filters(query: str, limit: int, filters: Filters | None) -> MemoryQuery:
    """A search as `filters_of` wrote it.

    Raises:
        ValueError: the filter is another than of an assistant, audiences and trust.
    """
    left = dict(filters or {})
    number, audiences, trust = (left.pop(name, {}) for name in ("agent_id", "audience", "trust"))
    if left or not str(number).isdigit() or set(audiences) != {"in"} or set(trust) - {"gte"}:
        raise ValueError(f"{filters!r} is not a filter of an assistant, audiences and trust")
    wanted = tuple(checked_audiences(audiences["in"]))
    return MemoryQuery(int(number), query, wanted, limit, float(trust.get("gte", 0.0)))


class _StoreConfig(BaseModel):
    """The settings of which mem0 makes `GameVectors`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    collection_name: str = PROVIDER
    places: Places


class RefusingModel(LLMBase):
    """The language model that mem0 insists on. What is a memory, the game decides itself."""

    def generate_response(self, *arguments: object, **named: object) -> str:
        """Refuse."""
        raise MemoryStoreError("mem0 asked a language model, which it never may")


class Embedding(EmbeddingBase):
    """The game's embedding model as mem0 asks it: for what is sought."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text."""
        embedder: Embedder = self.config.model
        numbers: list[float] = embedder.embed_query(text).tolist()
        return numbers


def make_memory(embedder: Embedder, index: Index, backend: VectorBackend) -> Any:
    """mem0's Memory on the game's memories. Its history is kept nowhere."""
    EmbedderFactory.provider_to_class[PROVIDER] = f"{__name__}.Embedding"
    LlmFactory.provider_to_class[PROVIDER] = (f"{__name__}.RefusingModel", BaseLlmConfig)
    VectorStoreFactory.provider_to_class[PROVIDER] = f"{__name__}.GameVectors"
    # mem0's own checks know its own providers only; pydantic makes a model without them.
    return Memory(
        MemoryConfig.model_construct(
            vector_store=VectorStoreConfig.model_construct(
                provider=PROVIDER, config=_StoreConfig(places=Places(index, backend, embedder))
            ),
            embedder=EmbedderConfig.model_construct(provider=PROVIDER, config={"model": embedder}),
            llm=LlmConfig.model_construct(provider=PROVIDER, config={}),
            history_db_path=":memory:",
        )
    )
