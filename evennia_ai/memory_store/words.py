"""Memories by their words: BM25 over one audience's texts, which may grow at any time.

Stems and common words are those of the package lunr, which Evennia's help is searched with. bm25s
and lunr index a whole corpus at once; here an entry is added with each turn.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from lunr.stemmer import PorterStemmer
from lunr.stop_word_filter import WORDS as COMMON
from numpy.typing import NDArray

from evennia_ai.memory_store.vectors import Scores

# Lucene's 1.2 and 0.75, but that a long entry is not held against it so much.
SATURATION, LENGTH_WEIGHT = 1.2, 0.4
# In a talk, what was said just before or after is often what an entry speaks of, so a part of the
# score of the last, of the one before that, and of the next counts for it too.
LAST_WEIGHT, BEFORE_LAST_WEIGHT, NEXT_WEIGHT = 0.5, 0.25, 0.2
CHATTER = (
    "hello hi hey hiya greetings good morning evening afternoon night day bye goodbye farewell "
    "later thanks thank thx please sorry welcome ok okay okey yes yeah yep yup no nope nah sure "
    "fine great nice cool wow oh ah aha hm hmm huh um uh er lol lmao rofl haha hehe heh xd ha well "
    "right alright really indeed true maybe agreed exactly understood done there again now then so"
)
# Where the words that are sought stand, by word.
Places = Mapping[int, NDArray[np.intp]]
_WORD = re.compile(r"[^\W_]+")
_stemmer = PorterStemmer()


@lru_cache(maxsize=50_000)
def _number(word: str) -> int:
    """The number of a word's stem, which is hardly ever another's; 0 of a word that tells nothing.

    Numbers are this process's own: those of Python's `hash`.
    """
    if word in COMMON or len(word) < 2:
        return 0
    return hash(word if word.isdigit() else _stemmer.stem(word)) or 1


def stems(text: str) -> list[int]:
    """The telling words of a text without their endings, in order; a word may stand twice.

    Returns:
        A number for each, the same in this process for words of the same stem.
    """
    return list(filter(None, map(_number, _WORD.findall(text.casefold()))))


@dataclass(slots=True)
class Corpus:
    """The basis of a word's weight: all texts that a search may find.

    Attributes:
        texts: how many there are.
        length: telling words in all of them.
        holders: how many texts hold each word that is sought.
    """

    texts: int = 0
    length: int = 0
    holders: Counter[int] = field(default_factory=Counter)

    def weights(self) -> Mapping[int, float]:
        """The inverse document frequency of each word that is sought."""
        return {
            word: math.log(1 + (self.texts - count + 0.5) / (count + 0.5))
            for word, count in self.holders.items()
        }


class Words:
    """The words of texts, by the order in which they were added: one row of numbers, which grows.

    A search looks through all of it, which for ten thousand texts is quicker than adding each of
    them to lists of every word, and takes a tenth of the memory.
    """

    def __init__(self) -> None:
        self._words = array("q")
        # Where the words of each text end.
        self._ends = array("i")
        self._follows = array("b")

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, text: str, *, follows: bool) -> None:
        """Add a text.

        Args:
            follows: it was said in the same talk as the one before.
        """
        self._words.extend(stems(text))
        self._ends.append(len(self._words))
        self._follows.append(follows)

    def find(self, sought: Iterable[int]) -> Places:
        """The texts that hold each of some words, once for every time they hold it."""
        # Views end with this call: an array that somebody looks at cannot grow.
        words = np.frombuffer(self._words, np.int64)
        ends = np.frombuffer(self._ends, np.int32)
        found = {word: np.flatnonzero(words == word) for word in sought}
        return {word: np.searchsorted(ends, at, "right") for word, at in found.items() if len(at)}

    def count_into(self, corpus: Corpus, found: Places) -> None:
        """Add these texts, and the words found in them, to what the weights of words rest on."""
        corpus.texts += len(self)
        corpus.length += len(self._words)
        for word, places in found.items():
            corpus.holders[word] += 1 + int(np.count_nonzero(np.diff(places)))

    def scores(self, found: Places, weights: Mapping[int, float], mean_length: float) -> Scores:
        """BM25 of each text, 0 and up.

        Args:
            found: as `find` gave it.
            weights: of each word that is sought, as `Corpus.weights` gives them.
            mean_length: telling words in a text.
        """
        own = np.zeros(len(self), np.float32)
        ends = np.frombuffer(self._ends, np.int32)
        share = np.diff(ends, prepend=np.int32(0)) / max(1.0, mean_length)
        rest = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * share)
        for word, places in found.items():
            counts = np.bincount(places, minlength=len(own))
            own += weights[word] * counts * (SATURATION + 1) / (counts + rest)
        return _in_context(own, np.frombuffer(self._follows, np.int8))


def _in_context(own: Scores, follows: NDArray[np.int8]) -> Scores:
    """Scores of entries with a part of what stands beside them in the same talk."""
    made, goes_on = own.copy(), follows[1:].astype(np.float32)
    made[1:] += LAST_WEIGHT * own[:-1] * goes_on
    made[2:] += BEFORE_LAST_WEIGHT * own[:-2] * goes_on[1:] * goes_on[:-1]
    made[:-1] += NEXT_WEIGHT * own[1:] * goes_on
    return made


@lru_cache(maxsize=1)
def _chatter() -> frozenset[int]:
    return frozenset(stems(CHATTER))


def is_small_talk(text: str) -> bool:
    """True for a text without a word worth looking for: "lol", "hello there", "ok thanks"."""
    return set(stems(text)) <= _chatter()
