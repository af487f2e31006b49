"""Moving, taking, dropping and giving, under the same locks and hooks as a player."""

from typing import Any
from unittest import mock

from evennia.contrib.grid.slow_exit.slow_exit import SlowExit
from evennia.objects.objects import DefaultExit, DefaultObject
from evennia.server.signals import SIGNAL_EXIT_TRAVERSED
from evennia.utils import create

from evennia_ai.runtime import state
from tests.game.people import Person
from tests.game.tools.tool_case import ToolTest


class Thing(DefaultObject):
    """A thing that notes which hooks are called, and refuses those in `ndb.refused`."""

    def _note(self, hook: str) -> bool:
        self.ndb.hooks = [*(self.ndb.hooks or ()), hook]
        return hook not in (self.ndb.refused or ())

    def at_pre_get(self, getter: Any, **kwargs: Any) -> bool:
        return self._note("at_pre_get")

    def at_get(self, getter: Any, **kwargs: Any) -> None:
        self._note("at_get")

    def at_pre_drop(self, dropper: Any, **kwargs: Any) -> bool:
        return super().at_pre_drop(dropper, **kwargs) and self._note("at_pre_drop")

    def at_drop(self, dropper: Any, **kwargs: Any) -> None:
        self._note("at_drop")

    def at_pre_give(self, giver: Any, getter: Any, **kwargs: Any) -> bool:
        return self._note("at_pre_give")

    def at_give(self, giver: Any, getter: Any, **kwargs: Any) -> None:
        self._note("at_give")

    def at_pre_move(self, destination: Any, move_type: str = "move", **kwargs: Any) -> bool:
        return self._note(f"at_pre_move {move_type}")


class ToldExit(DefaultExit):
    """An exit that explains itself when it is closed."""

    def at_failed_traverse(self, traversing_object: Any, **kwargs: Any) -> None:
        traversing_object.msg("The door is |rjammed|n.")


