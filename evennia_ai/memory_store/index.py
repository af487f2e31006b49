"""The search's picture of the table: partitions, read when they are first asked, let go unused."""

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

# What stays in memory, for all assistants together, and for how long unasked.
MOST_BYTES = 512 * 1024 * 1024
LONGEST_UNUSED = 3_600.0
# What another process of the game keeps is found after this.
OTHERS_SECONDS = 60.0
LAST = 2**62
# The score of what has no vector yet.
UNKNOWN = 0.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """The place up to which an assistant's memories were read.

    Attributes:
        newest: the number of the last of them.
        epoch, arrivals: of the shelf, then.
        at: when, by the machine's clock.
    """

    newest: int
    epoch: int
    arrivals: int
    at: float


class _Held(NamedTuple):
    """A partition that was read.

    Attributes:
        asked_at: when last, by the machine's clock.
        size: how many bytes its vectors took then.
    """

    asked_at: float
    size: int
    part: Partition


class View:
    """The reach of one search: some partitions, as one list of places.

    Attributes:
        fit: the places of what may be told, in order.
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
        """Number of its memories, also of those that may not be told."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def keys(self, places: NDArray[np.intp]) -> list[str]:
        """The keys of the memories at some places."""
        numbers = np.searchsorted(self._ends, places, "right")
        begins = np.concatenate(([0], self._ends))
        within = places - begins[numbers]
        pairs = zip(numbers.tolist(), within.tolist(), strict=True)
        return [self.parts[number].keys[place] for number, place in pairs]

    def may_tell(self, key: str) -> bool:
        """True for a memory that is there and tells something."""
        return any(part.tells(key) for part in self.parts)

    def cosines(self, vector: Vector) -> Scores:
        """The likeness of each place to a vector of length 1."""
        return _joined([part.cosines(vector) for part in self.parts])

    def words(self, query: str) -> Scores:
        """BM25 of each place for the words of a text. One search asks for the same three times."""
        sought = set(stems(query))
        if sought != self._scores[0]:
            self._scores = sought, self._words(sought)
        return self._scores[1]

    def _words(self, sought: set[int]) -> Scores:
        corpus, found = Corpus(), [part.words.find(sought) for part in self.parts]
        for part, places in zip(self.parts, found, strict=True):
            part.words.count_into(corpus, places)
        weights, mean = corpus.weights(), corpus.length / max(1, corpus.texts)
        pairs = zip(self.parts, found, strict=True)
        return _joined([part.words.scores(places, weights, mean) for part, places in pairs])

    def best(self, scores: Scores, limit: int) -> NDArray[np.intp]:
        """The fit places with the highest scores above 0, the highest first."""
        found = self.fit[best(scores[self.fit], limit)]
        return found[scores[found] > 0.0]


def _joined(columns: Sequence[Scores]) -> Scores:
    return np.concatenate(columns) if columns else np.zeros(0, np.float32)


class VectorBackend(Protocol):
    """The home of the vectors: the table, or a server.

    It outlives mem0's copies of its own settings, and is never copied with them.
    """

    def search(
        self, view: View, sought: MemoryQuery, vector: Vector, also: NDArray[np.intp]
    ) -> Mapping[str, float | None]:
        """The most alike in meaning, as many as are sought, and what stands at some other places.

        Returns:
            The cosine by key; None of what cannot be compared.
        """

    def add(self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]) -> list[bytes]:
        """Keep vectors; returns them as the table is to keep them, [] where it need not."""

    def remove(self, collection: int, keys: Sequence[str]) -> None:
        """Take vectors out."""

    def keys(self, collection: int) -> set[str]:
        """The memories whose vectors are kept."""

    def drop(self, collection: int) -> None:
        """Remove all of a collection's vectors, whatever embedding model made them."""

    def explain(self, error: Exception) -> str:
        """An error as one sentence for people and without a secret."""

    def close(self) -> None:
        """Let go of connections."""


