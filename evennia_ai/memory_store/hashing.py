"""Vectors without a model: of words and parts of words. The last resort, and good for tests.

Texts are alike to it when they share words, or words that look alike. It knows no meaning: "owes"
and "is in debt" have nothing to do with each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from evennia_ai.memory_store.embedding import BY_WORDS, Embedder, cut
from evennia_ai.memory_store.vectors import normalised

DIMENSIONS = 384
MOST_CHARS = 8_000
PART_WEIGHT = 0.35
BASE_COSINE = 0.0
_WORD = re.compile(r"[^\W_]+")
# Words that stand in every text would make all texts alike.
_COMMON_TEXT = (
    "a an and are as at be by do does for from had has have he her him his how i in is it its me "
    "my of on or our she so that the their them they this to us was we were what when where which "
    "who will with you your"
)
_COMMON = frozenset(_COMMON_TEXT.split())


class HashingEmbedder(Embedder):
    """Vectors by the hashes of words and of their trigrams; the same text, the same vector."""

    signature = f"hashing-1/{DIMENSIONS}"
    dimensions = DIMENSIONS
    least_similarity = 0.3
    notice = BY_WORDS
    is_paid = False
    knows_meaning = False
    base_cosine = BASE_COSINE

    def embed_query(self, text: str) -> Any:
        """The vector of what is sought."""
        return self._embed(text)

    def embed_passages(self, texts: Sequence[str]) -> Any:
        """The vectors of what is kept."""
        made: Any = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in enumerate(texts):
            made[row] = self._embed(text)
        return made

    def _embed(self, text: str) -> Any:
        made: Any = np.zeros(DIMENSIONS, np.float32)
        for feature, weight in _features(cut(text, MOST_CHARS)):
            # Not `hash`, which is another in each process: the vectors are stored.
            digest = blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
            number = int.from_bytes(digest, "little")
            # A sign of its own, so that features that share a place do not only add up.
            made[number % DIMENSIONS] += weight if number >> 62 & 1 else -weight
        return normalised(made)


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    telling = [word for word in words if word not in _COMMON]
    for word in telling or words:
        yield word, 1.0
        for start in range(len(word) - 2):
            yield f"#{word[start : start + 3]}", PART_WEIGHT
