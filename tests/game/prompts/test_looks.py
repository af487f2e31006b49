"""Descriptions that a game makes up: they reach the tools, placeholders and notes."""

from datetime import UTC, datetime
from typing import Any

from evennia.contrib.game_systems.clothing.clothing import ClothedCharacter
from evennia.contrib.grid.extended_room.extended_room import ExtendedRoom
from evennia.contrib.grid.wilderness import wilderness
from evennia.contrib.rpg.rpsystem import ContribRPObject
from evennia.contrib.tutorials.tutorial_world.rooms import TutorialRoom
from evennia.objects.objects import DefaultRoom
from evennia.utils import create

from evennia_ai.memory import grounding
from evennia_ai.prompts.placeholders import facts_of
from evennia_ai.runtime.names import description_of
from tests.game.tools.tool_case import ToolTest

NOON = datetime(1970, 1, 1, 12, tzinfo=UTC)


class Desert(wilderness.WildernessMapProvider):
    """A wilderness that describes its places itself."""

    def at_prepare_room(self, coordinates: Any, caller: Any, room: Any) -> None:
        room.ndb.active_desc = f"Dunes |yas far|n as {coordinates}."


class Tree(ContribRPObject):
    default_description = "It is very old."


class Stage(DefaultRoom):
    """A room that sends its looks instead of returning them."""

    def return_appearance(self, looker: Any, **kwargs: Any) -> None:
        looker.msg("A |yyellow|n curtain.")


class Broken(ContribRPObject):
    """A thing whose description cannot be made."""

    def get_display_desc(self, looker: Any, **kwargs: Any) -> str:
        raise RuntimeError("no light")


def notes_of(body: Any) -> list[str]:
    return [note.text for note in grounding._surroundings(body)]


class TestMadeUpDescriptions(ToolTest):
    def enter_desert(self) -> None:
        wilderness.create_wilderness(mapprovider=Desert())
        wilderness.enter_wilderness(self.ada, coordinates=(3, 4))

    def test_a_place_in_the_wilderness(self) -> None:
        """Nothing of it is stored in `db.desc`."""
        self.enter_desert()
        wanted = '"Dunes as far as (3, 4)."'
        assert f"It looks like this: {wanted}" in self.told("inspect_location")
        assert wanted == facts_of(self.ada, NOON)["location_desc"]
        assert any("unes as far as (3, 4)." in note for note in notes_of(self.ada))

    def test_a_step_in_the_wilderness(self) -> None:
        """Its ways lead back into the same room, which then shows another place."""
        self.enter_desert()
        self.ada.locks.remove("tool_move")
        assert 'now in "The wilderness (3, 5)"' in self.told("move", exit="north")
        self.ada.at_pre_move = lambda destination, **kwargs: False
        self.addCleanup(delattr, self.ada, "at_pre_move")
        wanted = 'you are still in "The wilderness (3, 5)"'
        assert wanted == self.refusal("move", exit="north")
        (way,) = (way for way in self.ada.location.exits if way.key == "south")
        way.locks.add("traverse:false()")
        assert "cannot go there" in self.refusal("move", exit="south")

    def test_a_room_of_the_seasons(self) -> None:
        room = create.create_object(ExtendedRoom, key="Orchard")
        for season in ("spring", "summer", "autumn", "winter"):
            room.add_desc("Trees in rows.", room_state=season)
        self.ada.location = room
        assert 'It looks like this: "Trees in rows."' in self.told("inspect_location")

    def test_a_detail_of_a_room(self) -> None:
        """Such a detail is no object, and an object of that name comes first."""
        for typeclass, add in ((ExtendedRoom, "add_detail"), (TutorialRoom, "set_detail")):
            with self.subTest(typeclass.__name__):
                self.ada.location = room = create.create_object(typeclass, key="Hall")
                getattr(room, add)("fireplace", "|rSoot|n lies in it.")
                assert "Soot lies in it." == self.told("look", target="fireplace")
                assert "a throne is not here" in self.refusal("look", target="a throne")
                create.create_object(Tree, key="fireplace", location=room)
                assert "It is very old." in self.told("look", target="fireplace")

    def test_a_room_that_sends_its_looks(self) -> None:
        self.ada.location = create.create_object(Stage, key="Stage")
        assert "A yellow curtain." == self.told("look")

    def test_what_somebody_wears(self) -> None:
        create.create_object(ClothedCharacter, key="Vera", location=self.room1)
        assert 'Vera (here): "Vera is wearing nothing."' == self.told(
            "search_objects", query="vera"
        )

    def test_a_description_of_the_class(self) -> None:
        tree = create.create_object(Tree, key="tree", location=self.room1)
        assert "It is very old." == description_of(tree, self.ada)

    def test_evennias_default_text_is_no_description(self) -> None:
        for thing in (self.room1, self.exit, self.obj1, self.mira):
            thing.db.desc = None
            assert "" == description_of(thing, self.ada), thing

    def test_the_default_text_counts_where_it_is_stored(self) -> None:
        self.obj1.db.desc = "You see nothing special."
        assert "You see nothing special." == description_of(self.obj1, self.ada)

    def test_a_method_of_the_game_that_breaks(self) -> None:
        """The stored text is used, so that no turn fails."""
        thing = create.create_object(Broken, key="lamp", location=self.room1)
        assert "" == description_of(thing, self.ada)
        thing.db.desc = "It |yglows|n."
        assert "It glows." == description_of(thing, self.ada)


class TestWhatIsHidden(ToolTest):
    """Nothing that the body cannot see reaches a prompt by another way."""

    def test_a_key_that_nobody_sees(self) -> None:
        lamp = create.create_object(ContribRPObject, key="cursed lamp", location=self.room1)
        lamp.sdesc.add("a brass lamp")
        lamp.db.desc = "It glows."
        notes = " ".join(notes_of(self.ada))
        assert "brass lamp: it glows." in notes
        assert "cursed" not in notes

    def test_where_a_way_leads_that_is_not_shown(self) -> None:
        self.room2.key = "Treasury"
        assert "From here one can go out to Treasury." in notes_of(self.ada)
        self.room2.locks.add("view:false()")
        assert "From here one can go out." in notes_of(self.ada)

    def test_who_and_which_way_is_hidden(self) -> None:
        facts = facts_of(self.ada, NOON)
        assert ("out", {"Mira", "Tom"}) == (facts["exits"], {*facts["present"].split(", ")})
        for hidden in (self.mira, self.exit):
            hidden.locks.add("view:false()")
        facts = facts_of(self.ada, NOON)
        assert ("", "Tom") == (facts["exits"], facts["present"])