class Index:
    """Partitions of all assistants by audience. For one thread."""

    def __init__(self, shelf: Table, signature: str) -> None:
        """Make an index; nothing is read yet.

        Args:
            signature: the embedding model whose vectors it reads.
        """
        self._shelf = shelf
        self._signature = signature
        self._parts: OrderedDict[tuple[int, str], _Held] = OrderedDict()
        self._size = 0
        self._seen: dict[int, _Seen] = {}
        self._last = View((), 0.0)

    def refresh(self, collection: int) -> None:
        """Take in what was kept, changed or forgotten since the last search."""
        # Read first: what changes while the rest is read is seen by the next search.
        epoch, arrivals = self._shelf.epoch(collection), self._shelf.arrivals(collection)
        seen, now = self._seen.get(collection), time.monotonic()
        if seen is not None and seen.epoch != epoch:
            self.forget(collection)
            seen = None
        if seen is None:
            newest = self._shelf.newest(collection)
        elif arrivals == seen.arrivals and now - seen.at < OTHERS_SECONDS:
            return
        else:
            newest = self._take_in(collection, seen.newest)
        self._seen[collection] = _Seen(newest, epoch, arrivals, now)

    def _take_in(self, collection: int, newest: int) -> int:
        """Add what came after a memory to the partitions that were read."""
        for page in self._pages(collection, None, newest, LAST):
            for row in page:
                found = self._parts.get((collection, row.audience))
                if found is not None:
                    found.part.extend([row])
            newest = page[-1].number
        return newest

    def view(self, collection: int, audiences: Sequence[str], min_trust: float) -> View:
        """The reach of a search, as the table had it at the last `refresh`."""
        parts = [part for each in audiences if len(part := self._part(collection, each))]
        self._let_go()
        is_same = parts == self._last.parts and min_trust == self._last.min_trust
        if not is_same or self._last.size != sum(map(len, parts)):
            self._last = View(parts, min_trust)
        return self._last

    def read(self, collection: int, vectors: Mapping[str, tuple[str, Vector]]) -> None:
        """Note vectors that were just made: the audience and the vector by key."""
        for key, (audience, vector) in vectors.items():
            found = self._parts.get((collection, audience))
            if found is not None:
                found.part.read(key, vector)

    def forget(self, collection: int) -> None:
        """Let go of all of an assistant's partitions."""
        for place in [place for place in self._parts if place[0] == collection]:
            self._drop(place)
        self._seen.pop(collection, None)
        self._last = View((), 0.0)

    def _drop(self, place: tuple[int, str]) -> Partition | None:
        held = self._parts.pop(place, None)
        self._size -= held.size if held else 0
        return held.part if held else None

    def _part(self, collection: int, audience: str) -> Partition:
        place = collection, audience
        # Taken out and put in at the end: the order is that of use, and it may have grown.
        part = self._drop(place)
        if part is None:
            part = Partition()
            # No further than the others were read, so that `_take_in` adds each row once.
            for page in self._pages(collection, audience, 0, self._seen[collection].newest):
                part.extend(page)
        self._parts[place] = _Held(time.monotonic(), part.size, part)
        self._size += part.size
        return part

    def _pages(
        self, collection: int, audience: str | None, after: int, until: int
    ) -> Iterator[Sequence[MemoryRow]]:
        page: Sequence[MemoryRow] = ()
        while not page or len(page) == self._shelf.page_size:
            page = self._shelf.page(collection, self._signature, audience, after, until)
            if not page:
                return
            yield page
            after = page[-1].number

    def _let_go(self) -> None:
        """Let go of what was not asked for long, and of what is too much, the oldest first."""
        before = time.monotonic() - LONGEST_UNUSED
        # The one that was just asked for stays, however large it is.
        while len(self._parts) > 1:
            place, held = next(iter(self._parts.items()))
            if self._size <= MOST_BYTES and held.asked_at >= before:
                return
            self._drop(place)
