"""Lore: the conditions and bounds under which it is told, and the lore books of cards."""

from dataclasses import replace
from typing import Any

import pytest

from evennia_ai.core.cards.card_use import LONGEST_ENTRY, MOST_ENTRIES, book_of, lore_of_card
from evennia_ai.core.cards.character_card import new_card
from evennia_ai.core.memory.lore_terms import (
    MOST_OF_BOOK,
    PLAIN,
    LoreCondition,
    LoreTerms,
    folded,
    keywords_in,
    lore_of,
    told_of,
)
from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.core.text.plain_data import from_stored, to_stored

ENTRY = {"keys": ["mill"], "content": "It is haunted.", "enabled": True, "insertion_order": 10}


def lore(
    text: str, terms: LoreTerms = PLAIN, *, tags: tuple[str, ...] = ("mill",), **more: Any
) -> Any:
    given = {"audience": "world", "tags": tags, **more}
    return lore_of(Recollection(text, MemoryKind.LORE, text, **given), terms)


def told(*known: Any, said: tuple[str, ...] = ("the old mill",), holds: bool = True) -> list[str]:
    """The lore that is told for these lines; each letter counts as a token."""
    words = [folded(line) for line in said]
    return [lore.entry.text for lore in told_of(known, words, lambda _: holds, len)]


@pytest.mark.parametrize(
    ("also_as", "heard"),
    [
        ("any", [False, True, True]),
        ("all", [False, False, True]),
        ("none", [True, False, False]),
        ("not all", [True, True, False]),
    ],
)
def test_further_keywords(also_as: Any, heard: list[bool]) -> None:
    entry = lore("x", LoreTerms(also=("night", "Fog"), also_as=also_as))
    lines = ("the mill", "the mill by night", "mill, night, fog")
    assert heard == [bool(told(entry, said=(line,))) for line in lines]
    assert [] == told(entry, said=("night and fog",))


@pytest.mark.parametrize(
    ("keyword", "line", "is_found"),
    [
        ("鍵", "灯台の鍵はどこ?", True),
        ("灯台", "灯台の鍵はどこ?", True),
        ("灯塔", "灯台の塔", False),
        ("ランプ", "古いランプの油", True),
        ("パン", "ジャパンの油", False),
        ("アリス", "アリス・リデルは?", True),
        ("灯塔", "旧灯塔在哪里", True),
        ("น้ำมัน", "ใช้น้ำมันวาฬ", True),
        ("المنارة", "أين زيت المنارة؟", True),
        ("STRASSE", "in der Straße", True),
        ("Turm", "der Turmuhr", False),
        ("등대", "등대 어디", True),
    ],
)
def test_keywords_in_many_scripts(keyword: str, line: str, *, is_found: bool) -> None:
    """A keyword is a whole word; of scripts without spaces, any letters in a row."""
    assert is_found == bool(told(lore("x", tags=(keyword,)), said=(line,)))


def test_keywords_that_were_said_are_given_as_they_were_written() -> None:
    entry = lore("x", tags=("灯台", "Old  Mill", "fog"))
    assert ["灯台", "Old  Mill"] == keywords_in(entry, [folded("the old mill, 灯台の鍵")])


def test_constant_named_and_of_the_place() -> None:
    """In this order, whatever the importance; lore of the room needs its further words too."""
    here = {"audience": "room:object-2", "importance": 9}
    assert ["c", "n", "r"] == told(
        lore("r", tags=(), **here),
        lore("n"),
        lore("c", LoreTerms(is_constant=True), tags=()),
        lore("f", LoreTerms(also=("fog",)), **here),
        lore("other", tags=("lake",)),
    )


def test_importance_priority_and_order() -> None:
    assert ["a", "b", "c", "d"] == told(
        lore("d", LoreTerms(order=7)),
        lore("c", LoreTerms(order=6)),
        lore("b", LoreTerms(order=9, priority=1)),
        lore("a", importance=6),
    )
    assert 4 == len(told(*map(lore, "abcdef")))


def test_depth_is_how_far_back_words_count() -> None:
    """Without a depth only the newest message counts."""
    lines = ("hm", "well", "the mill")
    results = [bool(told(lore("x", LoreTerms(depth=d)), said=lines)) for d in (0, 1, 2, 3)]
    assert [False, False, False, True] == results
    assert [] == told(lore("x", tags=("old mill",)), said=("old", "mill"))


def test_a_budget_holds_over_a_book() -> None:
    """An entry that does not fit is skipped for a later, shorter one."""
    terms = LoreTerms(budget=10, book="card")
    assert ["aaaa", "cc"] == told(lore("aaaa", terms), lore("bbbbbbb", terms), lore("cc", terms))
    many = [lore("x", replace(terms, budget=1000)) for _ in range(30)]
    other = [lore(letter) for letter in "abcdef"]
    assert MOST_OF_BOOK + 4 == len(told(*many, *other))


