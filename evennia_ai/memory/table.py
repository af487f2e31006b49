"""The table of memories as a search reads it, in pages, so that nobody waits long to write."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection
from django.db.models import QuerySet

from evennia_ai.core.recollection import MemoryKind
from evennia_ai.memory import rows
from evennia_ai.memory.shelf import Row
from evennia_ai.models import Memory, MemoryVector

_COLUMNS = ("id", "key", "audience", "text", "trust", "at", "kind")
_VECTOR = ("embedding__model", "embedding__vector")


class Table:
    """The shelf in the game's database. Each thread that asks has a connection of its own."""

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
        found = Memory.objects.filter(assistant=collection).order_by("-id")
        return found.values_list("id", flat=True).first() or 0

    def page(
        self, collection: int, signature: str, audience: str | None, after: int, until: int
    ) -> Sequence[Row]:
        """The next memories that are searched, by number."""
        found = _of(collection).filter(id__gt=after, id__lte=until)
        if audience is not None:
            found = found.filter(audience=audience)
        page = found.order_by("id").values_list(*_COLUMNS, *_VECTOR)[: self.page_size]
        return [
            Row(
                number,
                key,
                each,
                text,
                trust,
                at,
                kind == MemoryKind.JOURNAL,
                bytes(vector) if model == signature else b"",
            )
            for number, key, each, text, trust, at, kind, model, vector in page
        ]

    def keys(self, collection: int, signature: str) -> set[str]:
        """The memories of which there is a vector of this embedding model."""
        found = MemoryVector.objects.filter(memory__assistant=collection, model=signature)
        return set(found.values_list("memory__key", flat=True))

    def close(self) -> None:
        """Let go of the connection of the thread that searches."""
        if not self._is_shared:
            connection.close()


def _of(collection: int) -> QuerySet[Memory]:
    return rows.current(collection).exclude(kind=MemoryKind.LORE)
