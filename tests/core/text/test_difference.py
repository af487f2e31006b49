"""The difference of two texts."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.text import difference as module
from evennia_ai.core.text.difference import Piece, PieceKind, difference

TEXTS = st.text(alphabet="ab \n.", max_size=40)


@given(TEXTS, TEXTS)
def test_both_texts_are_in_it(old: str, new: str) -> None:
    pieces = difference(old, new)
    assert old == "".join(text for kind, text in pieces if kind is not PieceKind.NEW)
    assert new == "".join(text for kind, text in pieces if kind is not PieceKind.GONE)
    assert all(first.kind is not second.kind for first, second in itertools.pairwise(pieces))
    assert all(piece.text for piece in pieces)


def test_words_are_compared_within_a_line() -> None:
    assert (
        Piece(PieceKind.SAME, "Ada is "),
        Piece(PieceKind.GONE, "kind"),
        Piece(PieceKind.NEW, "stern"),
        Piece(PieceKind.SAME, ".\nShe waits.\n"),
    ) == difference("Ada is kind.\nShe waits.\n", "Ada is stern.\nShe waits.\n")


def test_long_passages_are_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison of long passages word by word would be slow."""
    monkeypatch.setattr(module, "MOST_COMPARED", 3)
    assert (
        Piece(PieceKind.GONE, "one two three"),
        Piece(PieceKind.NEW, "one two four"),
    ) == difference("one two three", "one two four")
