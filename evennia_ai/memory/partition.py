"""What one audience of one assistant may know, in memory: vectors and words, which only grow.

A memory that is changed or forgotten makes the whole partition void; it is read again when it is
next asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evennia_ai.core.knowledge import asks_only, sought_text
from evennia_ai.core.profiles import MEETING_SECONDS
from evennia_ai.memory.shelf import Row
from evennia_ai.memory.vectors import Scores, Vector, checked_width, normalised, of_kept
from evennia_ai.memory.words import Words

LEAST_ROWS = 16
GROWTH = 1.2

Flags = NDArray[np.bool_]


@dataclass(slots=True)
class _Entry:
    """A memory's place in its partition."""

    key: str
    at: float
    is_talk: bool


class Partition:
    """Memories in the order they were kept.

    Attributes:
        epoch: of the shelf when it was read.
        words: their words, in the same order.
    """

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.words = Words()
        self._entries: list[_Entry] = []
        self._places: dict[str, int] = {}
        self._vectors: Scores = np.zeros((0, 0), np.float32)
        self._trust = np.zeros(0, np.float32)
        # All but what only asks.
        self._is_told: Flags = np.zeros(0, np.bool_)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """How many bytes its vectors take."""
        return int(self._vectors.nbytes)

    def key(self, place: int) -> str:
        """The key of a memory."""
        return self._entries[place].key

    def tells(self, key: str) -> bool:
        """True for a memory that is in it and does more than ask."""
        place = self._places.get(key)
        return place is not None and bool(self._is_told[place])

    def extend(self, rows: Iterable[Row]) -> None:
        """Add memories that came after all that are in it."""
        for row in rows:
            self._add(row)

    def _add(self, row: Row) -> None:
        place = len(self._entries)
        before = self._entries[-1] if self._entries else None
        self._entries.append(_Entry(row.key, row.at, row.is_talk))
        self._places[row.key] = place
        is_going_on = before is not None and before.is_talk and row.is_talk
        follows = is_going_on and row.at - before.at < MEETING_SECONDS  # type: ignore[union-attr]
        self.words.add(sought_text(row.text), follows=follows)
        self._make_room(place + 1)
        self._trust[place] = row.trust
        self._is_told[place] = not (row.is_talk and asks_only(row.text))
        if row.vector:
            self.read(row.key, of_kept(row.vector))

    def read(self, key: str, vector: Vector) -> None:
        """Note the vector of a memory that is in it; of another one nothing."""
        place = self._places.get(key)
        if place is None:
            return
        self._widen(len(vector))
        self._vectors[place] = normalised(vector)

    def fit(self, min_trust: float) -> Flags:
        """Which of them may be told, as far as they are believed."""
        count = len(self)
        # The column is float32: 0.7 in it is less than 0.7.
        found: Flags = self._is_told[:count] & (self._trust[:count] >= np.float32(min_trust))
        return found

    def cosines(self, vector: Vector) -> Scores:
        """How alike each is to a vector of length 1; 0 where it has not been read."""
        count = len(self)
        if not self._vectors.shape[1]:
            return np.zeros(count, np.float32)
        checked_width(self._vectors.shape[1], len(vector))
        # Not a product by BLAS: its threads spin for each other, 16 ms on a busy machine for 0.6.
        found: Scores = np.einsum("ij,j->i", self._vectors[:count], vector)
        return found

    def _make_room(self, count: int) -> None:
        room = len(self._trust)
        if count <= room:
            return
        more = max(LEAST_ROWS, int(count * GROWTH)) - room
        width = self._vectors.shape[1]
        self._vectors = np.concatenate((self._vectors, np.zeros((more, width), np.float32)))
        self._trust = np.concatenate((self._trust, np.zeros(more, np.float32)))
        self._is_told = np.concatenate((self._is_told, np.zeros(more, np.bool_)))

    def _widen(self, width: int) -> None:
        if not self._vectors.shape[1]:
            self._vectors = np.zeros((len(self._trust), width), np.float32)
        checked_width(self._vectors.shape[1], width)
