"""Unit vectors and scores as arrays: storage as float16, and selection of the best scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evennia_ai.errors import MemoryStoreError

Vector = NDArray[np.float32]
Scores = NDArray[np.float32]
# Bytes of a float16, in which the table stores vectors.
HALF = 2


def normalised(vector: ArrayLike) -> Vector:
    """Scale a vector to length 1. A zero vector is returned as it is."""
    array = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(array))
    return array / np.float32(length) if length > 0.0 else array


def encoded_vector(vector: Vector) -> bytes:
    """Encode a vector for the table as float16, which does not change the order of hits."""
    return vector.astype(np.float16).tobytes()


def decoded_vectors(encoded: Sequence[bytes]) -> NDArray[np.float32]:
    """Decode vectors of the table to a float32 array with rows of length 1.

    Raises:
        MemoryStoreError: their dimensions differ.
    """
    for one in encoded:
        checked_width(len(encoded[0]) // HALF, len(one) // HALF)
    array = (
        np.frombuffer(b"".join(encoded), np.float16).reshape(len(encoded), -1).astype(np.float32)
    )
    lengths = np.sqrt(np.einsum("ij,ij->i", array, array))
    array /= np.where(lengths > 0.0, lengths, np.float32(1.0))[:, np.newaxis]
    return array


def checked_width(made: int, given: int) -> None:
    """Check that a vector has the dimensions of those it is compared with.

    Raises:
        MemoryStoreError: it has not; the embedding model changed, but not its name.
    """
    if made != given:
        raise MemoryStoreError(
            f"the embedding model gives {given} numbers where these memories have {made}: index "
            "them anew"
        )


def best(scores: Scores, limit: int) -> NDArray[np.intp]:
    """Indexes of the highest scores, highest first; equal scores in order of their index."""
    if len(scores) > limit:
        # `argpartition` returns any order; sorting by index makes the stable sort break ties.
        part = np.sort(np.argpartition(-scores, limit - 1)[:limit])
        return part[np.argsort(-scores[part], kind="stable")]
    return np.argsort(-scores, kind="stable")
