"""`build_world`: what it makes, mends and leaves alone."""

import pytest
from django.conf import settings
from django.test import override_settings
from evennia.commands.default.general import CmdGet, CmdLook
from evennia.scripts.models import ScriptDB
from evennia.utils.create import create_object
from evennia.utils.search import search_object_by_tag
from evennia.utils.test_resources import EvenniaCommandTestMixin, EvenniaTest
from evennia.utils.utils import inherits_from

from evennia_ai.operations import create_assistant, find_assistant
from evennia_ai.operations.assistants.lifecycle import delete_assistant
from evennia_ai.operations.memory.lore import list_lore
from tests.world.support import LibraryTest, count_objects, find
from world.blueprint import Place, Thing
from world.build import CATEGORY, build_world
from world.characters import Character
from world.library import PLACES, START
from world.lore import LORE
from world.residents import RESIDENTS
from world.rooms import Detail, Room


class TestFirstBuild(LibraryTest):
    def test_limbo_becomes_the_start(self) -> None:
        """New characters start in the Reading Room, the room that the settings name."""
        start = find(START)
        assert settings.START_LOCATION == start.dbref
        assert "The Reading Room" == start.key
        assert inherits_from(start, Room)

    def test_nobody_stands_about_asleep(self) -> None:
        """The superuser's character waits offstage until it is played, then stands at the start."""
        body = create_object(Character, key="admin", location=self.room1)
        find(START).tags.remove(START, category=CATEGORY)
        body.location = self.room2
        build_world()
        assert body.location is None
        body.at_pre_puppet(self.account)
        assert self.room2 == body.location

    def test_everything_written_is_built(self) -> None:
        for place in PLACES:
            room = find(place.key)
            assert place.desc == room.db.desc
            for thing in (*place.details, *place.things):
                assert room == find(f"{place.key}/{thing.name}").location
        for resident in RESIDENTS:
            assert find(resident.place) == find(resident.name).location

    def test_the_owner_may_be_called_like_them(self) -> None:
        """An alias that a player has is left out, and so is a resident of a player's name."""
        for resident in RESIDENTS:
            delete_assistant(find_assistant(resident.name))
        first, second = RESIDENTS[:2]
        self.char1.key = first.aliases[0]
        self.char2.key = second.name
        self.report = build_world()
        assert first.aliases[0] not in find(first.name).aliases.all()
        assert f"{second.name} is not there: There is a character named" in self.report
        self.char2.key = "Somebody"
        assert "is not there" not in build_world()
        assert find(second.name).location == find(second.place)

    def test_every_exit_has_a_way_back(self) -> None:
        exits = [way for place in PLACES for way in find(place.key).exits]
        assert 2 * sum(len(place.ways) for place in PLACES) == len(exits)
        assert all(way.get_return_exit() is not None for way in exits)

    def test_every_room_can_be_reached(self) -> None:
        seen, ahead = set(), [find(START)]
        while ahead:
            room = ahead.pop()
            seen.add(room)
            ahead += [way.destination for way in room.exits if way.destination not in seen]
        assert {find(place.key) for place in PLACES} == seen

    def test_the_report_is_one_sentence(self) -> None:
        assert self.report.startswith("The Lantern Library has 5 rooms and 2 assistants (made")

    def test_residents_know_who_they_are(self) -> None:
        for resident in RESIDENTS:
            script = find_assistant(resident.name)
            assert find(resident.name) == script.obj
            assert resident.briefing == script.db.persona
            assert list(resident.thinking) == script.db.thinking_lines
            assert resident.failure == script.db.failure_line

    def test_lore_is_written_down_once(self) -> None:
        build_world()
        texts = [row["text"] for row in list_lore().data.lore]
        assert sorted(entry.text for entry in LORE) == sorted(texts)

    def test_residents_keep_their_post_and_home(self) -> None:
        for resident in RESIDENTS:
            assert resident.post == find(resident.name).db.post
            assert find(resident.place) == find(resident.name).home


