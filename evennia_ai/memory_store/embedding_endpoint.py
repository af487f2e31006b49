"""A client of OpenAI-compatible embeddings APIs. The API's operator can read all memories.

The openai SDK takes half a second to import, so it is imported by the first request.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store.batch_embedding import BatchEmbedder, signature_of

# Below the deadline of a search (5 s), so that the error names the cause and not the deadline.
TIMEOUT_SECONDS = 4.0


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
