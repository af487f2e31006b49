"""Excerpts of long texts: the part with most of the words that are searched for."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from evennia_ai.core.text.cleaning import one_line

# Characters of a text that are searched.
LONGEST_READ = 20_000
# Letters compared, so that endings of English words do not matter: "savings" matches "saving".
STEM = 5
_WORD = re.compile(r"\w{3,}")
CUT = "…"


def excerpt(text: str, about: str, limit: int) -> str:
    """A text as one line of at most `limit` characters, cut around the words searched for.

    Longer words count more, and each counts once. Without any match the beginning is shown. Cuts
    are marked, and fall between words if possible.

    Args:
        about: the question or line, in any words.
        limit: at least 3.
    """
    line = one_line(text, LONGEST_READ)
    if len(line) <= limit:
        return line
    room = limit - 2 * len(CUT)
    start = _best_start(line, _stems(about), room)
    end = min(len(line), start + room)
    # Move the cuts to spaces, so that no word is torn.
    if start and (blank := line.find(" ", start, end)) >= 0 and line[start - 1] != " ":
        start = blank + 1
    if end < len(line) and line[end] != " " and (blank := line.rfind(" ", start, end)) > start:
        end = blank
    before, after = CUT if start else "", CUT if end < len(line) else ""
    return f"{before}{line[start:end].strip()}{after}"


def has_to_do(text: str, about: str) -> bool:
    """True if a text and a question share a word."""
    return not _stems(text).isdisjoint(_stems(about))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem for stem, _ in _stems_in(text[:LONGEST_READ]))


def _stems_in(text: str) -> Iterator[tuple[str, int]]:
    """The stems of a text's words, with their positions."""
    return ((word[0].casefold()[:STEM], word.start()) for word in _WORD.finditer(text))


def _best_start(line: str, wanted: frozenset[str], room: int) -> int:
    """Start of the stretch with most of the words, a quarter of which lies before the first."""
    places = [(stem, place) for stem, place in _stems_in(line) if stem in wanted]
    best, most, length = 0, 0, room * 3 // 4
    for first, (_, begin) in enumerate(places):
        # A text may hold one of the words thousands of times, so only the stretch is looked at.
        last = bisect_left(places, begin + length, first, key=itemgetter(1))
        stems = {stem for stem, _ in places[first:last]}
        if (weight := sum(map(len, stems))) > most:
            best, most = begin, weight
    return max(0, min(best - room // 4, len(line) - room)) if most else 0
