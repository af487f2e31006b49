"""Adapters that let mem0's public `Memory` rank the game's memories.

mem0 calls no language model, uses no network and stores no text. Importing it takes a second and
62 MB, so this module is imported in the worker thread, once there are memories to search.
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
# Lower bound of the score of a memory that has a vector; see UNKNOWN.
MIN_SCORE = 1e-6
Filters = Mapping[str, Any]


class Mem0Hit(NamedTuple):
    """A search result in the form that mem0 expects."""

    id: str
    score: float
    payload: Mapping[str, str]


def _as_hit(key: str, score: float) -> Mem0Hit:
    # mem0 gets the key in place of the text, so that it never sees a player's words.
    return Mem0Hit(key, score, {"data": key})


class SearchParts:
    """The dependencies of `GameVectors`, as a value in mem0's settings.

    Not a dataclass, which pydantic would take apart and build anew.
    """

    def __init__(self, index: Index, backend: VectorBackend, embedder: Embedder) -> None:
        self.index = index
        self.backend = backend
        self.embedder = embedder

    def __deepcopy__(self, memo: object) -> SearchParts:
        """Return itself: mem0 copies its settings, but the index must not be copied."""
        return self


class GameVectors(VectorStoreBase):
    """The game's memories as a mem0 vector store with semantic and BM25 search.

    Read-only: vectors are written by `Mem0Store.add`, together with the rows of the table.
    """

    def __init__(self, collection_name: str, places: SearchParts) -> None:
        self.collection_name = collection_name
        self._places = places

    def search(
        self, query: str, vectors: Sequence[float], top_k: int = 5, filters: Filters | None = None
    ) -> list[Mem0Hit]:
        """Search by meaning. The best hits by words are scored as well."""
        if self.collection_name != PROVIDER:  # mem0's own collection of entities is empty
            return []
        parsed = read_filters(query, top_k, filters)
        view = self._view(parsed)
        vector = np.asarray(vectors, np.float32)
        # mem0 drops hits of the keyword search that the semantic search did not return.
        also = view.best(view.words(query), top_k)
        cosines = self._places.backend.search(view, parsed, vector, also)
        return [_as_hit(key, self._score(cosine)) for key, cosine in cosines.items()]

    def _score(self, cosine: float | None) -> float:
        if cosine is None:
            return UNKNOWN
        return max(MIN_SCORE, self._places.embedder.similarity(cosine))

    def keyword_search(
        self, query: str, top_k: int = 5, filters: Filters | None = None
    ) -> list[Mem0Hit]:
        """Search by words, with BM25 scores."""
        parsed = read_filters(query, top_k, filters)
        view = self._view(parsed)
        scores = view.words(query)
        places = view.best(scores, top_k)
        return list(map(_as_hit, view.keys(places), scores[places].tolist()))

    def _view(self, parsed: MemoryQuery) -> View:
        return self._places.index.view(parsed.collection, parsed.audiences, parsed.min_trust)

    def list_cols(self) -> list[str]:
        """The only collection; filters select the assistant."""
        return [self.collection_name]

    def col_info(self) -> dict[str, str]:
        """The collection's name."""
        return {"name": self.collection_name}

    def create_col(self, name: str, vector_size: int, distance: str) -> None:
        """Do nothing: the table exists."""

    def _refuse(self, *arguments: object, **named: object) -> None:
        raise MemoryStoreError("mem0 wanted to change memories, which only the game's table does")

    insert = delete = update = get = delete_col = list = reset = _refuse


def read_filters(query: str, limit: int, filters: Filters | None) -> MemoryQuery:
    """Parse a filter made by `filters_of`.

    Raises:
        ValueError: the filter has anything else than an assistant, audiences and a trust.
    """
    rest = dict(filters or {})
    number, audiences, trust = (rest.pop(name, {}) for name in ("agent_id", "audience", "trust"))
    if rest or not str(number).isdigit() or set(audiences) != {"in"} or set(trust) - {"gte"}:
        raise ValueError(f"{filters!r} is not a filter of an assistant, audiences and trust")
    allowed = tuple(checked_audiences(audiences["in"]))
    return MemoryQuery(int(number), query, allowed, limit, float(trust.get("gte", 0.0)))


class _StoreConfig(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    collection_name: str = PROVIDER
    places: SearchParts


class RefusingModel(LLMBase):
    """The language model that mem0 requires. It is never called: the game derives memories."""

    def generate_response(self, *arguments: object, **named: object) -> str:
        """Refuse."""
        raise MemoryStoreError("mem0 asked a language model, which it never may")


class Embedding(EmbeddingBase):
    """The game's embedding model behind mem0's interface; mem0 only embeds queries."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Embed a query."""
        embedder: Embedder = self.config.model
        numbers: list[float] = embedder.embed_query(text).tolist()
        return numbers


def make_memory(embedder: Embedder, index: Index, backend: VectorBackend) -> Any:
    """Create mem0's `Memory` over the game's memories. Its history stays empty, in memory."""
    EmbedderFactory.provider_to_class[PROVIDER] = f"{__name__}.Embedding"
    LlmFactory.provider_to_class[PROVIDER] = (f"{__name__}.RefusingModel", BaseLlmConfig)
    VectorStoreFactory.provider_to_class[PROVIDER] = f"{__name__}.GameVectors"
    # mem0's validators reject providers they do not know; `model_construct` skips validation.
    return Memory(
        MemoryConfig.model_construct(
            vector_store=VectorStoreConfig.model_construct(
                provider=PROVIDER, config=_StoreConfig(places=SearchParts(index, backend, embedder))
            ),
            embedder=EmbedderConfig.model_construct(provider=PROVIDER, config={"model": embedder}),
            llm=LlmConfig.model_construct(provider=PROVIDER, config={}),
            history_db_path=":memory:",
        )
    )
