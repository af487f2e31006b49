"""Lore: what a game's staff wrote down of its world, found by words and places, without a model.

It is a memory like others but that no store reads it. `assistant` is 0 for lore of all. Beside the
lore that staff write there is that of an assistant's card, which it alone knows, and of lore packs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from evennia_ai.core.memory.lore_terms import (
    PLAIN,
    Lore,
    LoreCondition,
    LoreTerms,
    folded,
    is_always,
    is_named_by,
    keywords_in,
    lore_of,
    told_of,
)
from evennia_ai.core.memory.recollection import MemoryKind, Recollection, Seeker
from evennia_ai.core.text.cleaning import cut_at_sentence
from evennia_ai.core.text.plain_data import from_stored, to_stored
from evennia_ai.core.turn.tokens import estimate
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory.lore_conditions import LoreMoment, asking
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.models.keys import new_key
from evennia_ai.runtime.assistant import Assistant

# What another process of the game changed is seen after this.
FRESH_SECONDS = 60.0
# What is longer is told in several lines, as no line of a prompt is longer.
LONGEST_PIECE = 400
MOST_PIECES = 50
MOST_TRIED = 30
_changes = 0


@dataclass(frozen=True, slots=True)
class _LoreRead:
    """Lore as it was read, with its keywords as they are looked for."""

    at: float
    changes: int
    entries: tuple[Lore, ...]


def matching(
    script: Assistant, text: str, seeker: Seeker, turn: Turn | None = None
) -> list[Recollection]:
    """The lore that belongs to what is said, or to the place, and may be known there.

    Args:
        text: the newest words.
        turn: whose talk before is looked through as well, and whose speaker conditions are about.
    """
    known, ask = _known(script, seeker), asking(script, turn)
    deepest = max((lore.terms.depth for lore in known), default=1)
    said = [folded(text), *map(folded, islice(_said_before(turn), deepest - 1))]
    found = told_of(known, said, ask.holds, estimate)
    return [piece for each in found for piece in _pieces(each, ask)]


@dataclass(frozen=True, slots=True)
class LoreMatch:
    """A piece of lore that a text has to do with.

    Attributes:
        text: as it would be told, with its macros filled in.
        said: its keywords in the text; none of what needs no word.
        is_told: it would be told; else one of the following is why not.
        is_for_others: not for those who would hear it.
        is_named: also its further keywords are as they have to be.
        unmet: its conditions that are not met.
    """

    entry: Recollection
    text: str
    said: tuple[str, ...]
    is_told: bool
    is_for_others: bool
    is_named: bool
    unmet: tuple[LoreCondition, ...]


def tried(script: Assistant, text: str, seeker: Seeker, turn: Turn) -> list[LoreMatch]:
    """The lore that a text would bring up, and that of which only something stands in the way.

    What was said before is left out. What is told comes first, in its order; of the rest so many
    are given as MOST_TRIED.
    """
    said, ask = [folded(text)], asking(script, turn)
    known = _known(script, seeker)
    told = told_of(known, said, ask.holds, estimate)
    keys, mine = ({each.entry.key for each in some} for some in (told, known))
    found: list[LoreMatch] = []
    for lore in [*told, *(each for each in _entries(script) if each.entry.key not in keys)]:
        words, is_known = keywords_in(lore, said), lore.entry.key in mine
        if not (words or (is_known and is_always(lore))):
            continue
        if len(found) >= len(told) + MOST_TRIED:
            break
        unmet = tuple(each for each in lore.terms.when if not ask.holds(each))
        is_named, is_told = is_named_by(lore, said) or is_always(lore), lore.entry.key in keys
        filled = ask.fill(lore.entry.text)
        found.append(
            LoreMatch(lore.entry, filled, tuple(words), is_told, not is_known, is_named, unmet)
        )
    return found


def _said_before(turn: Turn | None) -> Iterator[str]:
    """The words said before, the newest first: by people, and by the calls that speak."""
    for message in reversed(turn.history if turn is not None else ()):
        calls = (call["function"]["arguments"] for call in message.get("tool_calls") or ())
        yield " ".join(map(str, (message.get("content") or "", *calls)))


def _pieces(lore: Lore, ask: LoreMoment) -> Iterator[Recollection]:
    """An entry with its macros filled in; that of a book in pieces, of which none is cut."""
    entry, rest = lore.entry, ask.fill(lore.entry.text)
    if not lore.terms.book:
        yield replace(entry, text=rest)
        return
    for _ in range(MOST_PIECES):
        piece = cut_at_sentence(rest, LONGEST_PIECE)
        yield replace(entry, text=piece)
        # Where a word is cut an ellipsis stands for the rest of it.
        rest = rest[len(piece.removesuffix("…")) :].strip()
        if not rest:
            return


def known(script: Assistant, seeker: Seeker, turn: Turn) -> list[Recollection]:
    """All lore that may be known where somebody asks, whatever is said."""
    ask = asking(script, turn)
    found = (lore for lore in _known(script, seeker) if all(map(ask.holds, lore.terms.when)))
    return [replace(lore.entry, text=ask.fill(lore.entry.text)) for lore in found]


def _known(script: Assistant, seeker: Seeker) -> list[Lore]:
    audiences = set(seeker.audiences)
    return [lore for lore in _entries(script) if lore.entry.audience in audiences]


def entries(assistant: int = rows.SHARED) -> list[tuple[int, Recollection]]:
    """All lore of an assistant, or of all, by number, the most important first."""
    found = list(rows.of(assistant, kind=MemoryKind.LORE).order_by("-importance", "id"))
    return [(row.pk, value) for row, value in zip(found, rows.values(found), strict=True)]


def add(
    text: str,
    *,
    keywords: Sequence[str],
    audience: str,
    at: float,
    assistant: int = rows.SHARED,
    importance: int = 5,
) -> str:
    """Write down lore. Returns its key.

    Args:
        audience: as `core.memory.recollection.is_audience` takes it: the world's, a room's, a
        faction's.
    """
    entry = made(text, keywords=keywords, audience=audience, at=at, importance=importance)
    insert(assistant, [(entry, PLAIN)])
    return entry.key


def made(
    text: str,
    *,
    keywords: Sequence[str],
    audience: str,
    at: float,
    importance: int = 5,
    key: str = "",
    place: str = "",
) -> Recollection:
    """Lore that is not stored yet.

    Args:
        key: by which it is known from then on; "": a new one.
    """
    return Recollection(
        key or new_key(),
        MemoryKind.LORE,
        text,
        audience,
        place=place,
        trust=1.0,
        importance=importance,
        importance_by="manual",
        at=at,
        tags=tuple(keywords),
    )


def insert(assistant: int, lore: Sequence[tuple[Recollection, LoreTerms]]) -> None:
    """Store lore, each with its terms."""
    terms = {entry.key: stored(terms) for entry, terms in lore if terms != PLAIN}
    rows.insert(assistant, [entry for entry, _ in lore], terms)
    _changed()


def stored(terms: LoreTerms) -> dict[str, Any]:
    """The terms of lore as a row has them; what is plain is not kept."""
    kept, plain = to_stored(terms), to_stored(PLAIN)
    return {name: value for name, value in kept.items() if value != plain[name]}


def terms_of(column: Mapping[str, object] | None) -> LoreTerms:
    """The terms of lore from what a row has of them."""
    return PLAIN if column is None else from_stored(LoreTerms, column)


def remove_book(assistant: int, book: str) -> int:
    """Remove all lore that came with a card or a pack. Returns how much there was."""
    count, _ = of_book(assistant, book).delete()
    _changed()
    return int(count)


def of_book(assistant: int, book: str) -> QuerySet[Memory]:
    """The rows of lore that came with a card or a pack."""
    return rows.of(assistant, kind=MemoryKind.LORE, terms__book=book)


def change(key: str, *, assistant: int = rows.SHARED, **columns: Any) -> bool:
    """Change lore, such as its `text` or `tags`. Returns whether there was any of that key."""
    is_there = bool(rows.of(assistant, key=key, kind=MemoryKind.LORE).exists())
    if is_there:
        rows.change(assistant, key, **columns)
        _changed()
    return is_there


def remove(key: str, *, assistant: int = rows.SHARED) -> bool:
    """Remove lore. Returns whether there was any of that key."""
    count, _ = rows.of(assistant, key=key, kind=MemoryKind.LORE).delete()
    _changed()
    return bool(count)


def _changed() -> None:
    """Drop the lore that is kept in memory: now, and once more when the change is stored."""
    _count_change()
    transaction.on_commit(_count_change)


def _count_change() -> None:
    global _changes
    _changes += 1


def _entries(script: Assistant) -> Iterable[Lore]:
    work, now = script.work, script.clock.seconds()
    kept: _LoreRead | None = work.lore
    if kept is None or kept.changes != _changes or now - kept.at >= FRESH_SECONDS:
        shared, own = (rows.of(each, kind=MemoryKind.LORE) for each in (rows.SHARED, script.pk))
        found = list((shared | own).order_by("id"))
        terms = (terms_of(row.terms) for row in found)
        read = tuple(map(lore_of, rows.values(found), terms))
        kept = work.lore = _LoreRead(now, _changes, read)
    return kept.entries
