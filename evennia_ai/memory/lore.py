"""Lore: texts about the game world, found by keywords and places, without a model.

Lore is a row of the table of memories, but is not indexed. With `assistant` 0 all assistants know
it. It is written by staff, or comes with an assistant's card, which only this assistant knows, or
with a lore pack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from evennia_ai.core.keys import new_key
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
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.memory import modes
from evennia_ai.memory.seeking import bodies_of
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.prompts.placeholders import macros_of
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.game_functions import quest_state

# `_changes` only counts this process; changes by others are seen after this many seconds.
FRESH_SECONDS = 60.0
# In characters: the longest line of a prompt. Longer entries are split into pieces.
LONGEST_PIECE = 400
MOST_PIECES = 50
MOST_TRIED = 30
_changes = 0


@dataclass(frozen=True, slots=True)
class _CachedLore:
    """The lore that an assistant knows, with prepared keywords."""

    at: float
    changes: int
    entries: tuple[Lore, ...]


def matching(
    script: Assistant, text: str, seeker: Seeker, turn: Turn | None = None
) -> list[Recollection]:
    """The lore that matches a text or the place, and that the seeker may know.

    Args:
        text: what was said last.
        turn: provides earlier messages to search, and the speaker that conditions refer to.
    """
    known = _known_to(script, seeker)
    if not known:
        return []
    ask = moment_of(script, turn)
    deepest = max(lore.terms.depth for lore in known)
    texts = [folded(text), *map(folded, islice(_said_before(turn), deepest - 1))]
    entries = told_of(known, texts, ask.holds, estimate)
    return [piece for each in entries for piece in _pieces(each, ask)]


@dataclass(frozen=True, slots=True)
class LoreMatch:
    """An entry of lore that matches a text, for the page where staff test lore.

    Attributes:
        said: its keywords in the text; empty if it needs none.
        is_told: True if it would be in the prompt; the following say why not.
        is_for_others: True if the listeners may not know it.
        is_named: True if the conditions on further keywords are met as well.
    """

    entry: Recollection
    text: str
    said: tuple[str, ...]
    is_told: bool
    is_for_others: bool
    is_named: bool
    unmet: tuple[LoreCondition, ...]


def explain_matches(script: Assistant, text: str, seeker: Seeker, turn: Turn) -> list[LoreMatch]:
    """The lore that a text would bring up, and near misses with the reason.

    Earlier messages are ignored. Entries that would be told come first, in their order, then at
    most MOST_TRIED others.
    """
    texts, ask = [folded(text)], moment_of(script, turn)
    known = _known_to(script, seeker)
    chosen = told_of(known, texts, ask.holds, estimate)
    keys, mine = ({each.entry.key for each in some} for some in (chosen, known))
    matches: list[LoreMatch] = []
    for lore in [*chosen, *(each for each in _entries(script) if each.entry.key not in keys)]:
        words, is_known = keywords_in(lore, texts), lore.entry.key in mine
        if not (words or (is_known and is_always(lore))):
            continue
        if len(matches) >= len(chosen) + MOST_TRIED:
            break
        unmet = tuple(each for each in lore.terms.when if not ask.holds(each))
        is_named, is_told = is_named_by(lore, texts) or is_always(lore), lore.entry.key in keys
        filled = ask.fill(lore.entry.text)
        matches.append(
            LoreMatch(lore.entry, filled, tuple(words), is_told, not is_known, is_named, unmet)
        )
    return matches


def _said_before(turn: Turn | None) -> Iterator[str]:
    """Earlier messages, newest first, with the arguments of tool calls."""
    for message in reversed(turn.history if turn is not None else ()):
        calls = (call["function"]["arguments"] for call in message.get("tool_calls") or ())
        yield " ".join(map(str, (message.get("content") or "", *calls)))


def _pieces(lore: Lore, ask: LoreMoment) -> Iterator[Recollection]:
    """An entry with its macros filled in. An entry of a book is split so that none is truncated."""
    entry, rest = lore.entry, ask.fill(lore.entry.text)
    if not lore.terms.book:
        yield replace(entry, text=rest)
        return
    for _ in range(MOST_PIECES):
        piece = cut_at_sentence(rest, LONGEST_PIECE)
        yield replace(entry, text=piece)
        # `cut_at_sentence` may have added an ellipsis.
        rest = rest[len(piece) - (not rest.startswith(piece)) :].strip()
        if not rest:
            return


def all_known(script: Assistant, seeker: Seeker, turn: Turn) -> list[Recollection]:
    """All lore that the seeker may know, whatever was said."""
    ask = moment_of(script, turn)
    entries = (lore for lore in _known_to(script, seeker) if all(map(ask.holds, lore.terms.when)))
    return [replace(lore.entry, text=ask.fill(lore.entry.text)) for lore in entries]


def _known_to(script: Assistant, seeker: Seeker) -> list[Lore]:
    return [lore for lore in _entries(script) if lore.entry.audience in seeker.audiences]


def add(
    text: str, *, keywords: Sequence[str], audience: str, at: float, importance: int = 5
) -> str:
    """Create lore that all assistants share. Returns its key.

    Args:
        audience: the world, a room or a faction, in a form that
            `core.memory.recollection.is_audience` accepts.
    """
    entry = build(text, keywords=keywords, audience=audience, at=at, importance=importance)
    insert(rows.SHARED, [(entry, PLAIN)])
    return entry.key


def build(
    text: str,
    *,
    keywords: Sequence[str],
    audience: str,
    at: float,
    importance: int = 5,
    key: str = "",
    place: str = "",
) -> Recollection:
    """Build an entry without storing it.

    Args:
        key: the key to use; "" for a new one.
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
    """Store entries with their terms."""
    terms = {entry.key: stored(terms) for entry, terms in lore if terms != PLAIN}
    rows.insert(assistant, [entry for entry, _ in lore], terms)
    _changed()


