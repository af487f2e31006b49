"""The store on PostgreSQL with its extension pgvector: a table for each collection."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from mem0.vector_stores.pgvector import PGVector
from psycopg import sql
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool, PoolTimeout

from evennia_ai.core.text import one_line
from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory.index import point_id

# Less than a search may take, so that the reason is told and not only that it is late.
TIMEOUT_SECONDS = 4
OPTIONS = {"connect_timeout": TIMEOUT_SECONDS, "options": "-c statement_timeout=4000"}
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
WIDTH = "SELECT atttypmod FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'vector'"
# Both tell of each failure themselves, with its text; what is told here is enough.
LOUD = ("mem0.vector_stores.pgvector", "psycopg.pool")


class KeyedPGVector(PGVector):  # type: ignore[misc]
    """mem0's table, with rows that bear the memory's own key, and without keyword search."""

    _collection_ensured: bool

    def __del__(self) -> None:
        """Leave the pool open, which mem0 would close: other tables are read through it."""

    def create_col(self) -> None:
        """Make the table; an index for vectors would miss memories that a filter lets through."""
        with self._get_cursor(commit=True) as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
            made = "CREATE TABLE IF NOT EXISTS {} (id UUID PRIMARY KEY, vector vector({}), {})"
            columns = self._col(), sql.Literal(self.embedding_model_dims), sql.SQL("payload JSONB")
            cursor.execute(sql.SQL(made).format(*columns))

    def insert(self, vectors: Sequence[Any], payloads: Any = None, ids: Any = None) -> None:
        """Put rows in; one whose key is there already is replaced."""
        self._ensure_collection()
        order = sql.SQL(
            "INSERT INTO {} (id, vector, payload) VALUES (%s, %s, %s) ON CONFLICT (id) "
            "DO UPDATE SET vector = EXCLUDED.vector, payload = EXCLUDED.payload"
        ).format(self._col())
        rows = [
            (point_id(payload["key"]), vector, Jsonb(payload))
            for vector, payload in zip(vectors, payloads, strict=True)
        ]
        with self._get_cursor(commit=True) as cursor:
            cursor.executemany(order, rows)

    def keyword_search(self, query: str, top_k: int = 5, filters: Any = None) -> None:
        """There is none."""

    def discard(self, keys: Sequence[str]) -> None:
        """Take rows out, if they are in."""
        order = sql.SQL("DELETE FROM {} WHERE id = ANY(%s::uuid[])").format(self._col())
        with self._get_cursor(commit=True) as cursor:
            cursor.execute(order, ([point_id(key) for key in keys],))

    def keys(self) -> set[str]:
        """What is in it."""
        return {row[0].hex for row in self._rows("SELECT id FROM {}")}

    def vector(self, key: str) -> Any:
        """A key's vector, or None."""
        found = self._rows("SELECT vector::real[] FROM {} WHERE id = %s", point_id(key))
        return found[0][0] if found else None

    def _rows(self, query: str, *arguments: Any) -> list[Any]:
        with self._get_cursor() as cursor:
            cursor.execute(sql.SQL(query).format(self._col()), arguments)
            return list(cursor.fetchall())

    def _ensure_collection(self) -> None:
        if self._collection_ensured:
            return
        self.create_col()
        with self._get_cursor() as cursor:
            cursor.execute(WIDTH, (self.collection_name,))
            made = cursor.fetchone()[0]
        if made != self.embedding_model_dims:
            raise MemoryStoreError(
                f"the embedding model gives {self.embedding_model_dims} numbers where these "
                f"memories have {made}: index them anew"
            )
        self._collection_ensured = True


class Backend:
    """A database on a PostgreSQL server."""

    provider = "pgvector"
    store_class = f"{__name__}.KeyedPGVector"

    def __init__(self, url: str, api_key: str) -> None:
        parts = urlsplit(url)
        self._place = parts.netloc.rpartition("@")[2] or "this machine"
        self._password = unquote(parts.password or "") or api_key
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
            check=ConnectionPool.check_connection,
        )

    def config(self, name: str, dimensions: int) -> dict[str, Any]:
        """What mem0 makes a collection of."""
        return {
            "collection_name": name,
            "embedding_model_dims": dimensions,
            "connection_pool": self._pool,
        }

    def names(self) -> set[str]:
        """The tables that are there."""
        with self._pool.connection() as connection:
            return {row[0] for row in connection.execute(TABLES).fetchall()}

    def drop(self, name: str) -> None:
        """Remove a table."""
        with self._pool.connection() as connection:
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))

    def explain(self, error: Exception) -> str:
        """What went wrong."""
        text = "nobody answers" if isinstance(error, PoolTimeout) else f"{error}"
        if self._password:
            text = text.replace(self._password, "***")
        reason = one_line(f"{type(error).__name__}: {text}", 160)
        return f"the PostgreSQL server at {self._place} cannot be used: {reason}"

    def close(self) -> None:
        """Let go of the connections."""
        self._pool.close()
