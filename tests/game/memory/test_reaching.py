"""Forgetting or correcting one memory also reaches its sources and others that say the same."""

from dataclasses import asdict
from typing import Any

import pytest
from django.db import DatabaseError, connection

from evennia_ai import operations
from evennia_ai.core.memory.recollection import WORLD
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.operations.memory.own import number_of_attribute
from tests.game.memory.remembering_case import RememberingTest, where

SAID = 'Mira whispered: "{}" Ada answered: "I see."'
BOTH = SAID.format("I collect teapots. My brother is a baker.")
AGAIN = SAID.format("I still collect teapots!")


def failing(execute: Any, sql: str, *rest: Any) -> Any:
    """Let every update of a profile fail."""
    if "entityprofile" in sql and sql.startswith("UPDATE"):
        raise DatabaseError("disk I/O error")
    return execute(sql, *rest)


class ReachingTest(RememberingTest):
    """Mira told of teapots and of her brother; there are facts of both, and one of Tom's."""

    def setUp(self) -> None:
        super().setUp()
        entry = self.remember(BOTH, self.miras)
        self.remember(AGAIN, self.miras)
        toms = self.remember('Tom whispered: "I collect teapots."', self.toms)
        self.fact = self.remember(
            "Mira collects teapots.", self.miras, kind="fact", cites=(entry.key,)
        )
        rests = (entry.key, toms.key)
        self.brother = self.remember(
            "Mira has a baker for a brother.", self.miras, kind="fact", cites=rests
        )
        self.remember("Mira likes china.", self.miras, kind="insight", cites=(self.fact.key,))
        self.profile = self.know(self.miras, "Mira", "Mira collects old teapots.", "Is tall")
        self.know(self.toms, "Tom", "collects teapots")

    def known_of(self, person: str) -> list[str]:
        profile = EntityProfile.objects.get(assistant=self.ada_script.pk, entity=person)
        return [item["text"] for item in profile.attributes]

    def left(self) -> list[str]:
        """The beginnings of all memories, then the attributes of Mira and of Tom."""
        texts = [text.partition(" whispered")[0] for text in self.texts()]
        return [*texts, *self.known_of(self.miras), *self.known_of(self.toms)]


