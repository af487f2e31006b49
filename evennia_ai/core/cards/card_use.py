"""The use that is made of a card: who the assistant is, notes beside that, lore; and the rest.

What cannot be told here of a card's `character_book` is kept, and why is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evennia_ai.core.cards.character_card import CharacterCard, changed
from evennia_ai.core.memory.lore_terms import Also, LoreTerms
from evennia_ai.core.text.cleaning import one_line, strip_control

# Fields and what is said before each; the first field of a text says all where somebody edited it.
_PERSONA = {"description": "", "personality": "Personality: ", "scenario": "Scenario: "}
_NOTES = {
    "system_prompt": "How to play: ",
    "post_history_instructions": "To bear in mind: ",
    "mes_example": "How it speaks, by example: ",
}
_BOOK = "character_book"
_READ = ("name", *_PERSONA, *_NOTES, _BOOK)
# The name under which lore of a card is kept.
BOOK = "card"
LONGEST_ENTRY = 20_000
MOST_ENTRIES, MOST_KEYWORDS, LONGEST_KEYWORD = 1_000, 50, 100
MOST_DEPTH, MOST_BUDGET, LARGEST = 50, 100_000, 2**31 - 1
# As SillyTavern numbers the ways of taking secondary keys.
_LOGIC: tuple[Also, ...] = ("any", "not all", "none", "all")
_DECORATOR = re.compile(r"^@@.*(?:\n|\Z)", re.MULTILINE)
_REGEX = re.compile(r"/.+/[a-z]*", re.DOTALL)
# SillyTavern says of every entry that its keys are expressions: those without such signs are words.
_SIGNS = re.compile(r"[\\^$|?*+()\[\]{}]")
# What an entry may have that nothing here follows.
_UNUSED = ("case_sensitive", "position")


# ---- its book ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BookEntry:
    """An entry that becomes lore.

    Attributes:
        keywords: those that are words; regular expressions are off.
    """

    text: str
    keywords: tuple[str, ...]
    terms: LoreTerms


@dataclass(frozen=True, slots=True)
class LoreBook:
    """The lore that comes of a card's book.

    Attributes:
        entries: those that are told.
        unused: sentences on what is kept, and not used.
    """

    entries: tuple[BookEntry, ...] = ()
    unused: tuple[str, ...] = ()


def lore_of_card(card: CharacterCard) -> LoreBook:
    """The lore in a card."""
    book = card.data.get(_BOOK) or {}
    every = book.get("entries") or []
    raws = every[:MOST_ENTRIES]
    entries, unused = [], []
    for number, raw in enumerate(raws):
        name = f"character_book entry {number} ({_name_of(raw)})"
        reason = _why_not(raw)
        if reason:
            unused.append(f"{name}: {reason}")
            continue
        entries.append(_entry(raw, book, number))
        unused += [f"{name}: {part}" for part in _parts_unused(raw)]
    unused += [
        f"character_book: {name} is not followed, of {count} entries"
        for name in _UNUSED
        if (count := sum(bool(raw.get(name)) for raw in raws))
    ]
    if len(every) > len(raws):
        unused.append(f"character_book: of {len(every):,} entries the first {len(raws):,} are told")
    if book.get("recursive_scanning"):
        unused.append("character_book.recursive_scanning: lore is looked for in what is said alone")
    return LoreBook(tuple(entries), tuple(unused))


def _name_of(raw: Mapping[str, Any]) -> str:
    called = raw.get("name") or raw.get("comment") or ", ".join(raw.get("keys") or [])
    return one_line(str(called), 40) or "no name"


def _text_of(raw: Mapping[str, Any]) -> str:
    """The text of an entry, without lines that are orders to a program."""
    return strip_control(_DECORATOR.sub("", raw.get("content") or "")).strip()


def _why_not(raw: Mapping[str, object]) -> str:
    """The reason for which an entry is not told; "" where it is."""
    text = _text_of(raw)
    if raw.get("enabled") is False:
        return "it is disabled"
    if not text:
        return "it says nothing"
    if len(text) > LONGEST_ENTRY:
        return f"it has more than {LONGEST_ENTRY:,} characters"
    if raw.get("constant") is True or _words(raw, "keys"):
        return ""
    return "its keys are regular expressions" if raw.get("keys") else "it has no keys"


def _words(raw: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The keys of an entry that are words."""
    words = (key for key in raw.get(name) or [] if not _is_regex(raw, key))
    plain = filter(None, (one_line(word, LONGEST_KEYWORD) for word in words))
    return tuple(dict.fromkeys(plain))[:MOST_KEYWORDS]


