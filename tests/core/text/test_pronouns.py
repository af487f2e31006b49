"""Pronouns: as set, else by the game's gender, else "it"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.text.words import FORMS, Pronouns, pronoun_sentence, pronouns_of


@pytest.mark.parametrize(
    ("pronouns", "wish", "gender"),
    [
        ("it", "auto", None),
        ("she", "auto", "female"),
        ("he", "auto", "Male "),
        ("they", "auto", "ambiguous"),
        ("it", "auto", "neutral"),
        ("it", "auto", "dragon"),
        ("it", "auto", 7),
        ("they", "they", "female"),
        ("it", "it", "male"),
        ("she", "nonsense", "female"),
        ("he", None, "male"),
    ],
)
def test_pronouns_of(pronouns: str, wish: object, gender: object) -> None:
    """The setting comes before the gender, and an unknown value counts as not set."""
    assert pronouns == pronouns_of(wish, gender)


@given(st.none() | st.integers() | st.text(), st.none() | st.lists(st.text()) | st.text())
def test_some_always_hold(wish: object, gender: object) -> None:
    assert pronouns_of(wish, gender) in FORMS


def test_every_word_but_auto_has_forms() -> None:
    assert set(Pronouns) - {Pronouns.AUTO} == set(FORMS)


@pytest.mark.parametrize(
    ("pronouns", "text"),
    [
        ("it", "Its tools are its own; whisper to it. By itself."),
        ("she", "Her tools are her own; whisper to her. By herself."),
        ("he", "His tools are his own; whisper to him. By himself."),
        ("they", "Their tools are their own; whisper to them. By themselves."),
    ],
)
def test_fill(pronouns: str, text: str) -> None:
    wording = FORMS[Pronouns(pronouns)]
    template = "{Their} tools are {their} own; whisper to {them}. By {themself}."
    assert text == wording.fill(template)
    assert "{name}" == wording.fill("{name}")


def test_a_model_is_told_only_what_is_not_usual() -> None:
    assert "" == pronoun_sentence(Pronouns.IT)
    assert 'Others call you "she".' == pronoun_sentence(Pronouns.SHE)
