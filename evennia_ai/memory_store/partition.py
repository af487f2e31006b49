"""The memories of one assistant and one audience: an append-only index of vectors and words.

When a memory is changed or forgotten, the whole partition is dropped, and loaded again by the next
search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from evennia_ai.core.memory.knowledge import asks_only, sought_text
from evennia_ai.core.memory.profiles import MEETING_SECONDS
from evennia_ai.memory_store.table import MemoryRow
from evennia_ai.memory_store.vectors import (
    Scores,
    Vector,
    checked_width,
    decoded_vectors,
    normalised,
)
from evennia_ai.memory_store.words import Words

# Capacity grows by a fifth at a time, so that appending row by row does not copy all each time.
GROWTH = 1.2

Flags = NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)


class Partition:
    """Memories in the order of their ids."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.words = Words()
        self._last: MemoryRow | None = None
        self._places: dict[str, int] = {}
        self._vectors: Scores = np.zeros((0, 0), np.float32)
        self._trust = np.zeros(0, np.float32)
        # False for entries that only ask: the asker's own questions would hide the answers.
        self._is_statement: Flags = np.zeros(0, np.bool_)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def size(self) -> int:
        """Bytes of the vectors, without spare capacity, which the system has not allocated yet."""
        return len(self) * int(self._vectors.shape[1]) * self._vectors.itemsize

    def tells(self, key: str) -> bool:
        """True if the memory is in the partition and is not just a question."""
        place = self._places.get(key)
        return place is not None and bool(self._is_statement[place])

    def extend(self, rows: Sequence[MemoryRow]) -> None:
        """Append memories. Their ids must be above those in the partition."""
        first, end = len(self), len(self) + len(rows)
        self._make_room(end)
        self._trust[first:end] = [row.trust for row in rows]
        for row in rows:
            self._is_statement[len(self)] = not (row.is_talk and asks_only(row.text))
            self._places[row.key] = len(self.keys)
            self.keys.append(row.key)
            self.words.add(sought_text(row.text), follows=self._continues_talk(row))
            self._last = row
        encoded = {place: row.vector for place, row in enumerate(rows, first) if row.vector}
        if encoded:
            vectors = decoded_vectors(list(encoded.values()))
            self._widen(vectors.shape[1])
            self._vectors[list(encoded)] = vectors

    def _continues_talk(self, row: MemoryRow) -> bool:
        """True if a memory belongs to the same conversation as the one before."""
        last = self._last
        is_talk = last is not None and last.is_talk and row.is_talk
        return is_talk and row.at - last.at < MEETING_SECONDS  # type: ignore[union-attr]

    def read(self, key: str, vector: Vector) -> None:
        """Store the vector of a memory; ignored if the memory is not in the partition."""
        place = self._places.get(key)
        if place is None:
            return
        self._widen(len(vector))
        self._vectors[place] = normalised(vector)

    def fit(self, min_trust: float) -> Flags:
        """A mask of the memories that may be returned: statements with enough trust."""
        count = len(self)
        # The column is float32, in which 0.7 is slightly below the float64 0.7 of the setting.
        flags: Flags = self._is_statement[:count] & (self._trust[:count] >= np.float32(min_trust))
        return flags

    def cosines(self, vector: Vector) -> Scores:
        """Cosine of each memory to a unit vector; 0 if the memory has no vector yet."""
        count = len(self)
        if not self._vectors.shape[1]:
            return np.zeros(count, np.float32)
        checked_width(self._vectors.shape[1], len(vector))
        # einsum instead of @: BLAS threads spin waiting for each other, and on a busy machine a
        # product of 0.6 ms took 16 ms.
        scores: Scores = np.einsum("ij,j->i", self._vectors[:count], vector)
        return scores

    def _make_room(self, count: int) -> None:
        room = len(self._trust)
        if count > room:
            room = max(count, int(room * GROWTH))
            self._trust = _grown(self._trust, room)
            self._is_statement = _grown(self._is_statement, room)
            self._vectors = _grown(self._vectors, room)

    def _widen(self, width: int) -> None:
        if not self._vectors.shape[1]:
            self._vectors = np.zeros((len(self._trust), width), np.float32)
        checked_width(self._vectors.shape[1], width)


def _grown(column: NDArray[T], room: int) -> NDArray[T]:
    """A copy of a column with a larger capacity."""
    # np.zeros maps pages lazily: capacity that is never written takes no memory.
    grown = np.zeros((room, *column.shape[1:]), column.dtype)
    grown[: len(column)] = column
    return grown