class TestForgetting(ReachingTest):
    def test_what_a_fact_came_from_is_gone_with_it(self) -> None:
        """Another fact from the same entry, and Tom's own memory, stay."""
        shown = self.answer(self.mira, f"assistant forget {self.fact.pk}")
        assert (
            "Ada forgot that. Also forgotten: 2 entries of its journal, 1 conclusion and 1 point "
            "of a profile; 1 fact from the same entries that say something else stay. Recent words "
            "may still be in the conversation." == shown
        )
        brother = "Mira has a baker for a brother."
        assert ["Tom", brother, "Is tall", "collects teapots"] == self.left()
        (toms,) = Memory.objects.filter(text__startswith="Tom")
        self.brother.refresh_from_db()
        assert [toms.key] == self.brother.cites

    def test_in_other_scripts(self) -> None:
        """Capital letters make no difference there, either."""
        for text in ("Собирает чайники.", "Чайники собирает!", "Печёт хлеб."):
            self.remember(text, self.miras, kind="fact")
        fact = Memory.objects.get(text="Собирает чайники.")
        operations.forget_known(self.ada_script, self.mira, fact.pk)
        assert ["Печёт хлеб."] == [text for text in self.texts() if not text.isascii()]

    def test_nothing_finds_it_any_more(self) -> None:
        """No table, cache or store has a word of it."""
        for word in ("collect teapots. My", "still collect", "likes china", "old teapots"):
            assert where(word, self.ada_script), word
        operations.forget_known(self.ada_script, self.mira, self.fact.pk)
        self.settle()
        for word in ("collect teapots. My", "still collect", "likes china", "old teapots"):
            assert [] == where(word, self.ada_script), word

    def test_programs_are_told_as_much(self) -> None:
        """The audit has the same counts."""
        result = operations.forget_known(self.ada_script, self.mira, self.fact.pk)
        reached = {"facts": 0, "entries": 2, "insights": 1, "attributes": 1, "kept": 1}
        assert {"count": 4, **reached} == asdict(result.data)
        (fact,) = self.facts("memories_forgotten")
        assert (4, 1, self.miras) == (fact["count"], fact["attributes"], fact["person"])

    def test_an_attribute_reaches_as_far(self) -> None:
        """An attribute has no row, but is the same thing to her."""
        number = number_of_attribute("Mira collects old teapots.")
        result = operations.forget_known(self.ada_script, self.mira, number)
        assert (5, 1, 2, 1, 0) == (
            result.data.count,
            result.data.facts,
            result.data.entries,
            result.data.insights,
            result.data.attributes,
        )
        brother = "Mira has a baker for a brother."
        assert ["Tom", brother, "Is tall", "collects teapots"] == self.left()

    def test_an_entry_takes_what_was_drawn_from_it(self) -> None:
        """Another entry that says the same stays."""
        entry = Memory.objects.get(text=BOTH)
        result = operations.forget_known(self.ada_script, self.mira, entry.pk)
        assert (2, 0, 1, 1) == (
            result.data.facts,
            result.data.entries,
            result.data.insights,
            result.data.attributes,
        )
        assert ["Mira", "Tom", "Is tall", "collects teapots"] == self.left()

    def test_staff_forget_the_same(self) -> None:
        """Tom's own words are not reached."""
        shown = self.answer(self.tom, f"aimemory ada forget {self.fact.pk}")
        assert (
            f"Ada forgot number {self.fact.pk}. Also forgotten: 2 entries of its journal" in shown
        )
        assert ["Tom", "Is tall"] == [self.left()[0], self.left()[2]]

    def test_what_is_nobodys_reaches_its_own_audience(self) -> None:
        """Two public facts say the same; private ones stay."""
        one, _ = (
            self.remember(text, "", WORLD, kind="fact")
            for text in ("The mill collects old teapots.", "The old mill collects teapots.")
        )
        result = operations.forget_memory(self.ada_script, one.pk)
        assert (2, 1, 0) == (result.data.count, result.data.facts, result.data.entries)
        assert 6 == len(self.texts())

    def test_all_or_nothing(self) -> None:
        """The last write fails."""
        before = self.left()
        with connection.execute_wrapper(failing), pytest.raises(DatabaseError):
            operations.forget_known(self.ada_script, self.mira, self.fact.pk)
        self.settle()
        assert before == self.left()
        assert [] == self.facts("memories_forgotten")

    def test_what_somebody_else_said_is_not_reached(self) -> None:
        """Her fact cites Tom's entry, which is not hers to delete."""
        toms = Memory.objects.get(text__startswith="Tom")
        Memory.objects.filter(pk=self.fact.pk).update(cites=[toms.key])
        operations.forget_known(self.ada_script, self.mira, self.fact.pk)
        assert "Tom" in self.left()
        operations.forget_memory(self.ada_script, self.brother.pk)
        assert "Tom" not in self.left()


class TestCorrecting(ReachingTest):
    def test_the_old_does_not_stand_beside_the_new(self) -> None:
        shown = self.answer(
            self.mira, f"assistant memory correct {self.fact.pk} = Mira collects lamps."
        )
        assert shown.startswith(
            "Ada remembers that now: Mira collects lamps.\nAlso forgotten: 2 entr"
        )
        texts = ["Tom", "Mira collects lamps.", "Mira has a baker for a brother."]
        assert [*texts, "Is tall", "collects teapots"] == self.left()
        self.fact.refresh_from_db()
        assert [] == self.fact.cites
        (fact,) = self.facts("memory_corrected")
        assert (3, 1) == (fact["forgotten"], fact["attributes"])

    def test_an_attribute(self) -> None:
        number = number_of_attribute("Mira collects old teapots.")
        result = operations.correct_known(self.ada_script, self.mira, number, "Mira has lamps.")
        assert (1, 2, 1) == (result.data.facts, result.data.entries, result.data.insights)
        texts = ["Tom", "Mira has a baker for a brother."]
        assert [*texts, "Is tall", "Mira has lamps.", "collects teapots"] == self.left()

    def test_an_entry_is_sorted_out_anew(self) -> None:
        """The next night draws facts from the corrected text."""
        entry = Memory.objects.get(text=BOTH)
        Memory.objects.filter(pk=entry.pk).update(is_consolidated=True)
        result = operations.correct_memory(self.ada_script, entry.pk, "Mira collects lamps.")
        assert (3, "Mira collects lamps.") == (result.data.count, result.data.memory["text"])
        entry.refresh_from_db()
        assert not entry.is_consolidated
        assert "Also forgotten: 2 facts, 1 conclusion and 1 point of a profile." in result.message
