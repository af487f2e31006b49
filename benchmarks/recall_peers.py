"""Peers of the recall benchmark: plain mem0, cosine, BM25, and the last two together.

Each stores a turn with the words of a journal entry, since vectors of these find more than those of
the bare text, and gets only the question. The combination is mem0's own formula, by its own
functions: mem0 can search for keywords too, but in its embedded store only with a model that
fastembed downloads, so plain mem0 does not.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.plain_mem0 import PlainMem0
from benchmarks.recall_data import Asked, Conversation, Said
from benchmarks.recall_figures import MOST, Found
from benchmarks.recall_vectors import KeptVectors

Scores = npt.NDArray[np.float32]
# mem0 finds nothing below this cosine, even if words match.
LEAST_COSINE = 0.1


class Contender(Protocol):
    """A memory of one conversation."""

    async def tell(self, said: Said) -> None:
        """Store a turn."""

    async def ask(self, asked: Asked, *, is_wide: bool = False) -> Found:
        """Return the results of a question; if `is_wide`, up to `MOST` turns."""


Maker = Callable[[Conversation], Contender]


def makers(vectors: KeptVectors, mem0: PlainMem0) -> dict[str, Maker]:
    """Return the peers that can be measured here, by name."""
    users = map(str, itertools.count())
    result: dict[str, Maker] = {
        "plain mem0": lambda _: Plain(mem0, next(users)),
        "cosine": lambda _: Ranked((cosine := Cosine(vectors),), cosine.scores),
    }
    if not (find_spec("bm25s") and find_spec("Stemmer")):
        print("BM25 is not measured: pip install 'evennia-ai[bench]'", file=sys.stderr)
        return result
    return result | {
        "BM25": lambda _: Ranked((words := Keywords(),), words.scores),
        "cosine and BM25": lambda _: _both(Cosine(vectors), Keywords()),
    }


class Cosine:
    """Cosine of the vectors of a question and each turn, with numpy."""

    def __init__(self, vectors: KeptVectors) -> None:
        self._model = vectors
        self._kept: list[Scores] = []
        self._matrix: Scores | None = None

    def add(self, text: str) -> None:
        """Store a text."""
        self._kept.append(self._model.embed_passages([text])[0])
        self._matrix = None

    def scores(self, question: str) -> Scores:
        """Return the cosine of each text."""
        if self._matrix is None:
            self._matrix = np.stack(self._kept)
        alike: Scores = self._matrix @ self._model.embed_query(question)
        return alike


class Keywords:
    """BM25 over stemmed words, with bm25s."""

    def __init__(self) -> None:
        import bm25s
        import Stemmer

        self._library = bm25s
        self._stemmer = Stemmer.Stemmer("english")
        self._kept: list[list[str]] = []
        self._index: Any = None

    def words(self, text: str) -> list[str]:
        """Return the stems of a text, without stop words."""
        tokens: list[list[str]] = self._library.tokenize(
            [text], stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False
        )
        return tokens[0]

    def add(self, text: str) -> None:
        """Store a text."""
        self._kept.append(self.words(text))
        self._index = None

    def scores(self, question: str) -> Scores:
        """Return the BM25 score of each text, 0 for one that shares no word."""
        if self._index is None:
            self._index = self._library.BM25()
            self._index.index(self._kept, show_progress=False)
        wanted = [word for word in self.words(question) if word in self._index.vocab_dict]
        if not wanted:
            return np.zeros(len(self._kept), np.float32)
        scores: Scores = self._index.get_scores(wanted)
        return scores


class Ranked:
    """Turns ranked by their scores for a question."""

    def __init__(
        self, indexes: Sequence[Cosine | Keywords], scores: Callable[[str], Scores]
    ) -> None:
        """Start empty.

        Args:
            indexes: indexes that store each turn.
            scores: returns the scores of all turns; a turn with 0 or less is not found.
        """
        self._indexes = indexes
        self._scores = scores
        self._ids: list[str] = []

    async def tell(self, said: Said) -> None:
        """Store a turn."""
        self._ids.append(said.id)
        for index in self._indexes:
            index.add(_passage(said))

    async def ask(self, asked: Asked, *, is_wide: bool = False) -> Found:
        """Return the turns with the highest scores."""
        scores = self._scores(asked.question.text)
        best = np.argsort(-scores, kind="stable")[:MOST]
        return Found([self._ids[number] for number in best if scores[number] > 0])


def _both(cosine: Cosine, keywords: Keywords) -> Ranked:
    """Both scores added by mem0's formula."""
    from mem0.utils.scoring import get_bm25_params, normalize_bm25, score_and_rank

    def scores(question: str) -> Scores:
        alike, shared = cosine.scores(question), keywords.scores(question)
        bounds = get_bm25_params(question, lemmatized=" ".join(keywords.words(question)))
        by_words = {
            str(number): normalize_bm25(float(score), *bounds)
            for number, score in enumerate(shared)
            if score > 0
        }
        by_meaning = [{"id": str(n), "score": float(score)} for n, score in enumerate(alike)]
        ranked = score_and_rank(by_meaning, by_words, {}, LEAST_COSINE, len(alike))
        result = np.zeros(len(alike), np.float32)
        for one in ranked:
            result[int(one["id"])] = one["score"]
        return result

    return Ranked((cosine, keywords), scores)


class Plain:
    """mem0 as in its manual: one collection for all, a user for each conversation."""

    def __init__(self, memory: PlainMem0, user: str) -> None:
        self._memory = memory
        self._user = user
        self._ids: dict[str, str] = {}

    async def tell(self, said: Said) -> None:
        """Store a turn; of two with the same words the first counts."""
        self._memory.add(self._user, _passage(said))
        self._ids.setdefault(_passage(said), said.id)

    async def ask(self, asked: Asked, *, is_wide: bool = False) -> Found:
        """Return the memories that it finds."""
        texts = self._memory.search(self._user, asked.question.text, MOST)
        return Found([self._ids[text] for text in texts])


def _passage(said: Said) -> str:
    return f'{said.speaker} whispered: "{said.text}"'
