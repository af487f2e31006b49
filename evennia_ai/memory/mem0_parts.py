"""mem0 as this package uses it: it neither calls a model, nor the network, nor keeps words.

Imported by name when a store is opened, in the thread that uses it: mem0 takes a second to import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase
from mem0.llms.base import LLMBase
from mem0.memory import main, telemetry
from mem0.utils.factory import EmbedderFactory, LlmFactory, VectorStoreFactory

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory.embedding import Embedder

HERE = __name__
EMBEDDER, MODEL = "fastembed", "lmstudio"  # names that mem0's own check lets through


class Backend(Protocol):
    """Where collections are kept.

    Attributes:
        provider: mem0's name of it.
        store_class: dotted name of the class of its collections.
    """

    provider: str
    store_class: str

    def config(self, name: str, dimensions: int) -> dict[str, Any]:
        """What mem0 makes a collection of."""

    def names(self) -> set[str]:
        """The collections that are there."""

    def drop(self, name: str) -> None:
        """Remove a collection."""

    def explain(self, error: Exception) -> str:
        """What went wrong, as one sentence for people and without a secret."""

    def close(self) -> None:
        """Let go of files and connections."""


class RefusingModel(LLMBase):  # type: ignore[misc]
    """The language model that mem0 insists on. What is a memory, the game decides itself."""

    def generate_response(self, *arguments: Any, **named: Any) -> str:
        """Refuse."""
        raise MemoryStoreError("mem0 asked a language model, which it never may")


class Prepared(EmbeddingBase):  # type: ignore[misc]
    """Vectors for mem0: of what is put in, made beforehand and many at once; of what is sought."""

    embedder: Embedder

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.vectors: dict[str, Any] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """A vector as mem0 wants it."""
        made = self.embedder.embed_query(text) if memory_action == "search" else self.vectors[text]
        numbers: list[float] = made.tolist()
        return numbers


@contextmanager
def _replaced(providers: dict[str, Any], name: str, value: Any) -> Iterator[None]:
    before = providers[name]
    providers[name] = value
    try:
        yield
    finally:
        providers[name] = before


def make_memory(embedder: Embedder, backend: Backend, name: str, dimensions: int) -> Any:
    """A mem0 Memory on one collection, which is made when it is not there.

    Its history is kept in memory only: what is forgotten must not stay in it.
    """
    _quieten()
    models = LlmFactory.provider_to_class
    config: Mapping[str, Any] = {
        "vector_store": {"provider": backend.provider, "config": backend.config(name, dimensions)},
        "embedder": {"provider": EMBEDDER, "config": {"embedding_dims": dimensions}},
        "llm": {"provider": MODEL, "config": {}},
        "history_db_path": ":memory:",
    }
    with (
        _replaced(EmbedderFactory.provider_to_class, EMBEDDER, f"{HERE}.Prepared"),
        _replaced(models, MODEL, (f"{HERE}.RefusingModel", models[MODEL][1])),
        _replaced(VectorStoreFactory.provider_to_class, backend.provider, backend.store_class),
    ):
        memory = Memory.from_config(dict(config))
    memory.embedding_model.embedder = embedder
    return memory


def _quieten() -> None:
    """Switch off what calls home and what looks for models of language to download."""
    for module in (main, telemetry):
        module.MEM0_TELEMETRY = False
    main.extract_entities = _no_entities
    main.lemmatize_for_bm25 = str


def _no_entities(text: str) -> list[Any]:
    return []
