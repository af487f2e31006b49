"""The table of memories as the search reads it: rows in the order they were kept, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Row(NamedTuple):
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


class Shelf(Protocol):
    """The memories of all assistants. Called by the thread that searches.

    Attributes:
        page_size: how many memories a page has, but for the last one.
    """

    page_size: int

    def epoch(self, collection: int) -> int:
        """A number that changes when a memory was changed or forgotten, but not with new ones."""

    def arrivals(self, collection: int) -> int:
        """A number that changes when this process kept another memory."""

    def newest(self, collection: int) -> int:
        """The number of the newest memory, 0 where there is none."""

    def page(
        self, collection: int, signature: str, audience: str | None, after: int, until: int
    ) -> Sequence[Row]:
        """The next page of memories that are searched, by number; [] at the end.

        Args:
            signature: the embedding model whose vectors are wanted.
            audience: of one audience, or None: of all.
            after, until: numbers above the first, up to the second.
        """

    def keys(self, collection: int, signature: str) -> set[str]:
        """The memories of which there is a vector of this embedding model."""

    def renew(self) -> None:
        """Let a connection that met a trouble be opened anew by the next question."""

    def close(self) -> None:
        """Let go of the connection of the thread that searches."""
