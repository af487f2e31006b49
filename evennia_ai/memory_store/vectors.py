"""Vectors and scores as arrays: of length 1, kept in half the bytes, and the best of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evennia_ai.errors import MemoryStoreError

Vector = NDArray[np.float32]
Scores = NDArray[np.float32]
# Bytes of a number as the table keeps it.
HALF = 2


def normalised(vector: ArrayLike) -> Vector:
    """A vector of length 1 in its direction; one without a direction stays 0."""
    made = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(made))
    return made / np.float32(length) if length > 0.0 else made


def as_kept(vector: Vector) -> bytes:
    """A vector as the table keeps it: half the bytes, and the same order of what is found."""
    return vector.astype(np.float16).tobytes()


def of_kept(kept: Sequence[bytes]) -> NDArray[np.float32]:
    """Vectors of the table as rows of length 1.

    Raises:
        MemoryStoreError: not all are as long as the first.
    """
    for one in kept:
        checked_width(len(kept[0]) // HALF, len(one) // HALF)
    made = np.frombuffer(b"".join(kept), np.float16).reshape(len(kept), -1).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", made, made))
    made /= np.where(lengths > 0.0, lengths, np.float32(1.0))[:, np.newaxis]
    return made


def checked_width(made: int, given: int) -> None:
    """Refuse a vector of another length than those it is compared with.

    Raises:
        MemoryStoreError: the embedding model changed without changing its name.
    """
    if made != given:
        raise MemoryStoreError(
            f"the embedding model gives {given} numbers where these memories have {made}: index "
            "them anew"
        )


def best(scores: Scores, limit: int) -> NDArray[np.intp]:
    """Places of the highest scores, highest first; of equal ones the earlier goes first."""
    if len(scores) > limit:
        # In the order of places again, which `argpartition` does not keep.
        part = np.sort(np.argpartition(-scores, limit - 1)[:limit])
        return part[np.argsort(-scores[part], kind="stable")]
    return np.argsort(-scores, kind="stable")