class TestBuildAgain(LibraryTest):
    def test_twice_does_no_harm(self) -> None:
        before = count_objects(), ScriptDB.objects.count()
        assert "nothing was missing" in build_world()
        assert before == (count_objects(), ScriptDB.objects.count())

    def test_a_deleted_detail_is_repaired(self) -> None:
        before = count_objects()
        find("reading_room/card index").delete()
        assert "made now: 1" in build_world()
        assert before == count_objects()
        assert find("reading_room") == find("reading_room/card index").location

    def test_a_deleted_exit_is_repaired(self) -> None:
        find("reading_room/north").delete()
        build_world()
        assert find("north_gallery") == find("reading_room/north").destination

    def test_a_deleted_resident_is_repaired(self) -> None:
        find("Brass").delete()
        build_world()
        assert find("workshop") == find("Brass").location

    def test_a_namesake_is_left_alone(self) -> None:
        """An assistant made by hand keeps its name, its place and its looks."""
        delete_assistant(find_assistant("Brass"))
        result = create_assistant("Brass", location=find("lamp_room"), desc="A door knocker.")
        assert "nothing was missing" in build_world(reset_descriptions=True)
        brass = result.data.character
        assert (find("lamp_room"), "A door knocker.") == (brass.location, brass.db.desc)

    def test_a_deleted_room_calls_back_what_it_held(self) -> None:
        """Its exits, details and assistant are there again, none of them doubled."""
        before = count_objects()
        find("workshop").delete()
        build_world()
        workshop = find("workshop")
        assert before == count_objects()
        assert workshop == find("Brass").location == find("workshop/bench").location
        assert workshop == find("Brass").home == find("reading_room/east").destination

    def test_builders_changes_stay(self) -> None:
        room, mouse = find("lamp_room"), find("workshop/wind-up mouse")
        room.db.desc, room.key = "Fog.", "The Fog Room"
        mouse.location = self.char1
        build_world()
        assert ("Fog.", "The Fog Room") == (room.db.desc, room.key)
        assert self.char1 == mouse.location

    def test_descriptions_are_put_back_when_asked(self) -> None:
        """Names stay as they are."""
        room, ada = find("lamp_room"), find("Ada")
        room.db.desc, room.key, ada.db.desc = "Fog.", "The Fog Room", "Fog."
        build_world(reset_descriptions=True)
        written = next(place.desc for place in PLACES if place.key == "lamp_room")
        assert (written, "The Fog Room") == (room.db.desc, room.key)
        assert "AN AI" in ada.db.desc


class TestRefusals(EvenniaTest):
    @override_settings(START_LOCATION="#4711")
    def test_a_game_never_started_is_named(self) -> None:
        before = count_objects()
        with pytest.raises(RuntimeError, match=r"#4711 does not exist yet: start the game once"):
            build_world()
        assert before == count_objects()
        assert not search_object_by_tag(category=CATEGORY)


class TestDetails(EvenniaCommandTestMixin, LibraryTest):
    """Details are found by stock commands, and by an assistant's tools, without further help."""

    def test_every_name_finds_one_thing(self) -> None:
        for place in PLACES:
            for thing in (*place.details, *place.things):
                self._check_names(place, thing)

    def _check_names(self, place: Place, thing: Thing) -> None:
        self.char1.location = find(place.key)
        expected = find(f"{place.key}/{thing.name}")
        for name in (thing.name, *thing.aliases):
            assert [expected] == self.char1.search(name, quiet=True), (place.key, name)

    def test_a_resident_is_found_by_its_names(self) -> None:
        for resident in RESIDENTS:
            self.char1.location = find(resident.place)
            for name in (resident.name.lower(), *resident.aliases):
                assert [find(resident.name)] == self.char1.search(name, quiet=True)

    def test_an_assistant_can_look_closer(self) -> None:
        ada = find("Ada")
        assert "third case" in ada.at_look(ada.search("card index"))

    def test_a_player_can_look_closer(self) -> None:
        self.char2.location = find("workshop")
        for name in ("bench", "flat book"):
            self.call(CmdLook(), name, "bench\nSprings, jewels, half", caller=self.char2)

    def test_a_detail_cannot_be_taken(self) -> None:
        self.char2.location = room = find("workshop")
        self.call(CmdGet(), "bench", "It belongs where it is.", caller=self.char2)
        self.call(CmdGet(), "mouse", "You pick up a wind-up mouse", caller=self.char2)
        assert room == find("workshop/bench").location

    def test_a_detail_is_not_listed(self) -> None:
        seen = find("workshop").return_appearance(self.char1)
        listed = seen.split("You see:")[1]
        assert "wind-up mouse" in listed
        assert "bench" not in listed

    def test_a_builder_makes_one_in_the_game(self) -> None:
        """A `Detail` made outside the entries behaves like those made from them."""
        wall = create_object(Detail, key="sea wall", location=find("workshop"))
        assert not wall.access(self.char2, "get")
        assert "sea wall" not in find("workshop").return_appearance(self.char2)
