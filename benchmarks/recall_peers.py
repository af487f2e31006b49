"""What else finds a turn by a question: the peers of the recall benchmark, on the same vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.recall_data import Asked, Said
from benchmarks.recall_figures import Told


def passage(said: Said) -> str:
    """A turn as a peer keeps it."""
    return f"{said.speaker}: {said.text}"


class Cosine:
    """The turns whose vectors lie nearest to the question's, by numpy."""

    def __init__(self, embedder: Any, most: int) -> None:
        self._embedder = embedder
        self._most = most
        self._ids: list[str] = []
        self._vectors: list[Any] = []
        self._matrix: Any = None

    async def tell(self, said: Said) -> None:
        """Keep a turn."""
        self._ids.append(said.id)
        self._vectors.append(self._embedder.embed_passages([passage(said)])[0])
        self._matrix = None

    async def ask(self, asked: Asked) -> Told:
        """The turns most alike."""
        if self._matrix is None:
            self._matrix = np.stack(self._vectors)
        likeness = self._matrix @ self._embedder.embed_query(asked.question.text)
        best = np.argsort(-likeness, kind="stable")[: self._most]
        return Told([self._ids[number] for number in best])
