"""The store on a Qdrant server of this game's own: collections bear only an assistant's id."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from qdrant_client import QdrantClient

from evennia_ai.memory_store.embedding import Embedder
from evennia_ai.memory_store.server_vectors import ServerVectors

# Less than a search may take, so that the reason is told and not only that it is late.
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
            # Else the client asks the server while it is made, before anybody looks for anything.
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
        """The collections that are there."""
        return {entry.name for entry in self._client.get_collections().collections}

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()


make = QdrantVectors
