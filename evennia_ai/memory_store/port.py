"""The values that go in and out of the memory store: memories, searches and hits."""

from __future__ import annotations

from dataclasses import dataclass


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
        audiences: only memories of these audiences are searched.
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
