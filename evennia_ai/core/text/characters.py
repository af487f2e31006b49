"""Characters that are not seen, and marks that pile up on one letter."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

# A Burmese syllable may have six marks, a letter of Hebrew scripture five. Of the accents that fit
# any script a letter of polytonic Greek has four, and those are what piles are made of.
MOST_MARKS = 8
MOST_ACCENTS = 4
JOINERS = "\u200c\u200d"
_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_KEPT = "\n" + JOINERS
_NOT_SEEN = ("Cc", "Cf", "Cs", "Co")
_MARKS = ("Mn", "Mc", "Me")
_ACCENTS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_ACCENT = re.compile(f"[{_ACCENTS}]")
_JOINED = re.compile(f"(?<=[{JOINERS}])[{JOINERS}]+")
# Longer than a run of marks that is left as it is, joiners between them included.
_LOOKED_AT = 4 * MOST_MARKS
# `re` is slow with classes that reach beyond the first plane, so those are kept apart, and asked
# only of texts that hold something out there, emoji left aside.
_NEAR, _FAR = (0x0, 0x10000), (0x10000, 0x1F000)
_TAGS = (0xE0000, 0xE0200)
_PRIVATE = f"{chr(0xF0000)}-{chr(sys.maxunicode)}"
_IS_FAR = re.compile(f"[{chr(_FAR[0])}-{chr(_FAR[1] - 1)}{chr(_TAGS[0])}-{chr(sys.maxunicode)}]")

_HAS_FAR_MARKS = re.compile(f"[{chr(_FAR[0])}-{chr(_FAR[1] - 1)}\U000e0100-\U000e01ef]")


class _CharacterPatterns(NamedTuple):
    not_seen: re.Pattern[str]
    far_not_seen: re.Pattern[str]
    pile: re.Pattern[str]
    far_pile: re.Pattern[str]


@cache
def _patterns() -> _CharacterPatterns:
    """Made once, of the tables of this Python; that takes some milliseconds."""
    near = "".join(_ranges(_MARKS, _NEAR))
    far = "".join(_ranges(_MARKS, _FAR, _TAGS))
    return _CharacterPatterns(
        re.compile(f"[{''.join(_ranges(_NOT_SEEN, _NEAR))}]+"),
        re.compile(f"[{''.join(_ranges(_NOT_SEEN, _FAR, _TAGS))}{_PRIVATE}]+"),
        _pile_of(near),
        _pile_of(near + far),
    )


def _pile_of(marks: str) -> re.Pattern[str]:
    return re.compile(f"[{marks}][{marks}{JOINERS}]{{{MOST_ACCENTS},}}+")


def _ranges(categories: Collection[str], *spans: tuple[int, int]) -> Iterator[str]:
    """The characters of some categories, as they stand in a class of `re`; what stays apart."""
    first = last = -2
    for code in chain.from_iterable(range(*span) for span in spans):
        sign = chr(code)
        if sign in _KEPT or unicodedata.category(sign) not in categories:
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

    Every kind of line break becomes a newline and a tab becomes a blank. The two joiners stay: some
    scripts and emoji are spelled with them.
    """
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\t", " ")
    for sign in _BREAKS:
        text = text.replace(sign, "\n")
    text = _patterns().not_seen.sub("", text)
    return _patterns().far_not_seen.sub("", text) if _IS_FAR.search(text) else text


def few_marks(text: str) -> str:
    """Text in which no letter carries a pile of marks: as many as any script needs, and no more.

    Joiners in a row become one, since a pile could be hidden among them.
    """
    if text.isascii():
        return text
    pile = _patterns().far_pile if _HAS_FAR_MARKS.search(text) else _patterns().pile
    return pile.sub(_thinned, _JOINED.sub("", text))


def _thinned(pile: re.Match[str]) -> str:
    kept = ""
    marks = accents = 0
    for sign in pile[0][:_LOOKED_AT]:
        if sign in JOINERS:
            kept += sign
            continue
        accents += _ACCENT.match(sign) is not None
        if marks == MOST_MARKS or (accents > MOST_ACCENTS and _ACCENT.match(sign)):
            continue
        kept += sign
        marks += 1
    return _JOINED.sub("", kept)
