"""Excerpts of a long text around the words that were asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.memory.excerpts import excerpt, has_to_do

LONG = (
    "I came by the mill this morning and talked with the miller about the price of flour, which is "
    "a scandal. Then I hid my savings under the third step of the forge, where nobody looks. After "
    "that I went to the inn, drank a mug of cider with Bram, and heard that the duke is bankrupt."
)


@pytest.mark.parametrize(
    ("there", "about"),
    [
        pytest.param("third step", "Where are my savings?", id="in the middle"),
        pytest.param("savings", "what am I saving?", id="another form of the word"),
        pytest.param("I came by the mill", "the miller, and flour", id="at the beginning"),
        pytest.param("duke is bankrupt.", "Is the duke rich?", id="at the end"),
        pytest.param("I came by the mill", "Anneke", id="nowhere: the beginning"),
        pytest.param("I came by the mill", "", id="nothing asked: the beginning"),
    ],
)
def test_it_is_cut_around_what_is_asked_for(there: str, about: str) -> None:
    text = excerpt(LONG, about, 120)
    assert there in text
    assert 60 <= len(text) <= 120
    words = text.strip("…")
    assert LONG.startswith(words) is (text[0] != "…")
    assert LONG.endswith(words) is (text[-1] != "…")
    assert all(word in LONG.split() for word in words.split())


def test_what_fits_is_told_whole() -> None:
    assert "I have a boat." == excerpt("I have\n a boat.", "boat", 14)


def test_what_has_to_do_with_a_question() -> None:
    assert has_to_do("I hid my savings.", "Where did I SAVE, or: what of my saving?")
    assert not has_to_do("I am in it.", "am I in it")


def test_words_that_stand_together_count_more_than_one_alone() -> None:
    text = f"The cat sleeps. {'Nothing happens here. ' * 20}The cat ate the herring of the miller."
    assert "herring of the miller" in excerpt(text, "did the cat eat the miller's herring", 80)


@given(st.text(), st.text(), st.integers(3, 60))
def test_the_limit_holds(text: str, about: str, limit: int) -> None:
    result = excerpt(text, about, limit)
    assert len(result) <= limit
    assert result == " ".join(result.split())
