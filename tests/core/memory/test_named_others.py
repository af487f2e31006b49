"""Memories that name somebody else than who has the name now, and former names."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from evennia_ai.core.memory import journal
from evennia_ai.core.memory.namesakes import (
    another,
    former_name,
    former_names,
    is_former_name,
    may_name_another,
    named_others,
    told_apart,
    with_former_names,
)
from evennia_ai.core.memory.recollection import Recollection, Seeker
from evennia_ai.core.settings.memory import MemoryConfig

OLD, NEW, MIRA = "*#1", "*#2", "*#3"
SINCE = 100.0
TOM = Seeker(NEW, "say", "#2", name="Tom", name_since=SINCE)


def said(text: str, person: str = OLD, at: float = 1.0, kind: str = "journal") -> Recollection:
    """A memory of something said in the open."""
    return Recollection(text[-1] * 8 + str(at), kind, text, "room:object-2", person, at=at)


def fact(text: str, person: str = MIRA, at: float = 1.0, kind: str = "fact") -> Recollection:
    """Something that was derived."""
    return said(text, person, at, kind)


def marked(memory: Recollection, seeker: Seeker | None = TOM) -> str:
    """A memory as a model is told it."""
    return told_apart(memory, named_others([memory], seeker))


def test_an_entry_of_somebody_else_with_the_name_of_who_asks_says_so() -> None:
    assert 'Another person called Tom said: "hm"' == marked(said('Tom said: "hm"'))
    assert 'Tom said: "hm"' == marked(said('Tom said: "hm"', NEW))
    assert 'Tom said: "hm"' == marked(said('Tom said: "hm"'), Seeker(MIRA, name="Mira"))
    assert 'Tom said: "hm"' == marked(said('Tom said: "hm"'), None)
    assert 'Tom said: "hm"' == marked(said('Tom said: "hm"', ""))


def test_a_quoted_name_is_told_apart_as_well() -> None:
    seeker, entry = Seeker(NEW, name="a b c d e"), 'Somebody called "a b c d e" said: "hm"'
    assert 'Another person called "a b c d e" said: "hm"' == marked(said(entry), seeker)


def test_of_two_who_had_a_name_the_last_one_has_it() -> None:
    entries = [said('Tom said: "b"', NEW, 2.0), said('Tom said: "a"', OLD, 1.0)]
    other = {entries[1].key: ("Tom", "another person called Tom")}
    assert other == named_others(entries, Seeker(MIRA, name="Mira"))
    assert other == named_others(entries)
    assert other == named_others(entries[1:], None, {"Tom": NEW})
    assert {} == named_others(entries[:1], None, {"Tom": NEW})


def test_an_entry_of_a_renamed_person_says_so_to_that_person_alone() -> None:
    entry = said('Tom said: "hm"', NEW)
    for seeker in (Seeker(NEW, name="Tim"), Seeker(MIRA, name="Mira", is_private=True)):
        assert 'Tom said: "hm"' == marked(entry, seeker)
    alone = Seeker(NEW, name="Tim", is_private=True)
    assert 'Tim, then called Tom, said: "hm"' == marked(entry, alone)
    assert 'Tim said: "hm"' == marked(said('Tim said: "hm"', NEW), alone)
    assert 'Tom said: "hm"' == marked(entry, replace(alone, name=""))
    labels = named_others([entry], alone, {"Tom": OLD})
    assert 'Tim, then called Tom, said: "hm"' == told_apart(entry, labels)


@pytest.mark.parametrize("kind", ["fact", "insight"])
def test_what_was_known_before_somebody_had_the_name_is_of_another(kind: str) -> None:
    old = fact("Tom stole a lamp", kind=kind)
    assert "Tom stole a lamp (of another person called Tom)" == marked(old)
    assert {} == named_others([fact("Tom stole a lamp", at=SINCE)], TOM)
    assert {} == named_others([fact("Tomas stole a lamp")], TOM)
    assert {} == named_others([fact("A lamp was stolen")], TOM)
    assert {} == named_others([fact("Tom is my enemy", NEW)], TOM)
    assert {} == named_others([fact("Tom stole a lamp")], Seeker(NEW, name="Tom"))


def test_an_old_entry_that_mentions_the_name_is_of_another() -> None:
    entry = said('Mira said: "Tom stole a lamp"', MIRA)
    assert f"{entry.text} (of another person called Tom)" == marked(entry)


def test_a_fact_that_a_namesake_told_names_the_namesake() -> None:
    """Also if nobody knows since when the seeker has the name."""
    told, seeker = fact("Tom has a cat", OLD), Seeker(NEW, name="Tom")
    assert {told.key: ("Tom", "another person called Tom")} == named_others(
        [told], seeker, namesakes={OLD}
    )
    assert {} == named_others([told], seeker)
    assert {} == named_others([fact("Ann has a cat", OLD)], seeker, namesakes={OLD})


def test_lore_is_never_told_apart() -> None:
    assert {} == named_others([fact("Tom founded the town", "", kind="lore")], TOM)


def test_a_line_of_a_tool_says_of_whom_it_is() -> None:
    now, config = datetime(2026, 5, 3, tzinfo=UTC), MemoryConfig()
    memories = [fact("Tom stole a lamp")]
    text = journal.lines(memories, config, now, named_others(memories, TOM))
    assert text.endswith(", of another person called Tom)")
    assert "another" not in journal.lines(memories, config, now, {})


def test_former_names_are_read_back() -> None:
    texts: list[Any] = [former_name("Tom", "3 May 2026"), "likes tea", "was called to the bar"]
    assert {"Tom"} == former_names(texts)
    assert [True, False, False] == [is_former_name(text) for text in texts]
    assert "another person called Tom" == another("Tom")


def test_whoever_had_another_name_did_not_have_the_present_one() -> None:
    seeker, points = replace(TOM, name_since=0.0), [(former_name("Bill", "3 May 2026"), 50.0)]
    assert 50.0 == with_former_names(seeker, [*points, ("likes tea", 90.0)]).name_since
    assert SINCE == with_former_names(TOM, points).name_since
    assert seeker == with_former_names(seeker, [("likes tea", 90.0)])
    had_it = [*points, (former_name("Tom", "1 May 2026"), 40.0)]
    assert 0.0 == with_former_names(seeker, had_it).name_since


def test_only_memories_of_others_with_the_name_may_name_somebody_else() -> None:
    assert may_name_another(TOM, [fact("Tom stole a lamp")])
    assert not may_name_another(TOM, [fact("Tom is my enemy", NEW), fact("A lamp was stolen")])
    assert not may_name_another(Seeker(), [fact("Tom stole a lamp")])
