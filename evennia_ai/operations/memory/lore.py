"""Lore: facts of the game's world, written by staff for all assistants, found by keywords."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from evennia.utils.search import search_object
from twisted.internet import reactor

from evennia_ai import audit
from evennia_ai.core.memory.recollection import WORLD, MemoryKind, faction_audience, place_audience
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.memory import lore
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.operations.memory.rows import (
    LONGEST_LINE,
    Remembered,
    audience_text,
    cleaned,
    problem_of_text,
    rows_of,
)
from evennia_ai.operations.result import Result, number_of
from evennia_ai.operations.settings.changing import signed

LONGEST_KEYWORD, MOST_KEYWORDS = 40, 20  # characters; per entry
LONGEST_FACTION = 60
MOST_LORE = 5_000  # entries, all of which each assistant has in memory
ROOM, FACTION = "room ", "faction "
AUDIENCES = "it is 'world', 'room #2' or 'faction <name>'"
_ROOM = re.compile(r"#\d{1,18}")


@dataclass(frozen=True, slots=True)
class LorePart:
    """A part of the lore as rows of memories, and the number of all entries that match.

    Tags are its keywords, the place is a room's "#2" or a faction.
    """

    lore: list[Remembered]
    count: int


@dataclass(frozen=True, slots=True)
class RemovedLore:
    """The key of a removed entry of lore."""

    key: str


def list_lore(text: str = "", *, after: int = 0, limit: int = MOST_LORE) -> Result[LorePart]:
    """List lore, the most important entries first.

    Args:
        text: part of the text or the keywords, in any case; "": all lore.
        after: number of entries to skip.
        limit: number of entries.
    """
    known, words = rows.of(rows.SHARED, kind=MemoryKind.LORE), text.casefold()
    columns = known.order_by("-importance", "pk").values_list("pk", "text", "tags")
    # In Python: keywords are a JSON column, and SQLite ignores case only for A to Z.
    matching = [
        number
        for number, content, tags in columns
        if words in " ".join((content, *tags)).casefold()
    ]
    page = matching[after : after + limit]
    entries = rows_of(known.filter(pk__in=page).order_by("-importance", "pk"))
    none = "There is no lore yet: aimemory lore add <keyword,keyword> = <text>"
    if text:
        none = "No lore contains these words."
    message = "\n".join(map(_line, entries)) or none
    return Result(True, message, LorePart(entries, len(matching)))


def show_lore(key: str | int) -> Result[Remembered]:
    """Show one entry of lore, by its key or its number."""
    if (entry := find_lore(key)) is None:
        return _missing(key)
    (row,) = rows_of([entry])
    return Result(True, _line(row), row)


def _line(row: Remembered) -> str:
    whose = "" if row["audience"] == WORLD else f" ({audience_text(row['audience'], row['place'])})"
    text = one_line(row["text"], LONGEST_LINE)
    return f"{row['number']:>6}  {', '.join(row['tags'])}{whose}: {text}"


def add_lore(
    text: str, *, keywords: Sequence[str], audience: str = WORLD, importance: int = 5, by: str = ""
) -> Result[Remembered]:
    """Add an entry of lore, which is told when a keyword is said; a room's only in that room.

    Args:
        audience: who may be told: "world", "room #2" or "faction <name>".
    """
    words, tags = cleaned(text), _keywords(keywords)
    whom, place, problem = audience_of(audience)
    if not 1 <= importance <= 10:
        problem = problem or "importance must be a whole number from 1 to 10"
    problem = problem_of_text(words) or _problem_of_keywords(tags, whom) or problem
    if not problem and rows.of(rows.SHARED).count() >= MOST_LORE:
        problem = f"there are already {MOST_LORE} entries of lore, the maximum"
    if problem:
        return Result(False, f"No lore is added: {problem}.")
    at = reactor.seconds()
    with transaction.atomic():
        key = lore.add(words, keywords=tags, audience=whom, at=at, importance=importance)
        rows.change(rows.SHARED, key, place=place)
    return _changed(key, "added", by)


def change_lore(
    key: str | int,
    *,
    text: str | None = None,
    keywords: Sequence[str] | None = None,
    audience: str | None = None,
    importance: int | None = None,
    by: str = "",
) -> Result[Remembered]:
    """Change an entry of lore.

    Args:
        key: its key or its number.
    """
    if (entry := find_lore(key)) is None:
        return _missing(key)
    whom, place, problem = (
        (entry.audience, entry.place, "") if audience is None else audience_of(audience)
    )
    columns: dict[str, Any] = {"audience": whom, "place": place}
    if text is not None:
        columns["text"] = cleaned(text)
        problem = problem or problem_of_text(columns["text"])
    columns["tags"] = list(entry.tags) if keywords is None else _keywords(keywords)
    if importance is not None:
        columns["importance"] = importance
        if not 1 <= importance <= 10:
            problem = problem or "importance must be a whole number from 1 to 10"
    problem = problem or _problem_of_keywords(
        columns["tags"], whom, is_constant=lore.terms_of(entry.terms).is_constant
    )
    if problem:
        return Result(False, f"Lore {entry.pk} is not changed: {problem}.")
    lore.change(entry.key, **columns)
    return _changed(entry.key, "changed", by)


def remove_lore(key: str | int, *, by: str = "") -> Result[RemovedLore]:
    """Remove an entry of lore, by its key or its number."""
    if (entry := find_lore(key)) is None:
        return _missing(key)
    with signed(by):
        lore.remove(entry.key)
        audit.record("lore_changed", audit.GAME, change="removed", key=entry.key)
    return Result(True, f"Lore {entry.pk} is removed.", RemovedLore(entry.key))


def find_lore(key: str | int) -> Memory | None:
    """Find an entry of lore by its key or its number."""
    number = number_of(key)
    filters: dict[str, Any] = {"key": key} if number is None else {"pk": number}
    memory: Memory | None = rows.of(rows.SHARED, kind=MemoryKind.LORE, **filters).first()
    return memory


def _changed(key: str, change: str, by: str) -> Result[Remembered]:
    with signed(by):
        audit.record("lore_changed", audit.GAME, change=change, key=key)
    entry = find_lore(key)
    (row,) = rows_of([entry] if entry is not None else [])
    return Result(True, f"Lore {row['number']} is {change}.", row)


def _keywords(given: Sequence[str]) -> list[str]:
    # Cut one character beyond the limit, so that `_problem_of_keywords` notices.
    words = (one_line(str(word), LONGEST_KEYWORD + 1) for word in given)
    return list(dict.fromkeys(filter(None, words)))


def _problem_of_keywords(tags: Sequence[str], audience: str, *, is_constant: bool = False) -> str:
    # Lore of a room needs no keyword: it is told to whoever speaks there.
    if not (tags or is_constant or audience.startswith("room:")):
        return "it needs a keyword by which it is found"
    if len(tags) > MOST_KEYWORDS:
        return f"it has {len(tags)} keywords; at most {MOST_KEYWORDS} can be"
    if any(len(tag) > LONGEST_KEYWORD for tag in tags):
        return f"a keyword has at most {LONGEST_KEYWORD} characters"
    if wordless := [tag for tag in tags if not re.search(r"\w", tag)]:
        return f"the keyword {wordless[0]!r} has no letter or digit by which it is found"
    return ""


def words_of_audience(audience: str, place: str) -> str:
    """The audience of stored lore in the words that `audience_of` reads."""
    if audience == WORLD:
        return WORLD
    return f"{ROOM if audience.startswith('room:') else FACTION}{place}"


def audience_of(words: str) -> tuple[str, str, str]:
    """Read an audience; returns it, the place to store with it, and the problem, or ""."""
    text = " ".join(words.split())
    kind = text.casefold()
    if kind == WORLD:
        return WORLD, "", ""
    if kind.startswith(ROOM):
        return _room(text[len(ROOM) :].strip())
    if kind.startswith(FACTION) and (name := text[len(FACTION) :].strip()):
        if len(name) <= LONGEST_FACTION:
            return faction_audience(name), name, ""
        return "", "", f"the name of a faction has at most {LONGEST_FACTION} characters"
    return "", "", f"{one_line(words, 60)!r} does not say who may be told; {AUDIENCES}"


def _room(number: str) -> tuple[str, str, str]:
    if _ROOM.fullmatch(number):
        rooms = [place for place in search_object(number) if place.location is None]
        if rooms:
            return place_audience("", number), number, ""
    return "", "", f"there is no room {one_line(number, 40)!r}; give its #number"


def _missing(key: str | int) -> Result:
    message = f"There is no lore {one_line(str(key), 40)}"
    return Result.not_found(message).with_typed(": aimemory lore")
