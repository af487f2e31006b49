"""Vectors on a Qdrant server, which games must not share: collections are named by assistant."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from qdrant_client import QdrantClient

from evennia_ai.memory_store.embedding import Embedder
from evennia_ai.memory_store.server_vectors import ServerVectors

# Below the deadline of a search (5 s), so that the error names the cause and not the deadline.
TIMEOUT_SECONDS = 4


class QdrantVectors(ServerVectors):
    """A Qdrant server."""

    provider = "qdrant"
    title = "Qdrant"

    def __init__(self, url: str, api_key: str, embedder: Embedder) -> None:
        super().__init__(embedder, urlsplit(url).netloc, api_key)
        self._client = QdrantClient(
            url=url,
            api_key=api_key or None,
            timeout=TIMEOUT_SECONDS,
            # The check would send a request from the constructor.
            check_compatibility=False,
        )

    def config(self, name: str, dimensions: int) -> dict[str, Any]:
        """The settings of mem0's provider for a collection."""
        return {
            "collection_name": name,
            "embedding_model_dims": dimensions,
            "client": self._client,
            "on_disk": True,
        }

    def names(self) -> set[str]:
        """The existing collections."""
        return {entry.name for entry in self._client.get_collections().collections}

    def close(self) -> None:
        """Close connections."""
        self._client.close()


make = QdrantVectors
