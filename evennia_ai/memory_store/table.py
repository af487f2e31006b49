"""Paged reads of the table of memories for searches. Short pages keep writers from waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection

from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.troubles import renew
from evennia_ai.models import Memory, MemoryVector


class MemoryRow(NamedTuple):
    """A row of the table with the columns that a search needs.

    Attributes:
        number: primary key, which grows with each new row.
        key: 32 hexadecimal digits.
        at: seconds since 1970.
        is_talk: True for a journal entry, which may continue the conversation of the entry before.
        vector: float16 array of the current embedding model; b"" if there is none yet.
    """

    number: int
    key: str
    audience: str
    text: str
    trust: float
    at: float
    is_talk: bool
    vector: bytes


# Plain SQL, because Django's ORM takes longer to compile this query than the database to run it.
# The condition must match `rows.current`; a test compares the two.
_PAGE = f"""
    SELECT m.id, m.key, m.audience, m.text, m.trust, m.at, m.kind, v.vector
    FROM {Memory._meta.db_table} m
    LEFT JOIN {MemoryVector._meta.db_table} v ON v.memory_id = m.id AND v.model = %s
    WHERE m.assistant = %s AND m.id > %s AND m.id <= %s AND NOT m.is_removed
    AND m.superseded_at IS NULL AND m.kind <> '{MemoryKind.LORE}' {{audience}}
    ORDER BY m.id LIMIT %s
"""
_OF_ALL, _OF_ONE = _PAGE.format(audience=""), _PAGE.format(audience="AND m.audience = %s")
_NEWEST = f"SELECT MAX(id) FROM {Memory._meta.db_table} WHERE assistant = %s"


class Table:
    """The memories of all assistants, over the calling thread's own database connection.

    Attributes:
        page_size: rows of a page; the last one may have fewer.
    """

    # SQLite blocks writers while a query reads, so pages are short.
    page_size = 1_000

    def __init__(self, *, is_shared: bool) -> None:
        """Create the reader.

        Args:
            is_shared: used in the game's own thread, whose connection must stay open.
        """
        self._is_shared = is_shared

    def epoch(self, collection: int) -> int:
        """A counter that changes when a memory is changed or forgotten, but not with new ones."""
        return rows.epoch(collection)

    def arrivals(self, collection: int) -> int:
        """A counter that changes when this process adds a memory."""
        return rows.arrivals(collection)

    def newest(self, collection: int) -> int:
        """Primary key of the newest memory, or 0 if there is none."""
        with connection.cursor() as cursor:
            cursor.execute(_NEWEST, [collection])
            return int(cursor.fetchone()[0] or 0)

    def page(
        self, collection: int, signature: str, audience: str | None, after: int, until: int
    ) -> Sequence[MemoryRow]:
        """The next page of searchable memories in the order of their ids; [] at the end.

        Args:
            audience: restrict to one audience; None for all.
            signature: embedding model whose vectors are joined.
            after, until: ids above the first, up to and including the second.
        """
        audiences = [] if audience is None else [audience]
        columns = [signature, collection, after, until, *audiences, self.page_size]
        with connection.cursor() as cursor:
            cursor.execute(_OF_ALL if audience is None else _OF_ONE, columns)
            page_rows = cursor.fetchall()
        talk = MemoryKind.JOURNAL
        return [
            # Depending on the driver, a blob is bytes or a memoryview; None: no vector was joined.
            MemoryRow(number, key, whose, text, trust, at, kind == talk, bytes(vector or b""))
            for number, key, whose, text, trust, at, kind, vector in page_rows
        ]

    def keys(self, collection: int, signature: str) -> set[str]:
        """Keys of the memories that have a vector of this embedding model."""
        vectors = MemoryVector.objects.filter(memory__assistant=collection, model=signature)
        return set(vectors.values_list("memory__key", flat=True))

    def renew(self) -> None:
        """Close a broken connection; Django opens a new one for the next query."""
        if not self._is_shared:
            renew()

    def close(self) -> None:
        """Close the connection of the search thread."""
        if not self._is_shared:
            connection.close()
