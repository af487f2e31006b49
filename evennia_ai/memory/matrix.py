"""Vectors of one collection in memory, searched exactly: a matrix times a vector."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

LEAST_ROWS = 64


class VectorMatrix:
    """Normalised vectors with whose they are and how far they are believed.

    It grows by doubling. A row that goes is overwritten by the last one.
    """

    def __init__(self, dimensions: int) -> None:
        self._rows: dict[str, int] = {}
        self._keys: list[str] = []
        self._vectors: Any = np.zeros((LEAST_ROWS, dimensions), np.float32)
        self._trust: Any = np.zeros(LEAST_ROWS, np.float32)
        self._audience: Any = np.zeros(LEAST_ROWS, np.int32)
        self._audience_ids: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    @property
    def keys(self) -> set[str]:
        """What is in it."""
        return set(self._keys)

    def put(self, key: str, vector: Any, audience: str, trust: float) -> None:
        """Put a vector in; the one of that key is replaced."""
        row = self._rows.get(key)
        if row is None:
            row = len(self._keys)
            if row == len(self._vectors):
                self._grow()
            self._rows[key] = row
            self._keys.append(key)
        self._vectors[row] = normalised(vector)
        self.mark(key, audience, trust)

    def mark(self, key: str, audience: str, trust: float) -> None:
        """Say anew whose a vector is, and how far it is believed."""
        row = self._rows[key]
        self._trust[row] = trust
        self._audience[row] = self._audience_ids.setdefault(audience, len(self._audience_ids))

    def vector(self, key: str) -> Any:
        """A key's vector, or None."""
        row = self._rows.get(key)
        return None if row is None else self._vectors[row].copy()

    def discard(self, key: str) -> None:
        """Take a vector out, if it is in."""
        row = self._rows.pop(key, None)
        if row is None:
            return
        last = self._keys.pop()
        end = len(self._keys)
        if last != key:
            for column in (self._vectors, self._trust, self._audience):
                column[row] = column[end]
            self._keys[row] = last
            self._rows[last] = row
        self._vectors[end] = 0.0

    def search(
        self,
        vector: Any,
        audiences: Sequence[str],
        *,
        limit: int,
        min_trust: float = 0.0,
        without: Collection[str] = (),
    ) -> list[tuple[str, float]]:
        """Keys and cosines of those most alike, the best first."""
        wanted = [self._audience_ids[each] for each in audiences if each in self._audience_ids]
        count = len(self._keys)
        if not wanted or not count or limit < 1:
            return []
        # Not a product by BLAS: its threads spin for each other, 16 ms on a busy machine for 0.6.
        cosines = np.einsum("ij,j->i", self._vectors[:count], normalised(vector))
        # The column is float32: 0.7 in it is less than 0.7.
        is_fit = self._trust[:count] >= np.float32(min_trust)
        is_fit &= np.isin(self._audience[:count], wanted)
        for key in without:
            if key in self._rows:
                is_fit[self._rows[key]] = False
        fit = np.flatnonzero(is_fit)
        order = fit[best(cosines[fit], limit)]
        return [(self._keys[row], float(cosines[row])) for row in order]

    def _grow(self) -> None:
        for name in ("_vectors", "_trust", "_audience"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate((column, np.zeros_like(column))))


def best(scores: Any, limit: int) -> Any:
    """Where the highest scores are, highest first; of equal ones the earlier goes first."""
    if len(scores) > limit:
        part = np.sort(np.argpartition(-scores, limit - 1)[:limit])
        return part[np.argsort(-scores[part], kind="stable")]
    return np.argsort(-scores, kind="stable")


def normalised(vector: Any) -> Any:
    """A vector of length 1 in its direction; one without a direction stays 0."""
    made = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(made))
    return made / np.float32(length) if length > 0.0 else made
