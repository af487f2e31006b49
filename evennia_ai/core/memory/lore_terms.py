"""Lore as values: the terms on which it is told, and the choice for a turn."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from evennia_ai.core.memory.recollection import Recollection
from evennia_ai.core.text.characters import KATAKANA, UNSPACED, few_marks

# Entries told in a turn that belong to no book with a budget.
MOST_TOLD = 4
# Entries told of a book with a budget, however short they are.
MOST_OF_BOOK = 20
# Where no spaces are put between words, any letter may begin or end one.
_WORD = re.compile(rf"[{UNSPACED}]|[{KATAKANA}]+|[^\W{UNSPACED}{KATAKANA}]+")
Also = Literal["any", "all", "none", "not all"]
Whose = Literal["person", "room", "assistant"]


@dataclass(frozen=True, slots=True)
class LoreCondition:
    """A condition for lore to be told. One of `tag`, `attribute`, `quest` is set.

    Attributes:
        of: whose tag or attribute: of the person being answered, the room, or the assistant.
        tag, category: a tag.
        attribute, value: an attribute and its value; None accepts any true value.
        quest, state: a quest of the person, and the state that the game's own function returns.
    """

    of: Whose = "person"
    tag: str = ""
    category: str | None = None
    attribute: str = ""
    value: str | int | float | bool | None = None
    quest: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class LoreTerms:
    """The terms on which lore is told, besides its keywords.

    Attributes:
        also: further keywords, of which `any`, `all`, `none` or `not all` must be said too.
        also_as: one of these four.
        order: lower comes first.
        priority: higher stays if not all can be told.
        depth: number of newest messages that are searched for keywords.
        budget: tokens that all told entries of one book may have together; 0 for no budget.
        book: where it came from: "card", the name of a pack, or "" if staff wrote it.
    """

    also: tuple[str, ...] = ()
    also_as: Also = "any"
    is_constant: bool = False
    order: int = 100
    priority: int = 0
    depth: int = 1
    budget: int = 0
    when: tuple[LoreCondition, ...] = ()
    book: str = ""
    entry: str = ""


PLAIN = LoreTerms()


@dataclass(frozen=True, slots=True)
class Lore:
    """A piece of lore, prepared for searching."""

    entry: Recollection
    terms: LoreTerms
    keywords: tuple[str, ...]
    also: tuple[str, ...]


def folded(text: str) -> str:
    """The words of a text in lower case between spaces, so that `in` finds whole words.

    Of a script that puts no spaces between words, each letter counts as a word.
    """
    words = _WORD.findall(unicodedata.normalize("NFKC", few_marks(text)).casefold())
    return f" {' '.join(words)} "


def lore_of(entry: Recollection, terms: LoreTerms) -> Lore:
    """Prepare a piece of lore for searching."""
    return Lore(entry, terms, _folded_all(entry.tags), _folded_all(terms.also))


def _folded_all(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in map(folded, words) if word.strip())


def told_of(
    known: Iterable[Lore],
    said: Sequence[str],
    holds: Callable[[LoreCondition], bool],
    count: Callable[[str], int],
) -> list[Lore]:
    """The lore to tell in a turn.

    Constant lore comes first, then lore whose keywords were said, then that of the place; each by
    importance, priority and order. What exceeds a budget, or the number of entries, is left out.

    Args:
        known: lore that may be known here.
        said: the newest message and those before it, folded.
        holds: decides a condition.
        count: tokens of a text.
    """
    matching = [
        (lore.terms.is_constant, is_named, lore)
        for lore in known
        if (is_named := is_named_by(lore, said)) or is_always(lore)
    ]
    fit = [item for item in matching if all(map(holds, item[2].terms.when))]
    fit.sort(key=lambda item: (not item[0], not item[1], *_rank(item[2])))
    return list(_within_budgets([lore for *_, lore in fit], count))


def _rank(lore: Lore) -> tuple[int, int, int]:
    return -lore.entry.importance, -lore.terms.priority, lore.terms.order


def is_always(lore: Lore) -> bool:
    """True for lore that needs no keyword: constant lore, and lore of a room."""
    is_of_place = lore.entry.audience.startswith("room:") and not lore.also
    return lore.terms.is_constant or is_of_place


def _searched_text(lore: Lore, said: Sequence[str]) -> str:
    return "".join(said[: max(1, lore.terms.depth)])


def keywords_in(lore: Lore, said: Sequence[str]) -> list[str]:
    """The keywords that were said, as they were written, without `also`."""
    text = _searched_text(lore, said)
    return [tag for tag in lore.entry.tags if any(word in text for word in _folded_all([tag]))]


def is_named_by(lore: Lore, said: Sequence[str]) -> bool:
    """True if a keyword was said, and `also` is satisfied."""
    text = _searched_text(lore, said)
    if not any(keyword in text for keyword in lore.keywords):
        return False
    if not lore.also:
        return True
    heard = [keyword in text for keyword in lore.also]
    return {
        "any": any(heard),
        "all": all(heard),
        "none": not any(heard),
        "not all": not all(heard),
    }[lore.terms.also_as]


def _within_budgets(ranked: Iterable[Lore], count: Callable[[str], int]) -> Iterable[Lore]:
    free, used, counts = MOST_TOLD, dict[str, int](), dict[str, int]()
    for lore in ranked:
        book, budget = lore.terms.book, lore.terms.budget
        if not budget:
            if free:
                free -= 1
                yield lore
            continue
        size = used.get(book, 0) + count(lore.entry.text)
        if size <= budget and counts.get(book, 0) < MOST_OF_BOOK:
            used[book], counts[book] = size, counts.get(book, 0) + 1
            yield lore
