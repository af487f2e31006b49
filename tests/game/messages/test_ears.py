"""Ears of a game's own character: it hears, and its class and behaviour stay the game's."""

from typing import Any

from django.db.models.signals import post_save, pre_delete
from evennia.contrib.tutorials.evadventure.npcs import EvAdventureNPC
from evennia.contrib.tutorials.tutorial_world.mob import Mob
from evennia.objects.models import ObjectDB
from evennia.typeclasses.attributes import Attribute
from evennia.utils.create import create_object
from evennia.utils.dbserialize import from_pickle, to_pickle
from evennia.utils.utils import get_all_typeclasses, inherits_from

from evennia_ai.assistant_character import AssistantMixin, give_ears, take_ears
from tests.game.runtime.test_body_class import process_of_game
from tests.game.support import GameTest, pump, whispers

MERCHANT = "tests.game.messages.test_ears.Merchant"


class Merchant(EvAdventureNPC):
    """A character of a game that has methods which the mixin has too."""

    def ask(self, buyer: Any, topic: str) -> str:
        return f"{buyer.key} asks {self.key} of {topic}"

    def at_assistant_said(self, text: str, **kwargs: Any) -> None:
        self.ndb.said = (*(self.ndb.said or ()), text)

    def at_assistant_stopped(self, reason: str, **kwargs: Any) -> None:
        """Remember why."""
        self.ndb.stopped = reason


class TestOwnMethods(GameTest):
    """Methods of a game's class that has no ears, of names that the mixin uses too."""

    def test_its_hooks_are_called(self) -> None:
        script, bram = self.make("Bram", typeclass=MERCHANT)
        self.ask("whisper Bram = hello", whispers("Hm."))
        assert ("Hm.",) == bram.ndb.said
        script.trigger_emergency_stop("enough", by="Tom")
        pump()
        assert "enough" in bram.ndb.stopped

    def test_its_own_ask_stays(self) -> None:
        _, bram = self.make("Bram", typeclass=MERCHANT)
        assert "Tom asks Bram of wool" == bram.ask(self.tom, "wool")

    def test_the_same_of_the_class_of_all_characters(self) -> None:
        with process_of_game(MERCHANT):
            _, bram = self.make("Bram")
            assert isinstance(bram, Merchant)
            assert "Tom asks Bram of wool" == bram.ask(self.tom, "wool")
            self.ask("whisper Bram = hello", whispers("Hm."))
            assert ("Hm.",) == bram.ndb.said
            bram.delete()


class TestEars(GameTest):
    def setUp(self) -> None:
        super().setUp()
        self.guard: Any = create_object(EvAdventureNPC, key="Bram", location=self.room1)
        give_ears(self.guard)

    def test_it_is_of_its_own_class(self) -> None:
        guard, path = self.guard, "evennia.contrib.tutorials.evadventure.npcs.EvAdventureNPC"
        assert isinstance(guard, AssistantMixin)
        assert isinstance(guard, EvAdventureNPC)
        assert guard.__class__ is EvAdventureNPC
        assert guard.is_typeclass(EvAdventureNPC, exact=True)
        assert guard.is_typeclass(path, exact=True)
        assert inherits_from(guard, EvAdventureNPC)
        assert (path, path, "EvAdventureNPC") == (guard.typeclass_path, guard.path, guard.typename)
        assert "EvAdventureNPC" == type(guard).__name__ == type(guard)._meta.object_name

    def test_searches_find_it(self) -> None:
        assert self.guard in EvAdventureNPC.objects.all()
        assert self.guard in EvAdventureNPC.objects.all_family()
        assert self.guard == ObjectDB.objects.get(db_key="Bram")
        assert 1 == EvAdventureNPC.objects.filter(db_key="Bram").count()

    def test_no_list_of_typeclasses_shows_another(self) -> None:
        before = set(get_all_typeclasses())
        give_ears(create_object(Mob, key="ghost", location=self.room1))
        assert before == set(get_all_typeclasses())

    def test_its_values_and_handlers_are_its_own(self) -> None:
        assert (4, 4, 1) == (self.guard.hp, self.guard.hp_max, self.guard.strength)
        self.guard.at_damage(3)
        self.guard.permissions.add("Helper")
        take_ears(self.guard)
        assert (1, ["helper"]) == (self.guard.hp, self.guard.permissions.all())
        assert type(self.guard) is EvAdventureNPC

    def test_what_is_kept_of_it_is_the_game_s(self) -> None:
        """A reference to it in another object's attribute can be pickled and read back."""
        assert self.guard == from_pickle(to_pickle(self.guard))
        self.room1.db.watch = [self.guard]
        assert self.guard is self.room1.db.watch[0]

    def test_signals_of_its_class_are_sent(self) -> None:
        senders: list[Any] = []

        def listen(sender: Any, **kwargs: Any) -> None:
            senders.append(sender)

        for signal in (post_save, pre_delete):
            signal.connect(listen, sender=EvAdventureNPC)
            self.addCleanup(signal.disconnect, listen, sender=EvAdventureNPC)
        self.guard.attributes.add("rank", "captain")
        self.guard.key = "Old Bram"
        assert self.guard.delete()
        assert {EvAdventureNPC} == set(senders)
        assert 2 <= len(senders)
        assert not Attribute.objects.filter(db_key="rank").exists()

    def test_a_lock_check_takes_all_arguments_of_evennias(self) -> None:
        """Also by position, as game code may pass them."""
        self.guard.locks.add("get:false()")
        self.account.is_superuser = True
        assert self.guard.access(self.account, "get", False, False)
        assert not self.guard.access(self.account, "get", False, True)
        assert not self.guard.access(self.account, "get", no_superuser_bypass=True)

    def test_another_typeclass_keeps_the_ears(self) -> None:
        self.guard.swap_typeclass(Mob, run_start_hooks=None)
        assert isinstance(self.guard, AssistantMixin)
        assert self.guard.__class__ is Mob
        take_ears(self.guard)
        assert type(self.guard) is Mob
        assert Mob.path == self.guard.typeclass_path

    def test_ears_of_its_own_stay(self) -> None:
        """A character whose class is an assistant class already is left alone."""
        kind = type(self.ada)
        give_ears(self.ada)
        take_ears(self.ada)
        assert type(self.ada) is kind