def test_conditions_hold_all_or_nothing_is_told() -> None:
    entry = lore("x", LoreTerms(is_constant=True, when=(LoreCondition(tag="thief"),)))
    assert (["x"], []) == (told(entry), told(entry, holds=False))


def test_terms_are_kept_as_plain_data() -> None:
    terms = LoreTerms(
        also=("a",), when=(LoreCondition(attribute="lamp", value=True),), book="harbour"
    )
    assert terms == from_stored(LoreTerms, to_stored(terms))


# ---- lore books of cards -----------------------------------------------------------------------


def of_book(*entries: dict[str, Any], **book: Any) -> Any:
    return lore_of_card(new_card(name="Edda", character_book={**book, "entries": list(entries)}))


def test_a_card_without_a_book() -> None:
    assert ((), ()) == (lore_of_card(new_card(name="E")).entries, of_book().entries)


def test_an_entry_with_all_it_can_have() -> None:
    raw = {
        **ENTRY,
        "secondary_keys": ["night", "night"],
        "selective": True,
        "constant": True,
        "priority": 3,
        "extensions": {"selectiveLogic": 3, "scan_depth": 9},
    }
    (entry,) = of_book(raw, scan_depth=4, token_budget=300).entries
    expected = LoreTerms(("night",), "all", True, 10, 3, 9, 300, (), "card", "0")
    assert (("mill",), "It is haunted.", expected) == (entry.keywords, entry.text, entry.terms)


def test_what_is_set_oddly_counts_as_not_set() -> None:
    """A number beyond the bounds is cut to them."""
    raw = {**ENTRY, "secondary_keys": ["x"], "insertion_order": "9", "extensions": [1]}
    (entry,) = of_book(raw, scan_depth=True, token_budget=-1).entries
    assert LoreTerms(book="card", entry="0") == entry.terms
    (deep,) = of_book(ENTRY, scan_depth=10_000, token_budget=10**7).entries
    assert (50, 100_000) == (deep.terms.depth, deep.terms.budget)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({**ENTRY, "enabled": False}, "it is disabled"),
        ({**ENTRY, "content": "@@depth 4\n "}, "it says nothing"),
        ({**ENTRY, "content": "x" * (LONGEST_ENTRY + 1)}, "more than 20,000 characters"),
        ({**ENTRY, "keys": []}, "it has no keys"),
        ({**ENTRY, "keys": ["/mil+/i"]}, "its keys are regular expressions"),
        ({**ENTRY, "use_regex": True, "keys": ["m(i|l)+"]}, "its keys are regular expressions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_told_is_named(raw: dict[str, Any], why: str) -> None:
    book = of_book({**raw, "comment": "The mill"})
    assert () == book.entries
    assert [True] == [
        line.startswith("character_book entry 0 (The mill): ") for line in book.unused
    ]
    assert why in book.unused[0]


def test_parts_that_are_not_followed_are_named() -> None:
    raw = {
        **ENTRY,
        "keys": ["mill", "/m.l/"],
        "content": "@@depth 4\nIt is haunted.",
        "case_sensitive": True,
        "position": "after_char",
    }
    other = {**ENTRY, "keys": ["Dr. Mill", "mil+"], "use_regex": True}
    book = of_book(raw, other, recursive_scanning=True)
    assert [("mill",), ("Dr. Mill",)] == [entry.keywords for entry in book.entries]
    assert ["It is haunted."] * 2 == [entry.text for entry in book.entries]
    assert [
        "character_book entry 0 (mill, /m.l/): its regular expressions are off",
        "character_book entry 0 (mill, /m.l/): its lines that begin with @@ are left out",
        "character_book entry 1 (Dr. Mill, mil+): its regular expressions are off",
        "character_book: case_sensitive is not followed, of 1 entry",
        "character_book: position is not followed, of 1 entry",
        "character_book.recursive_scanning: lore is looked for in what is said alone",
    ] == list(book.unused)


def test_too_many_entries() -> None:
    book = of_book(*[ENTRY] * (MOST_ENTRIES + 1))
    assert MOST_ENTRIES == len(book.entries)
    assert ("character_book: of 1,001 entries the first 1,000 are told",) == book.unused


def test_lore_becomes_a_book() -> None:
    book = of_book(ENTRY, {**ENTRY, "constant": True})
    again = lore_of_card(new_card(name="E", character_book=book_of(iter(book.entries))))
    assert (book.entries, ()) == (again.entries, again.unused)
