"""An in-memory index of the table: partitions, loaded on first use and evicted when unused."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evennia_ai.memory_store.partition import Partition
from evennia_ai.memory_store.port import Item, MemoryQuery
from evennia_ai.memory_store.table import MemoryRow, Table
from evennia_ai.memory_store.vectors import Scores, Vector, best
from evennia_ai.memory_store.words import Corpus, stems

# Vectors in memory, of all assistants together: 512 MiB, each partition for an hour after its
# last use.
MOST_BYTES = 512 * 1024 * 1024
LONGEST_UNUSED = 3_600.0
# Counters of `rows` only see this process. Rows that another process wrote are found by reading
# the table again after this many seconds.
RECHECK_SECONDS = 60.0
# Above any primary key, and below the limit of SQLite's and PostgreSQL's 64-bit integers.
MAX_ID = 2**62
# Semantic score of a memory without a vector. mem0 takes no None, so real scores are above 0.
UNKNOWN = 0.0


@dataclass(frozen=True, slots=True)
class _ReadState:
    """The progress of reading an assistant's memories.

    Attributes:
        newest: id of the last row that was read.
        epoch, arrivals: counters of the table at that time.
        at: time of reading, in seconds of the monotonic clock.
    """

    newest: int
    epoch: int
    arrivals: int
    at: float


class _CachedPartition(NamedTuple):
    """A partition in memory.

    Attributes:
        asked_at: time of its last use, in seconds of the monotonic clock.
        size: bytes of its vectors at that time.
    """

    asked_at: float
    size: int
    part: Partition


class View:
    """The partitions that one search may read, addressed as a single array of positions.

    Attributes:
        fit: positions of the memories that may be returned, ascending.
    """

    def __init__(self, parts: Sequence[Partition], min_trust: float) -> None:
        self.parts = parts
        self.min_trust = min_trust
        flags = [part.fit(min_trust) for part in parts]
        self.fit = np.flatnonzero(np.concatenate(flags) if flags else np.zeros(0, np.bool_))
        self._ends = np.cumsum([len(part) for part in parts])
        self._scores: tuple[set[int], Scores] = (set(), np.zeros(self.size, np.float32))

    @property
    def size(self) -> int:
        """Number of memories, including those that may not be returned."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def keys(self, places: NDArray[np.intp]) -> list[str]:
        """Keys of the memories at the given positions."""
        numbers = np.searchsorted(self._ends, places, "right")
        begins = np.concatenate(([0], self._ends))
        within = places - begins[numbers]
        pairs = zip(numbers.tolist(), within.tolist(), strict=True)
        return [self.parts[number].keys[place] for number, place in pairs]

    def may_tell(self, key: str) -> bool:
        """True if the memory is in the view and is not just a question."""
        return any(part.tells(key) for part in self.parts)

    def cosines(self, vector: Vector) -> Scores:
        """Cosine of each memory to a unit vector."""
        return _joined([part.cosines(vector) for part in self.parts])

    def words(self, query: str) -> Scores:
        """BM25 score of each memory for a query."""
        query_stems = set(stems(query))
        # The last result is cached: one search asks for the same scores three times.
        if query_stems != self._scores[0]:
            self._scores = query_stems, self._words(query_stems)
        return self._scores[1]

    def _words(self, wanted: set[int]) -> Scores:
        corpus, places_by_part = Corpus(), [part.words.find(wanted) for part in self.parts]
        for part, places in zip(self.parts, places_by_part, strict=True):
            part.words.count_into(corpus, places)
        weights, mean = corpus.weights(), corpus.length / max(1, corpus.texts)
        pairs = zip(self.parts, places_by_part, strict=True)
        return _joined([part.words.scores(places, weights, mean) for part, places in pairs])

    def best(self, scores: Scores, limit: int) -> NDArray[np.intp]:
        """Positions in `fit` with the highest scores above 0, highest first."""
        ranked = self.fit[best(scores[self.fit], limit)]
        return ranked[scores[ranked] > 0.0]


def _joined(columns: Sequence[Scores]) -> Scores:
    return np.concatenate(columns) if columns else np.zeros(0, np.float32)


class VectorBackend(Protocol):
    """The storage of vectors: the table, or a server."""

    def search(
        self, view: View, query: MemoryQuery, vector: Vector, also: NDArray[np.intp]
    ) -> Mapping[str, float | None]:
        """Find the nearest vectors, and also score the memories at the positions in `also`.

        Returns:
            Cosine by key, or None if the memory has no comparable vector.
        """

    def add(self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]) -> list[bytes]:
        """Store vectors. Returns them as bytes for the table, or [] if a server keeps them."""

    def remove(self, collection: int, keys: Sequence[str]) -> None:
        """Delete vectors."""

    def keys(self, collection: int) -> set[str]:
        """Keys of the memories that have a vector."""

    def drop(self, collection: int) -> None:
        """Delete all vectors of a collection, whatever embedding model made them."""

    def explain(self, error: Exception) -> str:
        """One sentence about an error for the game's owner, without secrets."""

    def close(self) -> None:
        """Close connections."""


