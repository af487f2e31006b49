"""Lore as a value: by which words, for whom and how much of it is told, and the choice of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from evennia_ai.core.memory.recollection import Recollection
from evennia_ai.core.text.characters import few_marks

MOST_TOLD = 4
# Of a book with a budget no more than this are told, however short they are.
MOST_OF_BOOK = 20
_WORD = re.compile(r"\w+")
Also = Literal["any", "all", "none", "not all"]
Whose = Literal["person", "room", "assistant"]


@dataclass(frozen=True, slots=True)
class LoreCondition:
    """Something that has to be so for lore to be told. One of `tag`, `attribute`, `quest` is set.

    Attributes:
        of: whose tag or attribute: the person's who is answered, the room's, or the assistant's.
        tag, category: a tag.
        attribute, value: an attribute, and what it has to be; None: anything that counts as true.
        quest, state: a quest of the person's, and the state that the game's own function gives.
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
    """The terms on which lore is told, beside its keywords.

    Attributes:
        also: further keywords: of these `any`, `all`, `none` or `not all` have to be said too.
        is_constant: it is told whatever is said.
        order: among others the lower comes first.
        priority: where not all may be told, the higher stays.
        depth: how many of the newest messages are looked through for keywords.
        budget: tokens that all of the same book may have together; 0: four entries are told.
        when: what all has to be so.
        book: what it came with: "card", or the name of a pack; "": staff wrote it down here.
        entry: its name there.
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
    """A piece of lore.

    Attributes:
        keywords, also: its keywords as `folded` gives them.
    """

    entry: Recollection
    terms: LoreTerms
    keywords: tuple[str, ...]
    also: tuple[str, ...]


def folded(text: str) -> str:
    """The words of a text, each between two blanks, in any case: what whole words are found in."""
    words = _WORD.findall(unicodedata.normalize("NFKC", few_marks(text)).casefold())
    return f" {' '.join(words)} "


def lore_of(entry: Recollection, terms: LoreTerms) -> Lore:
    """A piece of lore, ready to be looked for."""
    return Lore(entry, terms, _folded_all(entry.tags), _folded_all(terms.also))


def _folded_all(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in map(folded, words) if word.strip())


def told_of(
    known: Iterable[Lore],
    said: Sequence[str],
    holds: Callable[[LoreCondition], bool],
    count: Callable[[str], int],
) -> list[Lore]:
    """The lore that is told.

    What is constant comes first, then what is named, then the rest of the place; each by
    importance, priority and order. What a budget or the number of four leaves no room for is left
    out.

    Args:
        known: what may be known here.
        said: the newest message, and those before it, each as `folded` gives it.
        holds: whether a condition is met.
        count: tokens of a text.
    """
    found = [
        (lore.terms.is_constant, is_named, lore)
        for lore in known
        if (is_named := is_named_by(lore, said)) or is_always(lore)
    ]
    fit = [item for item in found if all(map(holds, item[2].terms.when))]
    fit.sort(key=lambda item: (not item[0], not item[1], *_rank(item[2])))
    return list(_within([lore for *_, lore in fit], count))


def _rank(lore: Lore) -> tuple[int, int, int]:
    return -lore.entry.importance, -lore.terms.priority, lore.terms.order


def is_always(lore: Lore) -> bool:
    """True for what needs no word: what is constant, and what all may know who are in a room."""
    is_of_place = lore.entry.audience.startswith("room:") and not lore.also
    return lore.terms.is_constant or is_of_place


def _looked_through(lore: Lore, said: Sequence[str]) -> str:
    return "".join(said[: max(1, lore.terms.depth)])


def keywords_in(lore: Lore, said: Sequence[str]) -> list[str]:
    """The keywords of a piece of lore that were said, without its further ones."""
    text = _looked_through(lore, said)
    return [keyword.strip() for keyword in lore.keywords if keyword in text]


def is_named_by(lore: Lore, said: Sequence[str]) -> bool:
    """True where one of its keywords was said, and of its further ones what has to be."""
    if not keywords_in(lore, said):
        return False
    if not lore.also:
        return True
    text = _looked_through(lore, said)
    heard = [keyword in text for keyword in lore.also]
    return {
        "any": any(heard),
        "all": all(heard),
        "none": not any(heard),
        "not all": not all(heard),
    }[lore.terms.also_as]


def _within(ranked: Iterable[Lore], count: Callable[[str], int]) -> Iterable[Lore]:
    free, used, told = MOST_TOLD, dict[str, int](), dict[str, int]()
    for lore in ranked:
        book, budget = lore.terms.book, lore.terms.budget
        if not budget:
            if free:
                free -= 1
                yield lore
            continue
        size = used.get(book, 0) + count(lore.entry.text)
        if size <= budget and told.get(book, 0) < MOST_OF_BOOK:
            used[book], told[book] = size, told.get(book, 0) + 1
            yield lore
