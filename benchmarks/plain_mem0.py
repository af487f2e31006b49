"""mem0, used as its manual does, with our embedding model: the peer of the memory benchmarks.

Nothing leaves the machine: its telemetry is off, and with `infer=False` it calls no language model.
One thing is tuned: its databases use a write-ahead log, since otherwise each addition waits for the
disk twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

# The library reads this while it is imported, and also MEM0_DIR, which `boot` sets.
os.environ["MEM0_TELEMETRY"] = "False"
os.environ.pop("OPENROUTER_API_KEY", None)

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase
from mem0.utils.factory import EmbedderFactory

# The library accepts only names of its own providers.
PROVIDER = "fastembed"
_model: Any = None


class Embedding(EmbeddingBase):  # type: ignore[misc]
    """Uses the embedding model that was set last."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of a text."""
        if memory_action == "search":
            return list(map(float, _model.embed_query(text)))
        return list(map(float, _model.embed_passages([text])[0]))


class PlainMem0:
    """One collection on an embedded Qdrant, with a `user_id` for each owner."""

    def __init__(self, folder: Path, embedder: Any) -> None:
        global _model
        _model = embedder
        size = embedder.dimensions
        vectors = {"path": str(folder / "qdrant"), "embedding_model_dims": size, "on_disk": True}
        model = {"model": "none", "api_key": "none", "openai_base_url": "http://127.0.0.1:9/v1"}
        EmbedderFactory.provider_to_class[PROVIDER] = f"{Embedding.__module__}.Embedding"
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": vectors},
                "embedder": {"provider": PROVIDER, "config": {"embedding_dims": size}},
                "llm": {"provider": "openai", "config": model},
                "history_db_path": str(folder / "history.db"),
            }
        )
        stored = self.memory.vector_store.client._client.collections.values()
        for one in (self.memory.db.connection, *(each.storage.storage for each in stored)):
            one.execute("PRAGMA journal_mode=WAL")
            one.execute("PRAGMA synchronous=NORMAL")

    def add(self, user: str, text: str) -> None:
        """Store a text as it is."""
        self.memory.add(text, user_id=user, infer=False)

    def fill(self, user: str, texts: Sequence[str]) -> None:
        """Insert many texts at once, bypassing the library."""
        vectors = _model.embed_passages(list(texts))
        store = self.memory.vector_store
        payloads = [{"data": text, "user_id": user, "hash": text} for text in texts]
        ids = [uuid4().hex for _ in texts]
        store.insert(vectors=[list(map(float, v)) for v in vectors], payloads=payloads, ids=ids)

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the most similar texts of a user."""
        result = self.memory.search(query, filters={"user_id": user}, top_k=limit)
        return [item["memory"] for item in result["results"]]

    def close(self) -> None:
        """Close its files."""
        self.memory.vector_store.client.close()
        self.memory.close()
