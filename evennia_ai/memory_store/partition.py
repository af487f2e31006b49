"""The memories open to one audience of an assistant: vectors and words, which only grow.

A memory that is changed or forgotten makes the whole partition void; it is read again when it is
next asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from evennia_ai.core.memory.knowledge import asks_only, sought_text
from evennia_ai.core.memory.profiles import MEETING_SECONDS
from evennia_ai.memory_store.table import MemoryRow
from evennia_ai.memory_store.vectors import Scores, Vector, checked_width, normalised, of_kept
from evennia_ai.memory_store.words import Words

GROWTH = 1.2

Flags = NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)


class Partition:
    """Memories in the order they were kept.

    Attributes:
        keys: of the memories.
        words: their words.
    """

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.words = Words()
        self._last: MemoryRow | None = None
        self._places: dict[str, int] = {}
        self._vectors: Scores = np.zeros((0, 0), np.float32)
        self._trust = np.zeros(0, np.float32)
        # All but what only asks.
        self._is_told: Flags = np.zeros(0, np.bool_)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def size(self) -> int:
        """Bytes of its vectors; room for more takes none until it is used."""
        return len(self) * int(self._vectors.shape[1]) * self._vectors.itemsize

    def tells(self, key: str) -> bool:
        """True for a memory that is in it and does more than ask."""
        place = self._places.get(key)
        return place is not None and bool(self._is_told[place])

    def extend(self, rows: Sequence[MemoryRow]) -> None:
        """Add memories that came after all that are in it."""
        first, end = len(self), len(self) + len(rows)
        self._make_room(end)
        self._trust[first:end] = [row.trust for row in rows]
        for row in rows:
            self._is_told[len(self)] = not (row.is_talk and asks_only(row.text))
            self._places[row.key] = len(self.keys)
            self.keys.append(row.key)
            self.words.add(sought_text(row.text), follows=self._goes_on(row))
            self._last = row
        kept = {place: row.vector for place, row in enumerate(rows, first) if row.vector}
        if kept:
            vectors = of_kept(list(kept.values()))
            self._widen(vectors.shape[1])
            self._vectors[list(kept)] = vectors

    def _goes_on(self, row: MemoryRow) -> bool:
        """True where a memory was said in the same talk as the last one."""
        last = self._last
        is_talk = last is not None and last.is_talk and row.is_talk
        return is_talk and row.at - last.at < MEETING_SECONDS  # type: ignore[union-attr]

    def read(self, key: str, vector: Vector) -> None:
        """Note the vector of a memory that is in it; of another one nothing."""
        place = self._places.get(key)
        if place is None:
            return
        self._widen(len(vector))
        self._vectors[place] = normalised(vector)

    def fit(self, min_trust: float) -> Flags:
        """The places that may be told, as far as they are believed."""
        count = len(self)
        # The column is float32: 0.7 in it is less than 0.7.
        found: Flags = self._is_told[:count] & (self._trust[:count] >= np.float32(min_trust))
        return found

    def cosines(self, vector: Vector) -> Scores:
        """The likeness of each to a vector of length 1; 0 where it has not been read."""
        count = len(self)
        if not self._vectors.shape[1]:
            return np.zeros(count, np.float32)
        checked_width(self._vectors.shape[1], len(vector))
        # Not a product by BLAS: its threads spin for each other, 16 ms on a busy machine for 0.6.
        found: Scores = np.einsum("ij,j->i", self._vectors[:count], vector)
        return found

    def _make_room(self, count: int) -> None:
        room = len(self._trust)
        if count > room:
            room = max(count, int(room * GROWTH))
            self._trust = _grown(self._trust, room)
            self._is_told = _grown(self._is_told, room)
            self._vectors = _grown(self._vectors, room)

    def _widen(self, width: int) -> None:
        if not self._vectors.shape[1]:
            self._vectors = np.zeros((len(self._trust), width), np.float32)
        checked_width(self._vectors.shape[1], width)


def _grown(column: NDArray[T], room: int) -> NDArray[T]:
    """A column with room for so many. What is not written yet takes no memory of the machine."""
    made = np.zeros((room, *column.shape[1:]), column.dtype)
    made[: len(column)] = column
    return made
