"""Mapping of a character card: its persona, notes and lore, and the parts that are not used.

Whatever of a card's `character_book` cannot be used is stored all the same, and reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evennia_ai.core.cards.character_card import CharacterCard, changed
from evennia_ai.core.memory.lore_terms import Also, LoreTerms
from evennia_ai.core.text.cleaning import one_line, strip_control
from evennia_ai.core.text.words import counted

# Fields and their labels in the joined text. If somebody edited that, the first field takes it all.
_PERSONA = {"description": "", "personality": "Personality: ", "scenario": "Scenario: "}
_NOTES = {
    "system_prompt": "How to play: ",
    "post_history_instructions": "To bear in mind: ",
    "mes_example": "How it speaks, by example: ",
}
_BOOK = "character_book"
_USED_FIELDS = ("name", *_PERSONA, *_NOTES, _BOOK)
# The book name under which lore of a card is stored.
BOOK = "card"
# Characters.
LONGEST_ENTRY = 20_000
MOST_ENTRIES, MOST_KEYWORDS, LONGEST_KEYWORD = 1_000, 50, 100
# LARGEST is the largest signed 32-bit integer.
MOST_DEPTH, MOST_BUDGET, LARGEST = 50, 100_000, 2**31 - 1
# SillyTavern's numbering of `selectiveLogic`.
_LOGIC: tuple[Also, ...] = ("any", "not all", "none", "all")
_DECORATOR = re.compile(r"^@@.*(?:\n|\Z)", re.MULTILINE)
_REGEX = re.compile(r"/.+/[a-z]*", re.DOTALL)
# SillyTavern marks the keys of every entry as expressions; a key without such signs is just a word.
_REGEX_SIGNS = re.compile(r"[\\^$|?*+()\[\]{}]")
# Fields of an entry that are ignored.
_IGNORED_FIELDS = ("case_sensitive", "position")


# ---- the character book ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BookEntry:
    """An entry of a character book that becomes lore.

    Attributes:
        keywords: plain keys; regular expressions are not used.
    """

    text: str
    keywords: tuple[str, ...]
    terms: LoreTerms


@dataclass(frozen=True, slots=True)
class LoreBook:
    """The lore taken from a card's book."""

    entries: tuple[BookEntry, ...] = ()
    unused: tuple[str, ...] = ()


def lore_of_card(card: CharacterCard) -> LoreBook:
    """The lore in a card's `character_book`."""
    book = card.data.get(_BOOK) or {}
    every = book.get("entries") or []
    raws = every[:MOST_ENTRIES]
    entries, unused = [], []
    for number, raw in enumerate(raws):
        name = f"character_book entry {number} ({_label_of(raw)})"
        reason = _reason_unused(raw)
        if reason:
            unused.append(f"{name}: {reason}")
            continue
        entries.append(_entry(raw, book, number))
        unused += [f"{name}: {part}" for part in _ignored_parts(raw)]
    unused += [
        f"character_book: {name} is not followed, of {counted(count, 'entries')}"
        for name in _IGNORED_FIELDS
        if (count := sum(bool(raw.get(name)) for raw in raws))
    ]
    if len(every) > len(raws):
        unused.append(f"character_book: of {len(every):,} entries the first {len(raws):,} are told")
    if book.get("recursive_scanning"):
        unused.append("character_book.recursive_scanning: lore is looked for in what is said alone")
    return LoreBook(tuple(entries), tuple(unused))


def _label_of(raw: Mapping[str, Any]) -> str:
    called = raw.get("name") or raw.get("comment") or ", ".join(raw.get("keys") or [])
    return one_line(str(called), 40) or "no name"


def _text_of(raw: Mapping[str, Any]) -> str:
    """The text of an entry, without decorator lines (@@...), which are commands to a program."""
    return strip_control(_DECORATOR.sub("", raw.get("content") or "")).strip()


