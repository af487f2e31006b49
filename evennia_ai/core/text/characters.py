"""Filters for invisible characters and for combining marks stacked on one letter."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

# A Burmese syllable may have six marks, a letter of Hebrew scripture five. Of the accents that fit
# any script a letter of polytonic Greek has four, and stacked text ("Zalgo") is made of those.
MOST_MARKS = 8
MOST_ACCENTS = 4
JOINERS = "\u200c\u200d"
# For a class of `re`: letters of scripts that put no spaces between words (Thai, Lao, Burmese,
# Khmer, hiragana, Chinese characters), and katakana, which are words among these.
UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    r"\u3005-\u3007\u3041-\u309f\u3400-\u9fff\U00020000-\U0003ffff"
)
KATAKANA = r"\u30a1-\u30fa\u30fc-\u30ff"
# For each kind of letter, those of which a word that begins or ends with it may have more.
_KINDS = (
    (re.compile(f"[{UNSPACED}]"), "(?!)"),
    (re.compile(f"[{KATAKANA}]"), f"[{KATAKANA}]"),
    (re.compile(r"\w"), rf"[^\W{UNSPACED}{KATAKANA}]"),
    (re.compile("", re.DOTALL), r"\w"),
)
# Besides "\n", the characters at which str.splitlines() breaks a line.
_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_KEPT = "\n" + JOINERS
# Control, format, surrogate and private-use characters, as Unicode's general category names them.
_INVISIBLE = ("Cc", "Cf", "Cs", "Co")
_MARKS = ("Mn", "Mc", "Me")
_ACCENTS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_ACCENT = re.compile(f"[{_ACCENTS}]")
# A terminal's colour code or other control sequence, whose letters would be left over.
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_JOINED = re.compile(f"(?<=[{JOINERS}])[{JOINERS}]+")
# A pile is read only so far: longer than any that is kept, with a joiner between all its marks.
_LONGEST_PILE = 4 * MOST_MARKS
# `re` is slow with classes that reach beyond the Basic Multilingual Plane, so those are kept apart
# and used only for texts with astral characters; emoji (from U+1F000) do not count as such.
_BMP, _ASTRAL = (0x0, 0x10000), (0x10000, 0x1F000)
_TAGS = (0xE0000, 0xE0200)
_PRIVATE = f"{chr(0xF0000)}-{chr(sys.maxunicode)}"
_HAS_ASTRAL = re.compile(
    f"[{chr(_ASTRAL[0])}-{chr(_ASTRAL[1] - 1)}{chr(_TAGS[0])}-{chr(sys.maxunicode)}]"
)

_HAS_ASTRAL_MARKS = re.compile(f"[{chr(_ASTRAL[0])}-{chr(_ASTRAL[1] - 1)}\U000e0100-\U000e01ef]")


class _CharacterPatterns(NamedTuple):
    invisible: re.Pattern[str]
    astral_invisible: re.Pattern[str]
    pile: re.Pattern[str]
    astral_pile: re.Pattern[str]


@cache
def _patterns() -> _CharacterPatterns:
    # Building the classes from this Python's Unicode tables takes some milliseconds: once per
    # process.
    near = "".join(_ranges(_MARKS, _BMP))
    far = "".join(_ranges(_MARKS, _ASTRAL, _TAGS))
    return _CharacterPatterns(
        re.compile(f"[{''.join(_ranges(_INVISIBLE, _BMP))}]+"),
        re.compile(f"[{''.join(_ranges(_INVISIBLE, _ASTRAL, _TAGS))}{_PRIVATE}]+"),
        _pile_pattern(near),
        _pile_pattern(near + far),
    )


def _pile_pattern(marks: str) -> re.Pattern[str]:
    return re.compile(f"[{marks}][{marks}{JOINERS}]{{{MOST_ACCENTS},}}+")


def _ranges(categories: Collection[str], *spans: tuple[int, int]) -> Iterator[str]:
    """Ranges of the characters of some categories, written for a character class of `re`."""
    first = last = -2
    for code in chain.from_iterable(range(*span) for span in spans):
        char = chr(code)
        if char in _KEPT or unicodedata.category(char) not in categories:
            continue
        if code != last + 1:
            yield _range(first, last)
            first = code
        last = code
    yield _range(first, last)


def _range(first: int, last: int) -> str:
    return "" if first < 0 else f"{re.escape(chr(first))}-{re.escape(chr(last))}"


def without_invisible(text: str) -> str:
    """Text without control and invisible formatting characters.

    Terminal sequences such as colours go as a whole. Every kind of line break becomes a newline and
    a tab becomes a space. The zero-width joiner and non-joiner stay: some scripts and emoji are
    spelled with them.
    """
    if text.isprintable():
        return text
    text = _SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\t", " ")
    for char in _BREAKS:
        text = text.replace(char, "\n")
    text = _patterns().invisible.sub("", text)
    return _patterns().astral_invisible.sub("", text) if _HAS_ASTRAL.search(text) else text


def as_word(text: str) -> str:
    """A pattern that finds a text as a whole word, also between letters of another script.

    In scripts that put no spaces between words, a single letter is mostly a part of another word.
    """
    before, after = (r"\w", r"\w") if len(text) == 1 else (_more(text[0]), _more(text[-1]))
    return rf"(?<!{before}){re.escape(text)}(?!{after})"


def _more(letter: str) -> str:
    return next(more for kind, more in _KINDS if kind.match(letter))


def few_marks(text: str) -> str:
    """Text in which no letter carries more combining marks than any script needs.

    Joiners in a row become one, since a pile could be hidden among them.
    """
    if text.isascii():
        return text
    pile = _patterns().astral_pile if _HAS_ASTRAL_MARKS.search(text) else _patterns().pile
    return pile.sub(_thin_out, _JOINED.sub("", text))


def _thin_out(pile: re.Match[str]) -> str:
    result = ""
    marks = accents = 0
    for char in pile[0][:_LONGEST_PILE]:
        if char in JOINERS:
            result += char
            continue
        accents += _ACCENT.match(char) is not None
        if marks == MOST_MARKS or (accents > MOST_ACCENTS and _ACCENT.match(char)):
            continue
        result += char
        marks += 1
    # Dropping marks may have made joiners adjacent.
    return _JOINED.sub("", result)
