"""Differences between two texts, as a sequence of pieces for display."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# Pairs of words compared (the matcher is quadratic); longer passages are shown as replaced whole.
MOST_COMPARED = 1_000_000


class PieceKind(StrEnum):
    """Membership of a piece: in both texts, only in the new one, or only in the old one."""

    SAME = "same"
    NEW = "new"
    GONE = "gone"


class Piece(NamedTuple):
    """A part of both texts, or of one of them; joined by kind, pieces restore either text."""

    kind: PieceKind
    text: str


def difference(old: str, new: str) -> tuple[Piece, ...]:
    """Two texts as pieces: compared by lines, and by words within lines that differ.

    Returns:
        Pieces in order: SAME and GONE together make the old text, SAME and NEW the new one.
    """
    lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    pieces: list[Piece] = []
    for kind, before, after in _parts(*lines):
        few = _WORDS.findall(before), _WORDS.findall(after)
        if kind == "replace" and len(few[0]) * len(few[1]) <= MOST_COMPARED:
            for _, gone, added in _parts(*few):
                pieces += _pieces(gone, added)
        else:
            pieces += _pieces(before, after)
    return tuple(_joined(pieces))


def _parts(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    # difflib's autojunk is fast but coarse: it ignores frequent items, so only huge texts get it.
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) * len(new) > MOST_COMPARED)
    for kind, first, last, start, end in matcher.get_opcodes():
        yield kind, "".join(old[first:last]), "".join(new[start:end])


def _pieces(old: str, new: str) -> list[Piece]:
    if old == new:
        return [Piece(PieceKind.SAME, old)]
    both = ((PieceKind.GONE, old), (PieceKind.NEW, new))
    return [Piece(kind, text) for kind, text in both if text]


def _joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces with neighbours of one kind merged."""
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
