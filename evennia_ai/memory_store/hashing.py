"""Feature hashing of words and trigrams: the fallback without an embedding model, and for tests.

Texts are similar if they share words, or words with a similar spelling. It knows no meaning:
"owes" and "is in debt" are unrelated.
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
# Weight of a trigram; a whole word has 1.
PART_WEIGHT = 0.35
BASE_COSINE = 0.0
_WORD = re.compile(r"[^\W_]+")
# Stop words: they are in every text, and would make all texts similar.
_COMMON_TEXT = (
    "a an and are as at be by do does for from had has have he her him his how i in is it its me "
    "my of on or our she so that the their them they this to us was we were what when where which "
    "who will with you your"
)
_COMMON = frozenset(_COMMON_TEXT.split())


class HashingEmbedder(Embedder):
    """Embeds texts by hashing words and trigrams. Deterministic across processes."""

    model = "hashing-1"
    signature = f"{model}/{DIMENSIONS}"
    dimensions = DIMENSIONS
    least_similarity = 0.3
    notice = BY_WORDS
    is_paid = False
    knows_meaning = False
    base_cosine = BASE_COSINE

    def embed_query(self, text: str) -> Any:
        """Embed a query."""
        return self._embed(text)

    def embed_passages(self, texts: Sequence[str]) -> Any:
        """Embed texts to be stored."""
        vectors: Any = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._embed(text)
        return vectors

    def _embed(self, text: str) -> Any:
        vector: Any = np.zeros(DIMENSIONS, np.float32)
        for feature, weight in _features(cut(text, MOST_CHARS)):
            # Vectors are stored, so not `hash`, whose values differ between processes.
            digest = blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
            number = int.from_bytes(digest, "little")
            # The sign comes from another bit, so that collisions cancel out on average.
            vector[number % DIMENSIONS] += weight if number >> 62 & 1 else -weight
        return normalised(vector)


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    telling = [word for word in words if word not in _COMMON]
    # A text of stop words only keeps them: otherwise its vector would be zero.
    for word in telling or words:
        yield word, 1.0
        for start in range(len(word) - 2):
            yield f"#{word[start : start + 3]}", PART_WEIGHT
