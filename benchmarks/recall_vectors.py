"""An embedding model with a cache: all contenders share its vectors."""

from __future__ import annotations

import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from evennia_ai.memory_store.embedding import Embedder

QUERY, PASSAGE = "query", "passage"


class KeptVectors:
    """An embedding model whose vectors are cached in a file, by a hash of the text.

    Attributes:
        seconds: CPU time of the model so far, in the threads that called it.
    """

    def __init__(self, model: Embedder, file: Path) -> None:
        """Read the cache file; it is created if it does not exist."""
        self.signature = model.signature
        self.least_similarity = model.least_similarity
        self.notice = model.notice
        self.is_paid = model.is_paid
        self.knows_meaning = model.knows_meaning
        self.seconds = 0.0
        self.model = model
        self._lock = threading.Lock()
        file.parent.mkdir(parents=True, exist_ok=True)
        self._table = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._table.execute("PRAGMA journal_mode=WAL")
        self._table.execute("CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, vector BLOB)")
        rows = self._table.execute("SELECT name, vector FROM kept")
        self._kept = {name: np.frombuffer(vector, np.float32) for name, vector in rows}

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.model.dimensions

    def embed_query(self, text: str) -> Any:
        """Return the vector of a query."""
        return self._of(QUERY, (text,))[0]

    def embed_passages(self, texts: Sequence[str]) -> Any:
        """Return the vectors of stored texts."""
        if not texts:
            return self.model.embed_passages(texts)
        return np.stack(self._of(PASSAGE, texts))

    def similarity(self, cosine: float) -> float:
        """Return the similarity for a cosine of two vectors."""
        return self.model.similarity(cosine)

    def close(self) -> None:
        """Do nothing: the other contenders still use the model."""

    @staticmethod
    def cost_ms(embed: Callable[[str], object], texts: Sequence[str]) -> float:
        """Return the median CPU of a text's vector in milliseconds, after one warm-up call."""
        taken = []
        for text in (texts[0], *texts):
            began = time.thread_time()
            embed(text)
            taken.append(time.thread_time() - began)
        return statistics.median(taken[1:]) * 1000

    def end(self) -> None:
        """Close the model and the file."""
        self.model.close()
        self._table.close()

    def _of(self, use: str, texts: Sequence[str]) -> list[Any]:
        began = time.thread_time()
        with self._lock:
            names = [self._name(use, text) for text in texts]
            missing = {
                name: text
                for name, text in zip(names, texts, strict=True)
                if name not in self._kept
            }
            if missing:
                self._make(use, missing)
            vectors = [self._kept[name].copy() for name in names]
        self.seconds += time.thread_time() - began
        return vectors

    def _make(self, use: str, missing: dict[str, str]) -> None:
        if use == PASSAGE:
            arrays = list(self.model.embed_passages(list(missing.values())))
        else:
            arrays = [self.model.embed_query(text) for text in missing.values()]
        vectors = [np.asarray(vector, np.float32) for vector in arrays]
        self._kept.update(zip(missing, vectors, strict=True))
        rows = [(name, vector.tobytes()) for name, vector in zip(missing, vectors, strict=True)]
        self._table.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)

    def _name(self, use: str, text: str) -> str:
        return sha256(f"{self.signature}\0{use}\0{text}".encode("utf-8", "replace")).hexdigest()
