"""The store on a Qdrant server of this game's own: collections bear only an assistant's id."""

from __future__ import annotations

from urllib.parse import urlsplit

from qdrant_client import QdrantClient, models

from evennia_ai.core.text import one_line
from evennia_ai.memory.index import KeyedQdrant, QdrantBackend

# Less than a search may take, so that the reason is told and not only that it is late.
TIMEOUT_SECONDS = 4
INDEXES = {
    "audience": models.PayloadSchemaType.KEYWORD,
    "trust": models.PayloadSchemaType.FLOAT,
}


class ServerQdrant(KeyedQdrant):
    """A collection on a server."""

    def _create_filter_indexes(self) -> None:
        for field, schema in INDEXES.items():
            self.client.create_payload_index(
                collection_name=self.collection_name, field_name=field, field_schema=schema
            )


class Backend(QdrantBackend):
    """A Qdrant server."""

    store_class = f"{__name__}.ServerQdrant"

    def __init__(self, url: str, api_key: str) -> None:
        self._place = urlsplit(url).netloc
        self._api_key = api_key
        self._client = QdrantClient(
            url=url,
            api_key=api_key or None,
            timeout=TIMEOUT_SECONDS,
            check_compatibility=False,
        )

    def explain(self, error: Exception) -> str:
        """What went wrong."""
        text = f"{type(error).__name__}: {error}"
        if self._api_key:
            text = text.replace(self._api_key, "***")
        return f"the Qdrant server at {self._place} cannot be used: {one_line(text, 160)}"
