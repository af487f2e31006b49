"""The part of a long text that matters: where most of the words stand that it is told for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evennia_ai.core.text.cleaning import one_line

LONGEST_READ = 20_000
# Endings of a word in English and its like: "savings" is found by "saving".
STEM = 5
_WORD = re.compile(r"\w{3,}")
CUT = "…"


def excerpt(text: str, about: str, limit: int) -> str:
    """A text as one line of at most `limit` characters, cut around what it is told for.

    The longer a word, the more it counts; each counts once. Where none of them stands in the text,
    its beginning is told. Cuts are marked, and fall between words where there are any.

    Args:
        about: what was asked or said, in any words.
        limit: at least 3.
    """
    line = one_line(text, LONGEST_READ)
    if len(line) <= limit:
        return line
    room = limit - 2 * len(CUT)
    start = _best_start(line, _stems(about), room)
    end = min(len(line), start + room)
    # No word is torn where there is a blank to cut at.
    if start and (blank := line.find(" ", start, end)) >= 0 and line[start - 1] != " ":
        start = blank + 1
    if end < len(line) and line[end] != " " and (blank := line.rfind(" ", start, end)) > start:
        end = blank
    before, after = CUT if start else "", CUT if end < len(line) else ""
    return f"{before}{line[start:end].strip()}{after}"


def has_to_do(text: str, about: str) -> bool:
    """Tell whether a text and what was asked share a word."""
    return not _stems(text).isdisjoint(_stems(about))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem for stem, _ in _stems_in(text[:LONGEST_READ]))


def _stems_in(text: str) -> Iterator[tuple[str, int]]:
    """The words of a text by their beginnings, and where each stands."""
    return ((word[0].casefold()[:STEM], word.start()) for word in _WORD.finditer(text))


def _best_start(line: str, wanted: frozenset[str], room: int) -> int:
    """The beginning of the stretch with most of the words; a quarter of it stands before them."""
    places = [(stem, place) for stem, place in _stems_in(line) if stem in wanted]
    best, most = 0, 0
    for first, (_, begin) in enumerate(places):
        found = {stem for stem, place in places[first:] if place < begin + room * 3 // 4}
        if (weight := sum(map(len, found))) > most:
            best, most = begin, weight
    return max(0, min(best - room // 4, len(line) - room)) if most else 0