def _is_regex(raw: Mapping[str, object], key: str) -> bool:
    has_signs = raw.get("use_regex") is True and _SIGNS.search(key) is not None
    return has_signs or _REGEX.fullmatch(key) is not None


def _parts_unused(raw: Mapping[str, Any]) -> Iterator[str]:
    """The parts of an entry that are not followed, where it is told at all."""
    keys = [*(raw.get("keys") or []), *(raw.get("secondary_keys") or [])]
    if any(_is_regex(raw, key) for key in keys):
        yield "its regular expressions are off"
    if _DECORATOR.search(raw.get("content") or ""):
        yield "its lines that begin with @@ are left out"


def _entry(raw: Mapping[str, object], book: Mapping[str, object], number: int) -> BookEntry:
    extensions = raw.get("extensions")
    own = extensions if isinstance(extensions, dict) else {}
    logic = _whole(own.get("selectiveLogic"), 0, most=len(_LOGIC) - 1)
    depth = _whole(own.get("scan_depth"), _whole(book.get("scan_depth"), 1))
    terms = LoreTerms(
        also=_words(raw, "secondary_keys") if raw.get("selective") is True else (),
        also_as=_LOGIC[logic],
        is_constant=raw.get("constant") is True,
        order=_whole(raw.get("insertion_order"), 100, least=-LARGEST),
        priority=_whole(raw.get("priority"), 0, least=-LARGEST),
        depth=min(MOST_DEPTH, max(1, depth)),
        budget=min(MOST_BUDGET, _whole(book.get("token_budget"), 0)),
        book=BOOK,
        entry=str(number),
    )
    return BookEntry(_text_of(raw), _words(raw, "keys"), terms)


def _whole(value: object, otherwise: int, *, least: int = 0, most: int = LARGEST) -> int:
    """A whole number within bounds; what is none, or outside of them, counts as not set."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most:
        return int(value)
    return otherwise


def book_of(entries: Iterator[BookEntry]) -> dict[str, Any]:
    """A card's book of lore that was written down here."""
    return {
        "extensions": {},
        "entries": [
            {
                "keys": list(entry.keywords),
                "content": entry.text,
                "extensions": {},
                "enabled": True,
                "insertion_order": entry.terms.order,
                "use_regex": False,
                "constant": entry.terms.is_constant,
            }
            for entry in entries
        ],
    }


# ---- all of it ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CardUse:
    """The use of a card.

    Attributes:
        persona: who the assistant is.
        notes: what its maker wrote for a model; told as data, below the rules.
        unused: names of the fields that are kept, and not used.
    """

    persona: str
    notes: str
    book: LoreBook
    unused: tuple[str, ...]


def use_of(card: CharacterCard) -> CardUse:
    """The use that is made of a card."""
    unused = tuple(name for name, value in card.data.items() if name not in _READ and value)
    return CardUse(_joined(card, _PERSONA), _joined(card, _NOTES), lore_of_card(card), unused)


def _joined(card: CharacterCard, fields: Mapping[str, str]) -> str:
    texts = ((label, strip_control(card.text(name)).strip()) for name, label in fields.items())
    return "\n\n".join(f"{label}{text}" for label, text in texts if text)


def given_back(card: CharacterCard, persona: str, notes: str) -> CharacterCard:
    """A card as it goes out: as it came in, but for what was changed here since."""
    fields: dict[str, str] = {}
    for text, names in ((persona, _PERSONA), (notes, _NOTES)):
        if text != _joined(card, names):
            first, label = next(iter(names.items()))
            fields |= {**dict.fromkeys(names, ""), first: text.removeprefix(label)}
    return changed(card, **fields) if fields else card
