"""Lore that is told where its keywords are said, or at its place."""

from typing import Any

from evennia_ai import operations
from evennia_ai.core.memory.lore_terms import PLAIN, LoreTerms
from evennia_ai.core.memory.recollection import (
    WORLD,
    Seeker,
    faction_audience,
    person_audience,
    place_audience,
)
from evennia_ai.memory import lore
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from tests.game.memory.memory_case import MemoryTest
from tests.game.support import whispers

HERE = Seeker("*#1", "say", "#2", ("thieves",))


class TestLore(MemoryTest):
    def write(self, text: str, *keywords: str, audience: str = WORLD, **more: Any) -> str:
        return lore.add(text, keywords=keywords, audience=audience, at=0.0, **more)

    def write_own(self, text: str, *keywords: str) -> str:
        """Write down lore of Ada's own. Returns its key."""
        entry = lore.build(text, keywords=keywords, audience=WORLD, at=0.0)
        lore.insert(self.ada_script.pk, [(entry, PLAIN)])
        return entry.key

    def told(self, text: str, seeker: Seeker = HERE) -> list[str]:
        return [entry.text for entry in lore.matching(self.ada_script, text, seeker)]

    def test_whole_words(self) -> None:
        self.write("The mill is haunted.", "mill", "Old  Tower")
        self.write("Ärger is a river.", "ÄRGER")
        assert ["The mill is haunted."] == self.told("Who owns the MILL?")
        assert ["The mill is haunted."] == self.told("the old tower, then")
        assert ["Ärger is a river."] == self.told("ärger")
        for text in ("a million", "old and tower", "", "windmill"):
            assert [] == self.told(text)

    def test_places(self) -> None:
        """A room's lore is told there whatever is said, and nowhere else."""
        self.write("The floor is wet.", "cellar", audience=place_audience("say", "#2"))
        assert ["The floor is wet."] == self.told("hello")
        assert [] == self.told("the cellar", Seeker("*#1", "say", "#3"))

    def test_factions(self) -> None:
        self.write("The password is rust.", "password", audience=faction_audience("thieves"))
        assert ["The password is rust."] == self.told("What is the password?")
        assert [] == self.told("hello")
        assert [] == self.told("What is the password?", Seeker("*#1", "say", "#2", ("guards",)))

    def test_a_persons(self) -> None:
        self.write("Tom is the heir.", "tom", audience=person_audience("*#1"))
        assert [] == self.told("Tom?")
        assert ["Tom is the heir."] == self.told("Tom?", Seeker("*#1", is_private=True))

    def test_order_and_bound(self) -> None:
        """Keyword matches come before the place's lore, important ones first, and at most four."""
        self.write("wet", audience=place_audience("say", "#2"), importance=10)
        for number in range(5):
            self.write(f"mill {number}", "mill", importance=number)
        assert ["mill 4", "mill 3", "mill 2", "mill 1"] == self.told("the mill")
        assert ["wet"] == self.told("hello")

    def test_an_assistants_own(self) -> None:
        bo_script, _ = self.make("Bo")
        self.write_own("Only Ada knows.", "mill")
        self.write("All know.", "mill")
        assert {"Only Ada knows.", "All know."} == set(self.told("mill"))
        assert ["All know."] == [e.text for e in lore.matching(bo_script, "mill", HERE)]

    def test_a_long_entry_of_a_book_is_told_in_pieces(self) -> None:
        """An ellipsis of its own, at the end of a piece, is told once."""
        key = "a" * 32
        for text, expected in (
            ("The well is deep…", ["The well is deep…"]),
            (f"{'a' * 500} b", [f"{'a' * 399}…", f"{'a' * 101} b"]),
            (f"{'a' * 397}. …b… c", [f"{'a' * 397}.", "…b… c"]),
        ):
            with self.subTest(text[-9:]):
                entry = lore.build(text, keywords=["well"], audience=WORLD, at=0.0, key=key)
                lore.insert(rows.SHARED, [(entry, LoreTerms(book="card"))])
                assert expected == self.told("a well")
                lore.remove_book(rows.SHARED, "card")

    def test_it_costs_nothing(self) -> None:
        """Lore is cached until it changes in this process, or for a minute."""
        key = self.write("The mill is haunted.", "mill")
        self.told("mill")
        with self.assertNumQueries(0):
            assert ["The mill is haunted."] == self.told("mill")
        Memory.objects.update(text="changed by another process")
        with self.assertNumQueries(0):
            self.told("mill")
        self.clock.advance(60)
        assert ["changed by another process"] == self.told("mill")
        assert lore.change(key, text="new", tags=["lake"])
        assert ([], ["new"]) == (self.told("mill"), self.told("lake"))
        assert lore.remove(key)
        assert [] == self.told("lake")

    def test_one_piece_of_an_assistants_own(self) -> None:
        key = self.write_own("The mill is hers.", "mill")
        assert ["The mill is hers."] == self.told("mill")
        assert operations.correct_memory(self.ada_script, key, "The mill is sold.").ok
        assert ["The mill is sold."] == self.told("mill")
        assert operations.forget_memory(self.ada_script, key).ok
        assert [] == self.told("mill")

    def test_only_lore_is_changed_here(self) -> None:
        for key in (self.remember("not lore"), self.write_own("not shared")):
            assert not lore.change(key, text="x")
            assert not lore.remove(key)
        assert not lore.remove("0" * 32)
        assert not lore.change("0" * 32, text="x")

    def test_the_model_reads_it(self) -> None:
        self.store.is_down = True
        self.write("The mill is haunted.", "mill")
        self.ask("whisper Ada = Who owns the mill?", whispers("Nobody."))
        assert '- "The mill is haunted."' in self.prompt()

    def test_no_store_reads_it(self) -> None:
        """Lore is not queued for the memory store."""
        self.write("The mill is haunted.", "mill")
        assert 0 == sum(rows.count_waiting(rows.SHARED))
