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

from evennia_ai.memory.vectors import Scores

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
_WORD = re.compile(r"[^\W_]+")
_stemmer = PorterStemmer()


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return str(_stemmer.stem(word))


def stems(text: str) -> list[str]:
    """The telling words of a text without their endings, in order; a word may stand twice."""
    words = _WORD.findall(text.casefold())
    return [_stem(word) for word in words if word not in COMMON and len(word) > 1]


@dataclass(slots=True)
class Corpus:
    """What the weight of a word rests on: all texts that a search may find.

    Attributes:
        texts: how many there are.
        length: telling words in all of them.
        holders: how many texts hold each word that is sought.
    """

    texts: int = 0
    length: int = 0
    holders: Counter[str] = field(default_factory=Counter)

    def weights(self) -> Mapping[str, float]:
        """The inverse document frequency of each word that is sought."""
        return {
            word: math.log(1 + (self.texts - count + 0.5) / (count + 0.5))
            for word, count in self.holders.items()
        }


class Words:
    """The words of texts, by the order in which they were added: postings that only grow."""

    def __init__(self) -> None:
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._lengths = array("i")
        self._follows = array("b")
        self.length = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: str, *, follows: bool) -> None:
        """Add a text.

        Args:
            follows: it was said in the same talk as the one before.
        """
        place, found = len(self._lengths), stems(text)
        for word, count in Counter(found).items():
            places, counts = self._postings.setdefault(word, (array("i"), array("i")))
            places.append(place)
            counts.append(count)
        self._lengths.append(len(found))
        self._follows.append(follows)
        self.length += len(found)

    def count_into(self, corpus: Corpus, sought: Iterable[str]) -> None:
        """Add these texts to what the weights of words rest on."""
        corpus.texts += len(self)
        corpus.length += self.length
        for word in sought:
            if word in self._postings:
                corpus.holders[word] += len(self._postings[word][0])

    def scores(self, weights: Mapping[str, float], mean_length: float) -> Scores:
        """BM25 of each text, 0 and up.

        Args:
            weights: of each word that is sought, as `Corpus.weights` gives them.
            mean_length: telling words in a text.
        """
        own = np.zeros(len(self), np.float32)
        lengths = np.frombuffer(self._lengths, np.int32)
        for word, weight in weights.items():
            if word not in self._postings:
                continue
            places, counts = (np.frombuffer(column, np.int32) for column in self._postings[word])
            share = lengths[places] / max(1.0, mean_length)
            rest = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * share)
            own[places] += weight * counts * (SATURATION + 1) / (counts + rest)
        return _in_context(own, np.frombuffer(self._follows, np.int8))


def _in_context(own: Scores, follows: NDArray[np.int8]) -> Scores:
    """Scores of entries with a part of what stands beside them in the same talk."""
    made, goes_on = own.copy(), follows[1:].astype(np.float32)
    made[1:] += LAST_WEIGHT * own[:-1] * goes_on
    made[2:] += BEFORE_LAST_WEIGHT * own[:-2] * goes_on[1:] * goes_on[:-1]
    made[:-1] += NEXT_WEIGHT * own[1:] * goes_on
    return made


@lru_cache(maxsize=1)
def _chatter() -> frozenset[str]:
    return frozenset(stems(CHATTER))


def is_small_talk(text: str) -> bool:
    """True for a text without a word worth looking for: "lol", "hello there", "ok thanks"."""
    return set(stems(text)) <= _chatter()