class Index:
    """Partitions of all assistants by audience. Not thread-safe."""

    def __init__(self, table: Table, signature: str) -> None:
        """Create an empty index.

        Args:
            signature: embedding model whose vectors are loaded.
        """
        self._table = table
        self._signature = signature
        self._parts: OrderedDict[tuple[int, str], _CachedPartition] = OrderedDict()
        self._size = 0
        self._seen: dict[int, _ReadState] = {}
        self._last = View((), 0.0)

    def refresh(self, collection: int) -> None:
        """Catch up with memories that were added, changed or deleted since the last search."""
        # Counters before rows: a change that comes in between is then seen by the next search.
        epoch, arrivals = self._table.epoch(collection), self._table.arrivals(collection)
        last_read, now = self._seen.get(collection), time.monotonic()
        if last_read is not None and last_read.epoch != epoch:
            self.forget(collection)
            last_read = None
        if last_read is None:
            newest = self._table.newest(collection)
        elif arrivals == last_read.arrivals and now - last_read.at < RECHECK_SECONDS:
            return
        else:
            newest = self._append_new_rows(collection, last_read.newest)
        self._seen[collection] = _ReadState(newest, epoch, arrivals, now)

    def _append_new_rows(self, collection: int, newest: int) -> int:
        """Add rows with an id above `newest` to the loaded partitions. Returns the new last id."""
        for page in self._pages(collection, None, newest, MAX_ID):
            for row in page:
                entry = self._parts.get((collection, row.audience))
                if entry is not None:
                    entry.part.extend([row])
            newest = page[-1].number
        return newest

    def view(self, collection: int, audiences: Sequence[str], min_trust: float) -> View:
        """The memories a search may find, as of the last `refresh`."""
        parts = [part for each in audiences if len(part := self._load_partition(collection, each))]
        self._evict()
        # mem0 asks for the view several times in one search; reusing it keeps its BM25 scores.
        # The sizes are compared as well, because a partition grows in place.
        is_same = parts == self._last.parts and min_trust == self._last.min_trust
        if not is_same or self._last.size != sum(map(len, parts)):
            self._last = View(parts, min_trust)
        return self._last

    def read(self, collection: int, vectors: Mapping[str, tuple[str, Vector]]) -> None:
        """Add new vectors to loaded partitions; given are audience and vector by key."""
        for key, (audience, vector) in vectors.items():
            entry = self._parts.get((collection, audience))
            if entry is not None:
                entry.part.read(key, vector)

    def forget(self, collection: int) -> None:
        """Evict all partitions of an assistant."""
        for place in [place for place in self._parts if place[0] == collection]:
            self._drop(place)
        self._seen.pop(collection, None)
        self._last = View((), 0.0)

    def _drop(self, place: tuple[int, str]) -> Partition | None:
        entry = self._parts.pop(place, None)
        self._size -= entry.size if entry else 0
        return entry.part if entry else None

    def _load_partition(self, collection: int, audience: str) -> Partition:
        place = collection, audience
        # Removed and inserted again: this moves it to the end of the LRU order and counts its
        # size anew, as it may have grown.
        part = self._drop(place)
        if part is None:
            part = Partition()
            # Only up to the row where the others stop, so that `_append_new_rows` adds each once.
            for page in self._pages(collection, audience, 0, self._seen[collection].newest):
                part.extend(page)
        self._parts[place] = _CachedPartition(time.monotonic(), part.size, part)
        self._size += part.size
        return part

    def _pages(
        self, collection: int, audience: str | None, after: int, until: int
    ) -> Iterator[Sequence[MemoryRow]]:
        page: Sequence[MemoryRow] = ()
        while not page or len(page) == self._table.page_size:
            page = self._table.page(collection, self._signature, audience, after, until)
            if not page:
                return
            yield page
            after = page[-1].number

    def _evict(self) -> None:
        """Evict unused partitions, and the least recently used ones while memory is over budget."""
        before = time.monotonic() - LONGEST_UNUSED
        # The partition used last stays even if it alone is over budget: a search needs it.
        while len(self._parts) > 1:
            place, entry = next(iter(self._parts.items()))
            if self._size <= MOST_BYTES and entry.asked_at >= before:
                return
            self._drop(place)
