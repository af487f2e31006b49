"""Invisible characters, and marks that pile up on one letter."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.text.characters import MOST_ACCENTS, MOST_MARKS, few_marks, without_invisible
from evennia_ai.core.text.cleaning import clean_speech, name_as_data, one_line, quote

ACUTE, THAI, FAR = "\u0301", "\u0e47", "\U0001d165"
PILES = st.lists(
    st.sampled_from(
        ["a", "กำ", ACUTE, "\u0316", THAI, FAR, "\u200d", "\u200c", "\u20e3", "é", "👩"]
    ),
    max_size=60,
).map("".join)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("hello", id="plain"),
        pytest.param(
            unicodedata.normalize("NFD", "Tiếng Việt rất đẹp, nghiễm nhiên"), id="Vietnamese"
        ),
        pytest.param("हिन्दी में लिखी हुई क़िताबें, स्त्रियाँ", id="Hindi"),
        pytest.param("בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים", id="Hebrew with points and accents"),
        pytest.param("ที่นี่น้ำขึ้นสูงปั้นก้อน", id="Thai"),
        pytest.param("လျှော်ဖွပ်သည် မြှောက်", id="Burmese"),
        pytest.param("བསྒྲུབས་ཧཱུྃ", id="Tibetan"),
        pytest.param("ស្ត្រីខ្មែរ", id="Khmer"),
        pytest.param(unicodedata.normalize("NFD", "ᾧ ᾱ́ͅ ὦ"), id="polytonic Greek"),
        pytest.param("بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ", id="Arabic with points"),
        pytest.param("نمی‌خواهم", id="Persian with a joiner"),
        pytest.param("क्‍ष", id="Devanagari with a joiner"),
        pytest.param("👩‍👩‍👧‍👦 👩🏽‍🚀 ❤️‍🔥 1️⃣ 🏳️‍🌈", id="joined emoji"),
        pytest.param("𑀓𑁆𑀱𑀺", id="Brahmi, beyond the first plane"),
    ],
)
def test_hole_c18_what_scripts_are_spelled_with_stays(text: str) -> None:
    assert text == few_marks(text)
    assert text == clean_speech(text)


@pytest.mark.parametrize(
    ("left", "text"),
    [
        pytest.param("a" + ACUTE * MOST_ACCENTS, "a" + ACUTE * 700, id="700 on one letter"),
        pytest.param("ก" + THAI * MOST_MARKS, "ก" + THAI * 700, id="of a script"),
        pytest.param("a" + FAR * MOST_MARKS, "a" + FAR * 700, id="beyond the first plane"),
        pytest.param(ACUTE * MOST_ACCENTS, ACUTE * 700, id="on no letter"),
        pytest.param("a" + ACUTE * 4 + THAI * 4, "a" + ACUTE * 6 + THAI * 9, id="of two kinds"),
        pytest.param(
            "a" + f"{ACUTE}\u200d" * 4,
            "a" + f"{ACUTE}\u200d\u200d" * 700,
            id="with joiners between",
        ),
        pytest.param("a\u200d", "a" + "\u200d" * 700, id="joiners alone"),
    ],
)
def test_hole_c18_marks_do_not_pile_up(left: str, text: str) -> None:
    """About 700 marks on one letter covered what others had said."""
    assert left.rstrip("\u200d") == few_marks(text).rstrip("\u200d")


@given(PILES)
def test_hole_c18_no_run_of_marks_is_long(text: str) -> None:
    left, run = few_marks(text), 0
    assert left == few_marks(left)
    for sign in left:
        is_mark = unicodedata.category(sign).startswith("M")
        run = run + 1 if is_mark else run if sign in "\u200c\u200d" else 0
        assert run <= MOST_MARKS


@pytest.mark.parametrize("shown", [clean_speech, name_as_data, one_line, quote])
def test_hole_c18_neither_prompts_nor_speech_hold_piles(shown: object) -> None:
    assert callable(shown)
    assert 4 == shown("Zo" + ACUTE * 700 + "e").count(ACUTE)


def test_every_character_that_is_not_seen_goes() -> None:
    """Every code point is tried, by the Unicode tables of this Python."""
    for code in range(0x110000):
        sign = chr(code)
        hidden = (
            unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co") and sign not in "\u200c\u200d"
        )
        if hidden or sign in "\u2028\u2029":
            assert without_invisible(f"a{sign}b") in ("ab", "a b", "a\nb"), hex(code)


def test_what_is_seen_stays() -> None:
    """Every seventh visible code point of the first three planes is kept."""
    seen = "".join(
        chr(code)
        for code in range(0x20, 0x30000, 7)
        if unicodedata.category(chr(code))[0] not in "CZ" or code == 0x20
    )
    assert seen == without_invisible(seen + "\u200b")
