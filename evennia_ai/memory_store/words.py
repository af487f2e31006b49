"""Keyword search with BM25 over a growing list of texts.

The stemmer and stop words are those of the package lunr, which Evennia uses to search its help. The
indexes of bm25s and lunr cannot grow, but here each turn adds a text.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np
from lunr.stemmer import PorterStemmer
from lunr.stop_word_filter import WORDS as COMMON
from numpy.typing import NDArray

from evennia_ai.core.text.characters import KATAKANA, UNSPACED
from evennia_ai.memory_store.vectors import Scores

# BM25's k1 and b. Lucene uses 1.2 and 0.75; a lower b penalises long texts less.
SATURATION, LENGTH_WEIGHT = 1.2, 0.4
# In a conversation, an entry often refers to what was said just before or after it. So it gets a
# share of the scores of the entry before, of the one before that, and of the next one.
LAST_WEIGHT, BEFORE_LAST_WEIGHT, NEXT_WEIGHT = 0.5, 0.25, 0.2
CHATTER = (
    "hello hi hey hiya greetings good morning evening afternoon night day bye goodbye farewell "
    "later thanks thank thx please sorry welcome ok okay okey yes yeah yep yup no nope nah sure "
    "fine great nice cool wow oh ah aha hm hmm huh um uh er lol lmao rofl haha hehe heh xd ha well "
    "right alright really indeed true maybe agreed exactly understood done there again now then so"
)
# By stem, the index of a text for each occurrence in it.
Places = Mapping[int, NDArray[np.intp]]
# From here on, Chinese characters and Korean syllables: one alone may be a word, unlike a letter.
_FIRST_SYLLABLE = "\u3400"
_RUN = re.compile(f"[{UNSPACED}{KATAKANA}]+")
_WORD = re.compile(rf"{_RUN.pattern}|[^\W_{UNSPACED}{KATAKANA}]+")
_stemmer = PorterStemmer()


@lru_cache(maxsize=50_000)
def _stem_id(word: str) -> int:
    """A 64-bit id of a word's stem, valid in this process only; 0 for a stop word."""
    # Python's `hash`: collisions are rare enough, and ids are never stored.
    if word in COMMON or (len(word) < 2 and word < _FIRST_SYLLABLE):
        return 0
    return hash(word if word.isdigit() else _stemmer.stem(word)) or 1


def stems(text: str) -> list[int]:
    """Ids of the stems in a text, in order and with repetitions, without stop words.

    Returns:
        Integers that are equal for words with the same stem, within this process.
    """
    words = _WORD.findall(text.casefold())
    if _RUN.search(text):
        words = [part for word in words for part in _parts(word)]
    return list(filter(None, map(_stem_id, words)))


def _parts(word: str) -> list[str]:
    """A word itself; of letters without spaces, each two in a row, and each Chinese character."""
    if not _RUN.match(word):
        return [word]
    return [*map("".join, pairwise(word)), *word]


@dataclass(slots=True)
class Corpus:
    """Statistics over all texts that a search may find, for the weights of words.

    Attributes:
        holders: number of texts that contain each word of the query.
    """

    texts: int = 0
    length: int = 0
    holders: Counter[int] = field(default_factory=Counter)

    def weights(self) -> Mapping[int, float]:
        """The inverse document frequency of each word of the query."""
        return {
            word: math.log(1 + (self.texts - count + 0.5) / (count + 0.5))
            for word, count in self.holders.items()
        }


class Words:
    """The stems of a list of texts as one flat, growing array.

    A search scans the whole array. For ten thousand texts that is faster than maintaining posting
    lists, and takes a tenth of the memory.
    """

    def __init__(self) -> None:
        self._words = array("q")
        # End offset of each text in `_words`.
        self._ends = array("i")
        self._follows = array("b")

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, text: str, *, follows: bool) -> None:
        """Add a text.

        Args:
            follows: it is of the same conversation as the text before.
        """
        self._words.extend(stems(text))
        self._ends.append(len(self._words))
        self._follows.append(follows)

    def find(self, wanted: Iterable[int]) -> Places:
        """For each word, the indexes of texts that contain it, once per occurrence."""
        # The views must not outlive this call: an array with exported buffers cannot grow.
        words = np.frombuffer(self._words, np.int64)
        ends = np.frombuffer(self._ends, np.int32)
        positions = {word: np.flatnonzero(words == word) for word in wanted}
        return {
            word: np.searchsorted(ends, at, "right") for word, at in positions.items() if len(at)
        }

    def count_into(self, corpus: Corpus, positions: Places) -> None:
        """Add these texts to the statistics, given the result of `find`."""
        corpus.texts += len(self)
        corpus.length += len(self._words)
        for word, places in positions.items():
            corpus.holders[word] += 1 + int(np.count_nonzero(np.diff(places)))

    def scores(self, positions: Places, weights: Mapping[int, float], mean_length: float) -> Scores:
        """BM25 score of each text, 0 or more."""
        own = np.zeros(len(self), np.float32)
        ends = np.frombuffer(self._ends, np.int32)
        share = np.diff(ends, prepend=np.int32(0)) / max(1.0, mean_length)
        rest = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * share)
        for word, places in positions.items():
            counts = np.bincount(places, minlength=len(own))
            own += weights[word] * counts * (SATURATION + 1) / (counts + rest)
        return _in_context(own, np.frombuffer(self._follows, np.int8))


def _in_context(own: Scores, follows: NDArray[np.int8]) -> Scores:
    """Add to each score a share of its neighbours' scores in the same conversation."""
    scores, goes_on = own.copy(), follows[1:].astype(np.float32)
    scores[1:] += LAST_WEIGHT * own[:-1] * goes_on
    scores[2:] += BEFORE_LAST_WEIGHT * own[:-2] * goes_on[1:] * goes_on[:-1]
    scores[:-1] += NEXT_WEIGHT * own[1:] * goes_on
    return scores


@lru_cache(maxsize=1)
def _chatter() -> frozenset[int]:
    return frozenset(stems(CHATTER))


def is_small_talk(text: str) -> bool:
    """True for a text without a word worth searching for, such as "lol" or "ok thanks"."""
    return set(stems(text)) <= _chatter()
