"""Filters, ids and wildcards within words, which open nobody's memories."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from evennia_ai.core.memory.recollection import (
    Seeker,
    faction_audience,
    is_audience,
    person_audience,
)
from evennia_ai.memory import recalling
from evennia_ai.memory_store.port import MemoryQuery
from evennia_ai.messages.incoming import id_of
from evennia_ai.runtime import state
from tests.game.memory.memory_case import FailingStore, MemoryTest

NASTY = ("*", "AND", '{"user_id": "*"}', "person:account-1", "*#1", "world OR 1=1", "%", "{}", "")


class TestInjection(MemoryTest):
    def setUp(self) -> None:
        super().setUp()
        state.write(self.ada_script, memory_config={"min_similarity": 0.0})
        self.secret("the hidden treasure, says Tom", self.tom)
        self.remember("the hidden treasure, say thieves", faction_audience("thieves"))
        self.remember("the hidden treasure, said elsewhere", "room:object-99")
        self.remember("the hidden treasure of nobody", person_audience("*"))

    def test_no_words_are_a_filter(self) -> None:
        for nasty in NASTY:
            seekers = [
                Seeker(nasty, "whisper", nasty, (nasty,), True) if nasty != "*#1" else Seeker(),
                Seeker("", "channel", nasty),
                Seeker(self.id_of(self.mira), "say", nasty, (nasty,)),
            ]
            for seeker in seekers:
                with self.subTest(nasty=nasty, seeker=seeker):
                    assert all(map(is_audience, seeker.audiences))
                    for query in (f"the hidden treasure {nasty}", nasty or "treasure"):
                        outcome = recalling.search(self.ada_script, query, seeker)
                        assert [] == outcome.result

    def test_no_name_opens_anything(self) -> None:
        for nasty in NASTY:
            with self.subTest(nasty=nasty):
                for being in (self.ada, self.mira):
                    being.tags.clear(category="faction")
                    being.tags.add(nasty or "x", category="faction")
                fields = {"sender_name": nasty, "place": nasty}
                turn = self.turn(f"the hidden treasure {nasty}", person=self.mira, **fields)
                assert "hidden" not in self.recalled(turn)

    def test_nobody_is_taken_for_another_by_an_id(self) -> None:
        mine = self.id_of(self.tom)
        for other in (mine + "1", mine[1:], mine.replace("#", ""), f" {mine}", mine + "\n"):
            with self.subTest(other=other):
                outcome = recalling.search(
                    self.ada_script, "the hidden treasure", Seeker(other, is_private=True)
                )
                assert [] == outcome.result

    def recalled(self, turn: Any) -> str:
        results: list[Any] = []
        Deferred.fromCoroutine(recalling.recall(self.ada_script, turn)).addCallback(results.append)
        assert "" == results[0].problem
        return str(results[0].memories)

    def test_the_control(self) -> None:
        """Tom does recall his own secret, so the empty results above mean something."""
        assert "says Tom" in self.recalled(self.turn("the hidden treasure"))
        assert id_of(self.tom) != self.id_of(self.tom)


@pytest.mark.parametrize("nasty", [text for text in NASTY if not is_audience(text)])
def test_audiences_of_a_search_are_checked(nasty: str) -> None:
    store = FailingStore()
    store.add(1, [])
    with pytest.raises(ValueError, match="is not an audience"):
        store.search(MemoryQuery(1, "x", (nasty,), 3))
