"""The difference of two texts, in pieces that are shown one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# Words against words that are compared one by one; of longer passages only the whole is shown.
MOST_COMPARED = 1_000_000


class PieceKind(StrEnum):
    """The texts that a piece is in."""

    SAME = "same"
    NEW = "new"
    GONE = "gone"


class Piece(NamedTuple):
    """A part of both texts, or of one of them."""

    kind: PieceKind
    text: str


def difference(old: str, new: str) -> tuple[Piece, ...]:
    """Two texts as pieces: first by lines, and within lines that differ by words.

    Returns:
        What is the same or gone makes the old text, what is the same or new the new one.
    """
    lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    found: list[Piece] = []
    for kind, before, after in _parts(*lines):
        few = _WORDS.findall(before), _WORDS.findall(after)
        if kind == "replace" and len(few[0]) * len(few[1]) <= MOST_COMPARED:
            for _, gone, added in _parts(*few):
                found += _pieces(gone, added)
        else:
            found += _pieces(before, after)
    return tuple(_joined(found))


def _parts(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) * len(new) > MOST_COMPARED)
    for kind, first, last, start, end in matcher.get_opcodes():
        yield kind, "".join(old[first:last]), "".join(new[start:end])


def _pieces(old: str, new: str) -> list[Piece]:
    if old == new:
        return [Piece(PieceKind.SAME, old)]
    both = ((PieceKind.GONE, old), (PieceKind.NEW, new))
    return [Piece(kind, text) for kind, text in both if text]


def _joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The same with neighbours of one kind as one."""
    last: Piece | None = None
    for piece in pieces:
        if last is not None and last.kind is piece.kind:
            last = Piece(last.kind, last.text + piece.text)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last
