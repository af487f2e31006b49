"""Consent: people and rooms of which nothing is remembered."""

from typing import Any

from evennia_ai.memory.consent import may_remember, names_of
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime import state
from tests.game.support import GameTest, whispers


class TestConsent(GameTest):
    def may(self, **changes: Any) -> bool:
        """True if something about Tom may be remembered here; `changes` replace arguments."""
        here = {"person": self.tom_id, "sender_id": self.tom.dbref, "place": self.room1.dbref}
        return may_remember(self.ada_script, **{**here, **changes})

    def setUp(self) -> None:
        super().setUp()
        self.tom_id = f"*{self.account.dbref}"

    def configure(self, **config: Any) -> None:
        state.write(self.ada_script, memory_config=config)

    def test_by_default_everything_is(self) -> None:
        for whom in ({}, {"place": "Public"}, {"person": "", "sender_id": ""}, {"person": "*#999"}):
            with self.subTest(whom):
                assert self.may(**whom)
        assert may_remember(self.ada_script)

    def test_where_it_is_switched_off(self) -> None:
        """A setting with a wrong value counts as switched off."""
        for config in ({"enabled": False}, {"never_rooms": 3}):
            with self.subTest(config):
                self.configure(**config)
                assert not self.may()
                assert not may_remember(self.ada_script)

    def test_those_who_want_nothing_remembered(self) -> None:
        state.write(self.ada_script, unremembered=[self.tom_id])
        assert not self.may()
        assert not self.may(sender_id=self.mira.dbref, place="")
        assert self.may(person=self.mira.dbref, sender_id=self.mira.dbref)

    def test_rooms(self) -> None:
        for config, tag, category in (
            ({"never_rooms": [self.room1.dbref]}, "", None),
            ({"never_rooms": ["Private"]}, "private", "rooms"),
            ({}, "ai_no_memory", None),
            ({}, "ai_no_memory", "whatever"),
        ):
            with self.subTest(config=config, tag=tag, category=category):
                self.configure(**config)
                if tag:
                    assert self.may()
                    self.room1.tags.add(tag, category=category)
                assert not self.may()
                assert self.may(place=self.room2.dbref)
                assert self.may(place="")
                self.room1.tags.clear()

    def test_characters(self) -> None:
        for never, being in (
            (self.tom.dbref, None),
            (self.tom_id, None),
            ("shy", self.tom),
            ("shy", self.account),
        ):
            with self.subTest(never=never, being=being):
                self.configure(never_characters=[never])
                if being is not None:
                    assert self.may()
                    being.tags.add("Shy", category="mood")
                assert not self.may()
                assert self.may(person="", sender_id=self.mira.dbref)
                self.tom.tags.clear()
                self.account.tags.clear()

    def test_asking_costs_nothing(self) -> None:
        self.configure(never_rooms=["private"], never_characters=["shy"])
        self.may()
        with self.assertNumQueries(0):
            assert self.may()

    def test_its_names(self) -> None:
        self.ada.aliases.add("librarian")
        assert ("Ada", "librarian") == names_of(self.ada_script)


class TestNothingIsKept(GameTest):
    def test_nothing_of_a_turn_is_kept(self) -> None:
        self.room1.tags.add("ai_no_memory")
        self.ask("whisper Ada = I owe you 12 gold", whispers("Thank you."))
        assert ['Ada whispers: "Thank you."'] == self.tom.heard_from(self.ada)
        assert (0, 0) == (Memory.objects.count(), EntityProfile.objects.count())
        assert [""] == [talk.words for talk in self.ada_script.work.talks.values()]
