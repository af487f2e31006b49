"""Vectors in the game's own table: the index has them in memory, and the table keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evennia_ai.memory_store.index import View
from evennia_ai.memory_store.port import Item, Sought
from evennia_ai.memory_store.shelf import Shelf
from evennia_ai.memory_store.troubles import explained
from evennia_ai.memory_store.vectors import Vector, as_kept


class TableVectors:
    """The backend of the embedded store. Whoever changes the table changes its vectors with it."""

    def __init__(self, shelf: Shelf, signature: str) -> None:
        self._shelf = shelf
        self._signature = signature

    def search(
        self, view: View, sought: Sought, vector: Vector, also: NDArray[np.intp]
    ) -> Mapping[str, float | None]:
        """The most alike in meaning, and what stands at some other places; by key."""
        cosines = view.cosines(vector)
        places = np.concatenate((view.best(cosines, sought.limit), also))
        found = zip(view.keys(places), cosines[places].tolist(), strict=True)
        return {key: cosine or None for key, cosine in found}

    def add(self, collection: int, items: Sequence[Item], vectors: Sequence[Vector]) -> list[bytes]:
        """The vectors as the table is to keep them."""
        return [as_kept(vector) for vector in vectors]

    def remove(self, collection: int, keys: Sequence[str]) -> None:
        """A vector goes with its row."""

    def keys(self, collection: int) -> set[str]:
        """The memories whose vectors are kept."""
        return self._shelf.keys(collection, self._signature)

    def drop(self, collection: int) -> None:
        """All vectors go with their rows."""

    def explain(self, error: Exception) -> str:
        """An error as one sentence for people."""
        return explained(error)

    def close(self) -> None:
        """There is nothing but the table."""
