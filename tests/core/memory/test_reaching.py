"""Reach of a deletion: memories that say the same, their sources and their conclusions."""

from typing import Any

import pytest

from evennia_ai.core.memory.reaching import (
    conclusions,
    is_alike,
    is_said_in,
    reach,
    said_words,
    word_to_look_for,
)
from evennia_ai.core.memory.recollection import Recollection

NAMES = said_words("Tom Ada")
SAID = 'Tom whispered: "{}" Ada answered: "Oh, how fine."'


def memory(key: str, text: str, kind: str = "fact", *cites: str) -> Recollection:
    return Recollection(key, kind, text, "world", cites=cites)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Tom collects teapots.", "collects teapots", True),
        ("Tom likes storms.", "Tom liked a storm", True),
        ("Tom has many stories.", "He has a story of many", True),
        ("Tom collects old teapots.", "Tom collects teapots", True),
        ("Tom collects old blue teapots from Rome.", "Tom collects", False),
        ("Tom is a smith.", "Tom sold a smith his horse.", False),
        ("Tom likes storms.", "Tom does not like storms.", False),
        ("Tom never eats fish.", "Tom does not eat fish", True),
        ("Tom is.", "Tom was", False),
        ("Tom is.", "Tom collects teapots", False),
        ("Том собирает чайники.", "том собирает чайники", True),
    ],
)
def test_what_says_the_same(one: str, other: str, expected: bool) -> None:
    """The longer text has all telling words of the shorter and few more; a denial differs."""
    assert (expected, expected) == (is_alike(one, other, NAMES), is_alike(other, one, NAMES))


@pytest.mark.parametrize(
    ("statement", "words", "expected"),
    [
        ("Tom collects teapots.", "I have a house. I collect blue teapots, and cups too.", True),
        ("Tom collects teapots.", "Where are my teapots? I collect stamps.", False),
        ("Tom collects teapots.", "I do not collect teapots.", False),
        ("Tom is a smith.", "I am a smith.", True),
        ("Tom is a smith.", "I sold the smith a horse.", False),
        ("Tom whispered.", "I am tired.", False),
        ("Tom is.", "I am.", False),
    ],
)
def test_an_entry_that_says_it(statement: str, words: str, expected: bool) -> None:
    """One sentence has all telling words; for a single word, nearly nothing else."""
    assert expected is is_said_in(statement, SAID.format(words), NAMES)


def test_the_word_to_look_for_is_a_part_of_what_says_the_same() -> None:
    """A database finds candidates by this part of a word."""
    assert "collect" == word_to_look_for("Tom collects teapots.", said_words("teapots"))
    assert word_to_look_for("He likes it") in "liking"
    assert "чайники" == word_to_look_for("Он собрал чайники.")
    assert "tea" == word_to_look_for("чайники, tea")
    assert "" == word_to_look_for("Tom is", NAMES)


def test_conclusions_of_conclusions() -> None:
    cites = {"b": ["a"], "c": ["b", "x"], "d": ["x"]}
    assert {"b", "c"} == conclusions(cites, ["a"])
    assert set() == conclusions(cites, [])


class TestReach:
    """Tom told of teapots and of his brother in one message, and again of teapots."""

    BOTH = memory("e1", SAID.format("I collect teapots. My brother is a baker."), "journal")
    AGAIN = memory("e2", SAID.format("As I said, I collect teapots!"), "journal")
    OTHER = memory("e3", SAID.format("I saw a teapot."), "journal")
    FACT = memory("f1", "Tom collects teapots.", "fact", "e1")
    SAME = memory("f2", "Tom collects many teapots.", "fact", "e2")
    BROTHER = memory("f3", "Tom's brother is a baker.", "fact", "e1", "e3")
    INSIGHT = memory("i1", "Tom is fond of china.", "insight", "f1", "f3")
    DEEPER = memory("i2", "Tom would like a gift of china.", "insight", "i1")
    OF_ENTRY = memory("i3", "Tom talks much.", "insight", "e1", "e3")
    ALL = (BOTH, AGAIN, OTHER, FACT, SAME, BROTHER, INSIGHT, DEEPER, OF_ENTRY)

    def reached(self, target: Recollection, *near: Recollection) -> Any:
        return reach(target, near, [each for each in self.ALL if each.cites], NAMES)

    def test_a_fact(self) -> None:
        """Its entries, repetitions and conclusions go; another fact only loses that source."""
        result = self.reached(self.FACT, *self.ALL)
        assert {"f2", "e1", "e2", "i1", "i2", "i3"} == {each.key for each in result.gone}
        assert {"f3": ("e3",)} == result.loosened

    def test_only_as_far_as_one_may_reach(self) -> None:
        """An entry that is not near stays, and is cited as before."""
        result = self.reached(self.FACT, self.FACT, self.AGAIN)
        assert {"e2", "i1", "i2"} == {each.key for each in result.gone}
        assert {"f2": ()} == result.loosened

    def test_an_insight(self) -> None:
        """The facts it was concluded from say something else, and stay."""
        result = self.reached(self.INSIGHT, *self.ALL)
        assert ["i2"] == [each.key for each in result.gone]
        assert {} == result.loosened

    def test_an_entry(self) -> None:
        result = self.reached(self.BOTH, *self.ALL)
        assert {"f1", "f3", "i1", "i2", "i3"} == {each.key for each in result.gone}
        assert {} == result.loosened

    def test_attributes(self) -> None:
        """An entry also takes the attributes that one of its sentences says."""
        fact, entry = self.reached(self.FACT, *self.ALL), self.reached(self.OTHER)
        texts = ["Collects teapots", "Is fond of china", "His brother is a baker", "Saw a teapot"]
        assert [True, True, False, False] == [fact.takes(text) for text in texts]
        assert [False, True, True, True] == [entry.takes(text) for text in texts]
