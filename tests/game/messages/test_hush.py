"""`hush`: players ask an assistant to be quiet in a room."""

from typing import Any

import pytest

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.errors import ToolDeniedError
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.support import pump, says, whispers
from tests.recorded import record_of

NOOP = completion(None, ("noop", {}))
NODS = "Ada nods and is quiet here for ten minutes."


class HushTest(HearingTest):
    cmdsets = (AssistantCmdSet,)

    def setUp(self) -> None:
        super().setUp()
        self.recorded = record_of(self)
        self.forget()

    def told(self, person: Any, line: str) -> str:
        self.forget()
        self.type(person, line)
        return person.seen[-1] if person.seen else ""

    def hush(self, minutes: int = 10) -> None:
        assert operations.hush(self.ada_script, self.mira, minutes).ok


class TestCommand(HushTest):
    def test_what_is_typed_and_what_the_room_sees(self) -> None:
        for line, shown in (
            ("hush ada", NODS),
            ("hush ADA 1", "Ada nods and is quiet here for a minute."),
            ("hush 45", "Ada nods and is quiet here for 45 minutes."),
            ("hush ada off", "Ada looks up, free to speak here again."),
            ("hush", NODS),
            ("unhush ada", "Ada looks up, free to speak here again."),
            ("hush ada 60", "Ada nods and is quiet here for 60 minutes."),
            ("hush off", "Ada looks up, free to speak here again."),
            ("hush Ada for 5 minutes", "Ada nods and is quiet here for five minutes."),
            ("hush for 12 min", "Ada nods and is quiet here for 12 minutes."),
        ):
            with self.subTest(line=line):
                assert shown == self.told(self.mira, line)
                assert [shown] == self.tom.heard_from(self.ada)

    def test_what_makes_no_sense_is_said(self) -> None:
        for line, shown in (
            ("hush ada 0", "You can hush for 1 to 60 minutes at a time, not 0."),
            ("hush ada 61", "You can hush for 1 to 60 minutes at a time, not 61."),
            ("unhush", "Ada is not hushed here."),
            ("hush edda 5", "No assistant named edda is here. Here are: Ada."),
            (
                "hush ada 1234567890",
                "You can hush for 1 to 60 minutes at a time, not 1234567890.",
            ),
            ("hush ada -5", "You can hush for 1 to 60 minutes at a time, not -5."),
            ("hush ada |rlong", "You can hush for 1 to 60 minutes at a time, not |rlong."),
        ):
            with self.subTest(line=line):
                assert shown == self.told(self.mira, line)
        self.mira.location = self.room2
        assert "No assistant is here." == self.told(self.mira, "hush ada")
        assert "Ada is not here." == operations.hush(self.ada_script, self.mira).message

    def test_of_several_one_is_named(self) -> None:
        brass_script, brass = self.make("Brass")
        brass.aliases.add("the golem")
        asked = "Which one? Here are: Ada, Brass. Type for example: hush Ada"
        assert asked == self.told(self.mira, "hush 5")
        line = self.told(self.mira, "hush the golem 2")
        assert "Brass nods and is quiet here for two minutes." == line
        assert outgoing.is_hushed(brass_script, self.room1)
        assert not outgoing.is_hushed(self.ada_script, self.room1)

    def test_the_beginning_of_a_name_is_enough(self) -> None:
        script, _ = self.make("Otto Gray")
        for begun in ("otto", "ott 5", "gray"):
            with self.subTest(begun=begun):
                assert "Otto Gray nods" in self.told(self.mira, f"hush {begun}")
                assert outgoing.is_hushed(script, self.room1)
                assert "Otto Gray" in self.told(self.mira, "unhush otto")
        self.make("Otto Black")
        assert self.told(self.mira, "hush otto").startswith("Which one? Here are: ")

    def test_a_name_may_look_like_an_argument(self) -> None:
        script, _ = self.make("Seven 7")
        assert "Seven 7 nods" in self.told(self.mira, "hush seven 7")
        assert outgoing.is_hushed(script, self.room1)

    def test_the_lock_decides(self) -> None:
        self.ada.locks.add("hush:perm(Builder)")
        for line in ("hush ada", "unhush ada"):
            assert "You may not decide when Ada speaks." == self.told(self.mira, line)
        assert ({}, []) == (state.read(self.ada_script, "hushed"), self.recorded)
        assert NODS == self.told(self.tom, "hush ada")

    def test_both_are_recorded(self) -> None:
        self.type(self.mira, "hush ada 3")
        self.type(self.tom, "unhush ada")
        room, mira, tom = self.room1.dbref, self.mira.key, self.tom.key
        assert [
            ("hushed", "Ada", {"via": "game", "room": room, "minutes": 3, "by": mira}),
            ("unhushed", "Ada", {"via": "game", "room": room, "by": tom}),
        ] == self.recorded


