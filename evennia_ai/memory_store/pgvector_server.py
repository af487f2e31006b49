"""The store on PostgreSQL with its extension pgvector: a table for each assistant."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import unquote, urlsplit

from psycopg_pool import ConnectionPool, PoolTimeout

from evennia_ai.memory_store.embedding import Embedder
from evennia_ai.memory_store.server_vectors import ServerVectors

# Less than a search may take, so that the reason is told and not only that it is late.
TIMEOUT_SECONDS = 4
OPTIONS = {"connect_timeout": TIMEOUT_SECONDS, "options": "-c statement_timeout=4000"}
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
# Both tell of each failure themselves, with its text; what is told here is enough.
LOUD = ("mem0.vector_stores.pgvector", "psycopg.pool")


class PgVectors(ServerVectors):
    """A database on a PostgreSQL server."""

    provider = "pgvector"
    title = "PostgreSQL"

    def __init__(self, url: str, api_key: str, embedder: Embedder) -> None:
        parts = urlsplit(url)
        place = parts.netloc.rpartition("@")[2] or "this machine"
        super().__init__(embedder, place, unquote(parts.password or "") or api_key)
        kwargs = {**OPTIONS, "password": api_key} if api_key and not parts.password else OPTIONS
        for name in LOUD:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._pool = ConnectionPool(
            url,
            min_size=0,
            max_size=2,
            open=True,
            kwargs=kwargs,
            timeout=TIMEOUT_SECONDS,
            reconnect_timeout=TIMEOUT_SECONDS,
            # A server that was restarted leaves dead connections behind in the pool.
            check=ConnectionPool.check_connection,
        )
        # mem0 closes the pool with the first of its tables that is let go.
        self._let_go: list[Any] = []

    def config(self, name: str, dimensions: int) -> dict[str, Any]:
        """Settings of mem0's provider for a table; a nearest-vector index would miss hits."""
        return {
            "collection_name": name,
            "embedding_model_dims": dimensions,
            "connection_pool": self._pool,
            "hnsw": False,
            "diskann": False,
            # mem0's class has no defaults for these, and uses the pool in place of them.
            **dict.fromkeys(("dbname", "user", "password", "host", "port"), ""),
        }

    def names(self) -> set[str]:
        """The tables that are there."""
        with self._pool.connection() as connection:
            return {row[0] for row in connection.execute(TABLES).fetchall()}

    def forget(self, name: str) -> None:
        """Let a table be made anew when it is next asked."""
        self._let_go.append(self._stores[name])
        super().forget(name)

    def reason(self, error: Exception) -> str:
        """The cause of an error; of a pool that waited in vain, what that means."""
        return "nobody answers" if isinstance(error, PoolTimeout) else str(error)

    def close(self) -> None:
        """Let go of the connections."""
        self._pool.close()


make = PgVectors
