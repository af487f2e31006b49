"""The table of memories as a search reads it, in pages, so that nobody waits long to write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection

from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.troubles import renew
from evennia_ai.models import Memory, MemoryVector


class MemoryRow(NamedTuple):
    """A memory as it is searched.

    Attributes:
        number: rises with each row that is kept.
        key: 32 hexadecimal digits.
        at: seconds since 1970.
        is_talk: an entry of the journal, which goes on from the one before.
        vector: float16 numbers of the embedding model in use; b"" where it has not been read yet.
    """

    number: int
    key: str
    audience: str
    text: str
    trust: float
    at: float
    is_talk: bool
    vector: bytes


# Written out, as Django takes longer to put it together than the database to answer. What is
# current is what `rows.current` says; a test compares the two.
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
    """The memories of all assistants. Each thread that asks has a connection of its own.

    Attributes:
        page_size: how many memories a page has, but for the last one.
    """

    # While a page is read, SQLite lets nobody write.
    page_size = 1_000

    def __init__(self, *, is_shared: bool) -> None:
        """Make it.

        Args:
            is_shared: it is asked in the game's own thread, whose connection stays open.
        """
        self._is_shared = is_shared

    def epoch(self, collection: int) -> int:
        """A number that changes when a memory was changed or forgotten, but not with new ones."""
        return rows.epoch(collection)

    def arrivals(self, collection: int) -> int:
        """A number that changes when this process kept another memory."""
        return rows.arrivals(collection)

    def newest(self, collection: int) -> int:
        """The number of the newest memory, 0 where there is none."""
        with connection.cursor() as cursor:
            cursor.execute(_NEWEST, [collection])
            return int(cursor.fetchone()[0] or 0)

    def page(
        self, collection: int, signature: str, audience: str | None, after: int, until: int
    ) -> Sequence[MemoryRow]:
        """The next page of memories that are searched, by number; [] at the end.

        Args:
            signature: the embedding model whose vectors are wanted.
            audience: of one audience, or None: of all.
            after, until: numbers above the first, up to the second.
        """
        wanted = [] if audience is None else [audience]
        columns = [signature, collection, after, until, *wanted, self.page_size]
        with connection.cursor() as cursor:
            cursor.execute(_OF_ALL if audience is None else _OF_ONE, columns)
            found = cursor.fetchall()
        talk = MemoryKind.JOURNAL
        return [
            # Drivers give bytes or a memoryview, and None where no vector was joined.
            MemoryRow(number, key, whose, text, trust, at, kind == talk, bytes(vector or b""))
            for number, key, whose, text, trust, at, kind, vector in found
        ]

    def keys(self, collection: int, signature: str) -> set[str]:
        """The memories of which there is a vector of this embedding model."""
        found = MemoryVector.objects.filter(memory__assistant=collection, model=signature)
        return set(found.values_list("memory__key", flat=True))

    def renew(self) -> None:
        """Let a connection that met a trouble be opened anew by the next question."""
        if not self._is_shared:
            renew()

    def close(self) -> None:
        """Let go of the connection of the thread that searches."""
        if not self._is_shared:
            connection.close()