def stored(terms: LoreTerms) -> dict[str, Any]:
    """Terms as JSON for the column, without default values."""
    fields, plain = to_stored(terms), to_stored(PLAIN)
    return {name: value for name, value in fields.items() if value != plain[name]}


def terms_of(column: Mapping[str, object] | None) -> LoreTerms:
    """Terms from the JSON of the column."""
    return PLAIN if column is None else from_stored(LoreTerms, column)


def remove_book(assistant: int, book: str) -> int:
    """Delete all lore of a card or pack. Returns the number of entries."""
    count, _ = of_book(assistant, book).delete()
    _changed()
    return int(count)


def of_book(assistant: int, book: str) -> QuerySet[Memory]:
    """The rows of lore of a card or pack."""
    return rows.of(assistant, kind=MemoryKind.LORE, terms__book=book)


def change(key: str, **columns: Any) -> bool:
    """Update a shared entry, such as its `text` or `tags`. Returns whether it exists."""
    is_there = bool(rows.of(rows.SHARED, key=key, kind=MemoryKind.LORE).exists())
    if is_there:
        rows.change(rows.SHARED, key, **columns)
        _changed()
    return is_there


def remove(key: str) -> bool:
    """Delete a shared entry. Returns whether it existed."""
    count, _ = rows.of(rows.SHARED, key=key, kind=MemoryKind.LORE).delete()
    _changed()
    return bool(count)


def _changed() -> None:
    # Now, for reads in this transaction, and again after the commit.
    _count_change()
    transaction.on_commit(_count_change)


def _count_change() -> None:
    global _changes
    _changes += 1


def _entries(script: Assistant) -> Iterable[Lore]:
    work, now = script.work, script.clock.seconds()
    cached: _CachedLore | None = work.lore
    if cached is None or cached.changes != _changes or now - cached.at >= FRESH_SECONDS:
        shared, own = (rows.of(each, kind=MemoryKind.LORE) for each in (rows.SHARED, script.pk))
        entry_rows = list((shared | own).order_by("id"))
        terms = (terms_of(row.terms) for row in entry_rows)
        entries = tuple(map(lore_of, rows.values(entry_rows), terms))
        cached = work.lore = _CachedLore(now, _changes, entries)
    return cached.entries


@dataclass(frozen=True)
class LoreMoment:
    """The situation in which lore is looked up.

    Attributes:
        sender: id of the person being answered, "" for nobody.
    """

    body: GameObject
    sender: str
    fill: Callable[[str], str]

    @cached_property
    def _people(self) -> list[Any]:
        """The characters that the person being answered puppets."""
        return bodies_of(self.sender) if self.sender else []

    def holds(self, condition: LoreCondition) -> bool:
        """True if a condition is met, for several characters by at least one.

        Raises:
            ConfigurationError: EVENNIA_AI_QUEST_STATE does not name a function.
        """
        return any(_holds(being, condition) for being in self._subjects(condition))

    def _subjects(self, condition: LoreCondition) -> list[Any]:
        if condition.of == "person":
            return self._people
        meant = self.body if condition.of == "assistant" else self.body.location
        return [meant] if meant is not None else []


def _holds(being: GameObject, condition: LoreCondition) -> bool:
    if condition.quest:
        return quest_state(being, condition.quest) == condition.state
    if condition.tag:
        return bool(being.tags.has(condition.tag, category=condition.category))
    value = being.attributes.get(condition.attribute)
    if condition.value is None:
        return bool(value)
    # In Python True == 1, but a builder who writes 1 does not mean True.
    return value == condition.value and isinstance(value, bool) is isinstance(condition.value, bool)


def moment_of(script: Assistant, turn: Turn | None) -> LoreMoment:
    """The situation of a turn; None: without a speaker."""
    event = turn.event if turn is not None and turn.events else None
    name = event.sender_name if event is not None else ""
    fill = macros_of(script.obj, modes.now(script), name)
    return LoreMoment(script.obj, event.sender_id if event is not None else "", fill)