class TestQuiet(HushTest):
    def test_open_speech_is_not_answered(self) -> None:
        self.set(trigger_permissions=("all()",), room_messages="trigger")
        self.hush()
        for line in ("say @ada hello", "say what a day", "pose nods to @ada."):
            self.type(self.tom, line)
            assert "hushed" == self.steps()[0], line
        assert ([], []) == (self.waiting(), self.model.bodies)
        assert 3 == len(self.ada_script.work.overheard)

    def test_who_addressed_her_is_told_once_a_minute(self) -> None:
        self.hush()
        self.forget()
        for _ in range(3):
            self.type(self.tom, "say @ada hello")
        assert ["Ada keeps a finger on closed lips."] == self.tom.heard_from(self.ada)
        assert [] == self.mira.heard_from(self.ada)
        self.clock.advance(60)
        self.type(self.tom, "say @ada hello")
        assert 2 == len(self.tom.heard_from(self.ada))

    def test_whispers_and_channels_go_on(self) -> None:
        public = self.channel()
        self.set(channel_configs={"Public": "trigger"})
        self.hush()
        self.forget()
        self.ask("whisper Ada = hello", whispers("Psst."))
        assert ['Ada whispers: "Psst."'] == self.tom.heard_from(self.ada)
        reply = completion(None, ("channel", {"channel": "Public", "message": "Hello."}))
        self.model.answers.append(reply)
        public.msg("hello", senders=self.account)
        pump()
        assert 2 == len(self.model.bodies)
        self.ask("page Ada = hello", completion(None, ("page", {"target": "Tom", "message": "Hm"})))
        assert 3 == len(self.model.bodies)

    def test_her_tools_refuse_the_room(self) -> None:
        self.hush()
        self.set(private_words="free")
        for tool in (("say", {"message": "Hello!"}), ("emote", {"action": "shouts."})):
            self.forget()
            self.ask("whisper Ada = hello", completion(None, tool), whispers("Psst."))
            text = self.prompt()
            assert "you were asked to be quiet here" in text
            assert ['Ada whispers: "Psst."'] == self.tom.heard_from(self.ada)
            assert [] == self.mira.heard_from(self.ada)
        with pytest.raises(ToolDeniedError):
            outgoing.say(self.ada, "hello", hops=1)

    def test_her_thinking_is_not_shown(self) -> None:
        """Even an answer to a whisper shows no thinking in the room."""
        self.hush()
        self.forget()
        self.type(self.tom, "whisper Ada = hello")
        self.clock.advance(30)
        assert [] == self.tom.heard_from(self.ada)

    def test_elsewhere_she_speaks(self) -> None:
        self.hush()
        for being in (self.ada, self.tom):
            being.location = self.room2
        self.forget()
        self.ask("say @ada hello", says("Hello."))
        assert ['Ada says, "Hello."'] == self.tom.heard_from(self.ada)
        self.ada.location = None
        assert not outgoing.is_hushed(self.ada_script, self.ada.location)


class TestUnderWay(HushTest):
    """Turns that began before the hush."""

    def test_a_turn_that_answers_the_room_is_dropped(self) -> None:
        """The model call is cancelled and counts as no error."""
        self.type(self.tom, "say @ada hello")
        self.type(self.tom, "say @ada again")
        assert 1 == len(self.model.waiting)
        self.type(self.mira, "hush ada")
        pump()
        assert ([], []) == (self.model.waiting, self.waiting())
        assert "hushed" in self.steps()
        assert [NODS] == self.tom.heard_from(self.ada)
        assert 0 == state.read(self.ada_script, "consecutive_errors")

    def test_a_turn_for_a_whisper_goes_on(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.mira, "hush ada")
        self.model_answers(whispers("Psst."))
        assert 'Ada whispers: "Psst."' == self.tom.heard_from(self.ada)[-1]

    def test_an_act_of_her_own_is_dropped(self) -> None:
        """The act might be speech in the room."""
        self.set(autonomy_config={"seconds": 10})
        self.ada_script.at_repeat()
        operations.add_goal(self.ada_script, "find the atlas")
        self.ada_script.at_repeat()
        self.fire_timer(11)
        assert 1 == len(self.model.waiting)
        self.hush()
        pump()
        assert [] == self.model.waiting

    def test_a_talk_ends(self) -> None:
        config = state.read(self.ada_script, "hearing_config")
        self.set(hearing_config={**config, "engagement_seconds": 600})
        self.ask("say @ada hello", says("Hello."))
        self.type(self.mira, "hush ada 1")
        self.type(self.mira, "unhush ada")
        self.type(self.tom, "say and then?")
        assert "7 default ignore" == self.judged()


class TestEnd(HushTest):
    def test_it_lifts_by_itself(self) -> None:
        self.hush(10)
        self.clock.advance(599)
        self.type(self.tom, "say @ada hello")
        assert "hushed" in self.steps()
        self.clock.advance(1)
        self.forget()
        self.ask("say @ada hello", says("Hello."))
        assert ['Ada says, "Hello."'] == self.tom.heard_from(self.ada)

    def test_it_outlasts_a_restart(self) -> None:
        self.hush(10)
        self.restart()
        self.type(self.tom, "say @ada hello")
        assert "hushed" in self.steps()
        self.clock.advance(600)
        self.restart()
        assert not outgoing.is_hushed(self.ada_script, self.room1)

    def test_what_is_over_is_not_kept(self) -> None:
        self.hush(1)
        self.clock.advance(60)
        assert not outgoing.is_hushed(self.ada_script, self.room1)
        assert {} == self.ada_script.work.hushed
        for being in (self.ada, self.mira):
            being.location = self.room2
        self.hush(1)
        assert [self.room2.dbref] == list(state.read(self.ada_script, "hushed"))

    def test_to_look_costs_no_statement(self) -> None:
        """The check runs for every line of speech in the room."""
        self.hush()
        room = self.ada.location
        with self.assertNumQueries(0):
            assert outgoing.is_hushed(self.ada_script, room)
            assert not outgoing.is_hushed(self.ada_script, self.room2)
            assert not outgoing.is_hushed(None, room)