class TestMove(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.room1.key, self.room2.key = "Reading Room", "Gallery"
        self.ada.locks.remove("tool_move")
        self.passed: list[Any] = []
        SIGNAL_EXIT_TRAVERSED.connect(self.note)
        self.addCleanup(SIGNAL_EXIT_TRAVERSED.disconnect, self.note)

    def test_she_stays_until_she_may_leave(self) -> None:
        script, _ = self.make("Edda")
        assert not script.obj.access(script.obj, "tool_move", default=True)

    def note(self, sender: Any, traverser: Any, **kwargs: Any) -> None:
        self.passed.append((sender, traverser))

    def test_through_an_exit(self) -> None:
        self.exit.aliases.add("door")
        for name in ("out", "OUT ", "door", "gallery"):
            with self.subTest(name):
                self.ada.location = self.room1
                self.forget()
                expected = "you went out and are now in Gallery"
                assert expected == self.told("move", exit=name)
                assert self.room2 == self.ada.location
                assert ["Ada is leaving Reading Room, heading for Gallery."] == self.tom.seen
                assert [(self.exit, self.ada)] == self.passed[-1:]

    def test_there_is_no_such_way(self) -> None:
        assert "up is not a way out; there are: out" == self.refusal("move", exit="up")
        self.exit.locks.add("view:false()")
        assert "out is not a way out; there are: none" == self.refusal("move", exit="out")

    def test_an_exit_goes_before_a_place_of_its_name(self) -> None:
        """Two ways to one place are told apart by name only."""
        other = create.create_object(
            DefaultExit, key="Gallery", location=self.room1, destination=self.room1
        )
        expected = "you went Gallery and are now in Reading Room"
        assert expected == self.told("move", exit="Gallery")
        other.key, other.destination = "in", self.room2
        assert "there are: out, in" in self.refusal("move", exit="Gallery")

    def test_a_closed_exit_stays_closed(self) -> None:
        self.exit.locks.add("traverse:false()")
        assert 'the game says "You cannot go there."' == self.refusal("move", exit="out")
        self.exit.db.err_traverse = 'It is "locked".'
        assert 'the game says "It is \\"locked\\"."' == self.refusal("move", exit="out")
        del self.exit.db.err_traverse
        self.exit.swap_typeclass(ToldExit, run_start_hooks="")
        self.exit.locks.add("traverse:false()")
        assert 'the game says "The door is jammed."' == self.refusal("move", exit="out")
        assert self.room1 == self.ada.location
        assert [] == [passed for passed in self.passed if passed[1] == self.ada]

    def test_an_exit_that_takes_its_time(self) -> None:
        """With Evennia's `slow_exit` the step comes seconds later, which is no refusal."""
        self.exit.swap_typeclass(SlowExit, run_start_hooks="")
        with mock.patch("evennia.contrib.grid.slow_exit.slow_exit.utils.delay") as delay:
            text = self.told("move", exit="out")
            assert "you are on your way through out, and will be there in some seconds" == text
            self.exit.locks.add("traverse:false()")
            assert 'the game says "You cannot go there."' == self.refusal("move", exit="out")
        assert self.room1 == self.ada.location
        delay.call_args.args[1]()
        assert self.room2 == self.ada.location

    def test_an_exit_that_leads_nowhere_new(self) -> None:
        self.room2.at_pre_object_receive = lambda *args, **kwargs: False
        self.addCleanup(delattr, self.room2, "at_pre_object_receive")
        assert 'the game says "You cannot go there."' == self.refusal("move", exit="out")

    def test_a_body_that_nobody_moves_may_use_tools_too(self) -> None:
        """A game's own code may drive such a body; what it is told, nobody hears."""
        self.ada = create.create_object(Person, key="Golem", location=self.room1)
        self.exit.locks.add("traverse:false()")
        assert "you are still in Reading Room" == self.refusal("move", exit="out")


class Handling(ToolTest):
    """A test case with a lamp in the room."""

    def setUp(self) -> None:
        super().setUp()
        self.lamp = create.create_object(Thing, key="lamp", location=self.room1)
        self.lamp.ndb.hooks = []

    def refuse(self, *hooks: str) -> None:
        self.lamp.ndb.refused, self.lamp.ndb.hooks = hooks, []


class TestGet(Handling):
    """`get`, compared with the game's own command."""

    def test_a_thing_is_picked_up(self) -> None:
        self.tom.execute_cmd("get lamp")
        by_hand, seen = self.lamp.ndb.hooks, [line.replace("Tom", "Ada") for line in self.mira.seen]
        self.lamp.location, self.lamp.ndb.hooks = self.room1, []
        self.forget()
        assert "you have lamp now" == self.told("get", item="lamp")
        assert self.ada == self.lamp.location
        assert ["at_pre_get", "at_pre_move get", "at_get"] == by_hand == self.lamp.ndb.hooks
        assert ["Ada picks up a lamp."] == seen == self.mira.seen

    def test_what_is_done_is_marked_as_an_assistants(self) -> None:
        """Otherwise a thing called @Brass could make another assistant answer for ever."""
        self.told("get", item="lamp")
        options = self.mira.messages[0].options
        assert (2, True, "get") == (
            options["assistant_hops"],
            options["assistant_message"],
            options["type"],
        )

    def test_a_name_is_shown_as_it_is(self) -> None:
        self.lamp.key = "{actor} $You()"
        self.told("get", item="{actor} $You()")
        assert "Ada picks up a {actor} $You()." in self.mira.seen

    def test_one_of_several_that_are_alike(self) -> None:
        """Like the game's own command; of different things with one name somebody has to choose."""
        more = [create.create_object(Thing, key="lamp", location=self.room1) for _ in range(2)]
        for _ in range(2):
            assert "you have lamp now" == self.told("get", item="lamp")
        assert [self.lamp, more[0]] == [thing for thing in self.ada.contents if thing.key == "lamp"]
        assert "you gave lamp to Tom" == self.told("give", item="lamp", target="Tom")
        assert "you dropped lamp" == self.told("drop", item="lamp")
        create.create_object(DefaultObject, key="lamp", location=self.room1)
        assert self.refusal("get", item="lamp").startswith("there are several named lamp")

    def test_what_may_not_be_got(self) -> None:
        self.refuse("at_pre_get")
        assert "you cannot get lamp" == self.refusal("get", item="lamp")
        self.refuse("at_pre_move get")
        assert "lamp cannot be picked up" == self.refusal("get", item="lamp")
        self.refuse()
        self.lamp.locks.add("get:false()")
        assert "you cannot get lamp" == self.refusal("get", item="lamp")
        self.lamp.db.get_err_msg = "It is nailed down."
        assert 'the game says "It is nailed down."' == self.refusal("get", item="lamp")
        assert [] == self.lamp.ndb.hooks
        assert "you cannot get Tom" == self.refusal("get", item="Tom")
        assert "you cannot pick yourself up" == self.refusal("get", item="Ada")
        assert "axe is not here; here are: out" in self.refusal("get", item="axe")
        assert self.room1 == self.lamp.location

    def test_what_is_hidden_or_carried_cannot_be_got(self) -> None:
        self.lamp.locks.add("search:false()")
        assert "lamp is not here" in self.refusal("get", item="lamp")
        self.lamp.locks.add("search:all()")
        self.lamp.location = self.tom
        assert "lamp is not here" in self.refusal("get", item="lamp")


class TestDrop(Handling):
    """`drop`, compared with the game's own command."""

    def test_a_thing_is_put_down(self) -> None:
        self.lamp.location = self.tom
        self.tom.execute_cmd("drop lamp")
        by_hand, seen = self.lamp.ndb.hooks, [line.replace("Tom", "Ada") for line in self.mira.seen]
        self.lamp.location, self.lamp.ndb.hooks = self.ada, []
        self.forget()
        assert "you dropped lamp" == self.told("drop", item="lamp")
        assert self.room1 == self.lamp.location
        assert ["at_pre_drop", "at_pre_move drop", "at_drop"] == by_hand == self.lamp.ndb.hooks
        assert ["Ada drops a lamp."] == seen == self.mira.seen

    def test_what_may_not_be_dropped(self) -> None:
        """The lock's own message is passed on."""
        expected = "lamp is not among what you carry: nothing"
        assert expected == self.refusal("drop", item="lamp")
        self.lamp.location = self.ada
        self.refuse("at_pre_drop")
        assert "you cannot drop lamp" == self.refusal("drop", item="lamp")
        self.refuse("at_pre_move drop")
        assert "lamp cannot be dropped" == self.refusal("drop", item="lamp")
        self.refuse()
        self.lamp.locks.add("drop:false()")
        assert "You cannot drop lamp" in self.refusal("drop", item="lamp")
        assert self.ada == self.lamp.location


class TestGive(Handling):
    """`give`, compared with the game's own command."""

    def test_a_thing_changes_hands(self) -> None:
        self.lamp.location = self.tom
        self.tom.execute_cmd("give lamp = Mira")
        by_hand, seen = self.lamp.ndb.hooks, [line.replace("Tom", "Ada") for line in self.mira.seen]
        self.lamp.location, self.lamp.ndb.hooks = self.ada, []
        self.forget()
        assert "you gave lamp to Mira" == self.told("give", item="lamp", target="Mira")
        assert self.mira == self.lamp.location
        assert ["at_pre_give", "at_pre_move give", "at_give"] == by_hand == self.lamp.ndb.hooks
        assert ["Ada gives you a lamp."] == seen == self.mira.seen
        assert [] == self.tom.seen

    def test_what_may_not_be_given(self) -> None:
        assert "not among what you carry" in self.refusal("give", item="lamp", target="Mira")
        self.lamp.location = self.ada
        self.refuse("at_pre_give")
        expected = "you cannot give lamp to Mira"
        assert expected == self.refusal("give", item="lamp", target="Mira")
        self.refuse("at_pre_move give")
        expected = "you could not give lamp to Mira"
        assert expected == self.refusal("give", item="lamp", target="Mira")
        assert self.ada == self.lamp.location

    def test_who_takes_nothing(self) -> None:
        self.lamp.location = self.ada
        for target, expected in (
            ("Ada", "you have it already; name whom you give it to"),
            ("here", "a room takes nothing; drop it instead"),
            ("Eve", "Eve is not here; here are: out, Obj, Obj2, Tom, Mira, lamp"),
        ):
            with self.subTest(target):
                assert expected == self.refusal("give", item="lamp", target=target)
        state.mute(self.ada_script, f"*#{self.account2.id}", is_muted=True)
        expected = "Mira wants nothing from you; leave them be"
        assert expected == self.refusal("give", item="lamp", target="Mira")
        assert self.ada == self.lamp.location
