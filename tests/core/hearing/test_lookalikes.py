"""Names that people would take for one another."""

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.lookalikes import mistaken_for, skeleton, voice_of_game

# Written with escapes, since nobody could tell them apart otherwise.
DISGUISES = {
    "another case": ("Ada", "aDA"),
    "Cyrillic": ("Ada", "\u0410d\u0430"),
    "Cyrillic capitals whose small letters look like nothing": ("HEMO", "\u041d\u0415\u041c\u041e"),
    "Greek": ("Pao", "\u03a1\u03b1\u03bf"),
    "Cherokee": ("Ada", "\u13aa\u13a0\u13aa"),
    "fullwidth": ("Ada", "\uff21\uff44\uff41"),
    "letters of mathematics": ("Ada", "\U0001d400\U0001d41d\U0001d41a"),
    "letters in circles": ("Ada", "\u24b6\u24d3\u24d0"),
    "accents": ("Ada", "\u00c1d\u00e4"),
    "a stroke laid over": ("Ada", "Ad\u0336a"),
    "stacked marks": ("Ada", "A" + "\u0301" * 40 + "da"),
    "a blank of no width": ("Ada", "A\u200bda"),
    "a mark of direction": ("Ada", "\u202eAda\u202c"),
    "a soft hyphen": ("Ada", "A\u00adda"),
    "a letter that is not drawn": ("Ada", "Ada\u3164"),
    "a tag character": ("Ada", "Ada\U000e0041"),
    "a variation selector": ("Ada", "Ada\ufe0f"),
    "digits": ("Olesta", "0135t4"),
    "a one for an l": ("Bill", "Bi11"),
    "an I for an l": ("Bill", "BiIl"),
    "a bar for an l": ("Bill", "Bi||"),
    "signs": ("Ada", "@d@"),
    "the sign of an address in front": ("Ada", "@Ada"),
    "such a sign behind": ("Ada", "ada@"),
    "several signs around": ("Ada", "!-@Ada_$"),
    "a fullwidth sign": ("Ada", "\uff20Ada"),
    "r and n": ("Emma", "Ernma"),
    "two v": ("Wanda", "VVanda"),
    "doubled blanks": ("Old Edda", "Old  Edda"),
    "no blanks": ("Old Edda", "OldEdda"),
    "other separators": ("Old Edda", "Old_Edda"),
    "a dot behind": ("Ada", "Ada."),
    "a dotless i": ("Mira", "M\u0131ra"),
    "a sharp s": ("Strauss", "Strau\u00df"),
}


@pytest.mark.parametrize(("name", "disguised"), DISGUISES.values(), ids=DISGUISES)
def test_hole_a1_disguises_are_seen_through(name: str, disguised: str) -> None:
    assert name != disguised
    assert mistaken_for(name, [disguised])
    assert mistaken_for(disguised, [name])


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Ada", "Adam"),
        ("Ada", "Eda"),
        ("Ada", "Old Ada"),
        ("Ada", "Adda"),
        ("Tom", "Tim"),
        ("Seven 7", "Seven 2"),
        ("\u041c\u0438\u0440\u0430", "\u041c\u0430\u0440\u0430"),
        ("\u30a8\u30c3\u30c0", "\u30a8\u30c0"),
        ("", ""),
        ("...", "---"),
        ("Ada", "@Adam"),
    ],
)
def test_other_names_are_other_names(name: str, other: str) -> None:
    """Similar names are allowed, and names of signs alone resemble nothing."""
    assert not mistaken_for(name, [other])


def test_whose_name_it_is() -> None:
    assert mistaken_for("4da", ["Tom", "Ada", "ADA"]) == "Ada"
    assert mistaken_for("Edda", ["Tom", "Ada"]) == ""
    assert mistaken_for("...", ["---"]) == ""


@pytest.mark.parametrize(
    "name",
    ["SYSTEM", "Server", "Admin", "Adm1n", "\u0405ystem", "the  server", "S.Y.S.T.E.M", "GM"],
)
def test_hole_a1_voices_of_the_game(name: str) -> None:
    assert voice_of_game(name)


@pytest.mark.parametrize("name", ["Ada", "Systema", "Serva", "Old Admiral", "Edda"])
def test_no_voice_of_the_game(name: str) -> None:
    assert voice_of_game(name) == ""


@given(st.text(max_size=40))
def test_a_skeleton_is_stable(name: str) -> None:
    """A skeleton has no capitals, blanks or marks, and ignores invisible additions."""
    seen = skeleton(name)
    assert not set(seen) & set(string.ascii_uppercase + string.whitespace + string.punctuation)
    assert not any(unicodedata.category(ch) in ("Mn", "Me", "Cf", "Cc") for ch in seen)
    assert skeleton(f" {name}\u200b-") == seen


@given(st.text(alphabet=string.ascii_letters, min_size=1, max_size=20))
def test_case_never_counts(name: str) -> None:
    assert skeleton(name.upper()) == skeleton(name.lower()) == skeleton(name.swapcase())
