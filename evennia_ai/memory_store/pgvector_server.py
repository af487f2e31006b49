"""Vectors on a PostgreSQL server with the extension pgvector: one table per assistant."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import unquote, urlsplit

from psycopg_pool import ConnectionPool, PoolTimeout

from evennia_ai.memory_store.embedding import Embedder
from evennia_ai.memory_store.server_vectors import ServerVectors

# Below the deadline of a search (5 s), so that the error names the cause and not the deadline.
TIMEOUT_SECONDS = 4
OPTIONS = {"connect_timeout": TIMEOUT_SECONDS, "options": "-c statement_timeout=4000"}
LIST_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
# Both log every failure on their own, in addition to the error that is reported here.
NOISY_LOGGERS = ("mem0.vector_stores.pgvector", "psycopg.pool")


class PgVectors(ServerVectors):
    """A database on a PostgreSQL server."""

    provider = "pgvector"
    title = "PostgreSQL"

    def __init__(self, url: str, api_key: str, embedder: Embedder) -> None:
        parts = urlsplit(url)
        place = parts.netloc.rpartition("@")[2] or "this machine"
        super().__init__(embedder, place, unquote(parts.password or "") or api_key)
        kwargs = {**OPTIONS, "password": api_key} if api_key and not parts.password else OPTIONS
        for name in NOISY_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._pool = ConnectionPool(
            url,
            min_size=0,
            max_size=2,
            open=True,
            kwargs=kwargs,
            timeout=TIMEOUT_SECONDS,
            reconnect_timeout=TIMEOUT_SECONDS,
            # After a restart of the server, the pool still holds dead connections.
            check=ConnectionPool.check_connection,
        )
        # mem0's provider closes the shared pool in its destructor, so dropped ones are kept here.
        self._kept_alive: list[Any] = []

    def config(self, name: str, dimensions: int) -> dict[str, Any]:
        """The settings of mem0's provider for a table."""
        return {
            "collection_name": name,
            "embedding_model_dims": dimensions,
            "connection_pool": self._pool,
            # Approximate indexes miss hits, all the more when combined with filters.
            "hnsw": False,
            "diskann": False,
            # mem0 requires these, but ignores them if it is given a pool.
            **dict.fromkeys(("dbname", "user", "password", "host", "port"), ""),
        }

    def names(self) -> set[str]:
        """The existing tables."""
        with self._pool.connection() as connection:
            return {row[0] for row in connection.execute(LIST_TABLES).fetchall()}

    def forget(self, name: str) -> None:
        """Forget a table, so that the next use creates it again."""
        self._kept_alive.append(self._stores[name])
        super().forget(name)

    def reason(self, error: Exception) -> str:
        """The cause of an error. A timeout of the pool means that the server does not answer."""
        return "nobody answers" if isinstance(error, PoolTimeout) else str(error)

    def close(self) -> None:
        """Close connections."""
        self._pool.close()


make = PgVectors