def _reason_unused(raw: Mapping[str, object]) -> str:
    """The reason why an entry is not used; "" if it is."""
    text = _text_of(raw)
    if raw.get("enabled") is False:
        return "it is disabled"
    if not text:
        return "it says nothing"
    if len(text) > LONGEST_ENTRY:
        return f"it has more than {LONGEST_ENTRY:,} characters"
    if raw.get("constant") is True or _plain_keys(raw, "keys"):
        return ""
    return "its keys are regular expressions" if raw.get("keys") else "it has no keys"


def _plain_keys(raw: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The keys of an entry that are plain words."""
    words = (key for key in raw.get(name) or [] if not _is_regex(raw, key))
    plain = filter(None, (one_line(word, LONGEST_KEYWORD) for word in words))
    return tuple(dict.fromkeys(plain))[:MOST_KEYWORDS]


def _is_regex(raw: Mapping[str, object], key: str) -> bool:
    has_signs = raw.get("use_regex") is True and _REGEX_SIGNS.search(key) is not None
    return has_signs or _REGEX.fullmatch(key) is not None


def _ignored_parts(raw: Mapping[str, Any]) -> Iterator[str]:
    """Notes on parts of a used entry that are ignored."""
    keys = [*(raw.get("keys") or []), *(raw.get("secondary_keys") or [])]
    if any(_is_regex(raw, key) for key in keys):
        yield "its regular expressions are off"
    if _DECORATOR.search(raw.get("content") or ""):
        yield "its lines that begin with @@ are left out"


def _entry(raw: Mapping[str, object], book: Mapping[str, object], number: int) -> BookEntry:
    extensions = raw.get("extensions")
    own = extensions if isinstance(extensions, dict) else {}
    logic = _bounded_int(own.get("selectiveLogic"), 0, most=len(_LOGIC) - 1)
    depth = _bounded_int(own.get("scan_depth"), _bounded_int(book.get("scan_depth"), 1))
    terms = LoreTerms(
        also=_plain_keys(raw, "secondary_keys") if raw.get("selective") is True else (),
        also_as=_LOGIC[logic],
        is_constant=raw.get("constant") is True,
        order=_bounded_int(raw.get("insertion_order"), 100, least=-LARGEST),
        priority=_bounded_int(raw.get("priority"), 0, least=-LARGEST),
        depth=min(MOST_DEPTH, max(1, depth)),
        budget=min(MOST_BUDGET, _bounded_int(book.get("token_budget"), 0)),
        book=BOOK,
        entry=str(number),
    )
    return BookEntry(_text_of(raw), _plain_keys(raw, "keys"), terms)


def _bounded_int(value: object, otherwise: int, *, least: int = 0, most: int = LARGEST) -> int:
    """A whole number within bounds; anything else counts as not set."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most:
        return int(value)
    return otherwise


def book_of(entries: Iterator[BookEntry]) -> dict[str, Any]:
    """A character book with lore that was written in the game."""
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


# ---- the whole card ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CardUse:
    """The parts of a card that are used.

    Attributes:
        notes: the card author's notes for a model; told as data, below the rules.
        unused: names of fields that are stored but not used.
    """

    persona: str
    notes: str
    book: LoreBook
    unused: tuple[str, ...]


def use_of(card: CharacterCard) -> CardUse:
    """Work out which parts of a card are used."""
    unused = tuple(name for name, value in card.data.items() if name not in _USED_FIELDS and value)
    return CardUse(
        _joined_text(card, _PERSONA), _joined_text(card, _NOTES), lore_of_card(card), unused
    )


def _joined_text(card: CharacterCard, fields: Mapping[str, str]) -> str:
    texts = ((label, strip_control(card.text(name)).strip()) for name, label in fields.items())
    return "\n\n".join(f"{label}{text}" for label, text in texts if text)


def given_back(card: CharacterCard, persona: str, notes: str) -> CharacterCard:
    """The card for export: as it came, except for what was changed in the game."""
    fields: dict[str, str] = {}
    for text, names in ((persona, _PERSONA), (notes, _NOTES)):
        if text != _joined_text(card, names):
            first, label = next(iter(names.items()))
            # Without its label, or the next import would add the label a second time.
            fields |= {**dict.fromkeys(names, ""), first: text.removeprefix(label)}
    return changed(card, **fields) if fields else card
