"""The choice of who answers, where several assistants hear a line."""

from typing import Any
from unittest import mock

import pytest
from django.test import override_settings
from evennia.utils import logger

from evennia_ai import operations
from evennia_ai.agent.answerers import LEFT
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import services, state
from tests.game.listening import HearingTest
from tests.game.support import pump

NOOP = completion(None, ("noop", {}))
SAYS = completion(None, ("say", {"message": "Well."}))


class AnswerersTest(HearingTest):
    """Ada, Brass and Cole stand in the room, and each would answer undirected speech."""

    def setUp(self) -> None:
        super().setUp()
        self.scripts = [self.ada_script, *(self.make(name)[0] for name in ("Brass", "Cole"))]
        for script in self.scripts:
            script.clock = self.clock
            state.write(script, room_messages="trigger")
            script.work.drop_cached_settings()
        self.forget()

    def say(self, line: str, answer: bytes = NOOP, person: Any = None) -> list[str]:
        """Type a line as a person (Tom). Returns the assistants that called their model."""
        before = [script.work.calls for script in self.scripts]
        self.model.answers.extend([answer] * 3)
        self.type(person or self.tom, line)
        self.model.answers.clear()
        pairs = zip(self.scripts, before, strict=True)
        return [script.key for script, count in pairs if script.work.calls > count]


class TestOpenLines(AnswerersTest):
    def test_one_answers(self) -> None:
        """The others overhear the line, and their records name the one they left it to."""
        assert ["Ada"] == self.say("say what a quiet evening")
        for script in self.scripts[1:]:
            assert ((LEFT, "to Ada"),) == self.records(script)[0].steps
            assert ["what a quiet evening"] == [each.body for each in script.work.overheard]

    def test_who_spoke_last_with_somebody_goes_on(self) -> None:
        assert ["Brass"] == self.say("say @brass hello")
        assert ["Cole"] == self.say("say @cole hello", person=self.mira)
        for _ in range(2):
            assert ["Brass"] == self.say("say and today?")
            assert ["Cole"] == self.say("say and today?", person=self.mira)

    def test_else_each_in_turn(self) -> None:
        """After the last conversation has ended, nobody is chosen twice before the others were."""
        chosen = []
        for _ in range(6):
            self.clock.advance(400)
            chosen += self.say("say hello")
        assert sorted(["Ada", "Brass", "Cole"]) == sorted(chosen[:3]) == sorted(chosen[3:])

    def test_a_line_that_calls_one_is_that_ones(self) -> None:
        """Being addressed counts more than having just spoken with the player."""
        assert ["Ada"] == self.say("say Ada, hello", SAYS)
        assert ["Cole"] == self.say("say Cole, and you?")
        assert ["Brass"] == self.say("say what do you think, Brass?")

    def test_a_line_that_calls_two_is_theirs(self) -> None:
        assert ["Ada", "Cole"] == self.say("say @ada @cole hello")

    def test_who_cannot_answer_does_not_take_the_place(self) -> None:
        operations.stop(self.ada_script, "test")
        operations.hush(self.scripts[1], self.tom, 10)
        assert ["Cole"] == self.say("say hello")

    def test_who_has_been_muted_does_not_either(self) -> None:
        state.mute(self.ada_script, self.person(self.tom), is_muted=True)
        assert ["Brass"] == self.say("say hello")

    def test_two_lines_at_once_are_two(self) -> None:
        self.model.answers.extend([NOOP] * 6)
        for words in ("hello", "is anybody here?"):
            self.tom.execute_cmd(f"say {words}")
        pump()
        assert 2 == len(self.model.bodies)

    def test_two_people_who_say_the_same_are_two(self) -> None:
        self.model.answers.extend([NOOP] * 6)
        for person in (self.tom, self.mira):
            person.execute_cmd("say hello")
        pump()
        assert 2 == len(self.model.bodies)

    def test_bots_do_not_answer_each_other(self) -> None:
        assert ["Ada"] == self.say("say good evening", SAYS)
        assert 1 == len(self.model.bodies)

    def test_a_restart_in_the_moment_loses_nothing_else(self) -> None:
        """If the chosen assistant is restarted before the choice is made, another one answers."""
        self.model.answers.append(NOOP)
        self.tom.execute_cmd("say hello")
        self.restart()
        assert [0, 1] == [script.work.calls for script in self.scripts[:2]]

    def test_whispers_are_no_matter_of_this(self) -> None:
        assert ["Brass"] == self.say("whisper Brass = hello")
        assert ["Ada"] == self.say("whisper Ada = hello")


class TestHowMany(AnswerersTest):
    @override_settings(EVENNIA_AI_ANSWERS_PER_LINE=2)
    def test_two(self) -> None:
        assert ["Ada", "Brass"] == self.say("say hello")
        self.clock.advance(400)
        assert "Cole" in self.say("say hello")

    @override_settings(EVENNIA_AI_ANSWERS_PER_LINE=0)
    def test_0_is_no_limit(self) -> None:
        assert ["Ada", "Brass", "Cole"] == self.say("say hello")

    def test_a_room_has_its_own(self) -> None:
        self.room1.db.ai_answers_per_line = 2
        self.addCleanup(self.room1.attributes.remove, "ai_answers_per_line")
        assert 2 == len(self.say("say hello"))

    def test_what_makes_no_sense_is_logged_and_one_answers(self) -> None:
        self.room1.db.ai_answers_per_line = "all"
        self.addCleanup(self.room1.attributes.remove, "ai_answers_per_line")
        with mock.patch.object(logger, "log_err") as logged:
            assert 1 == len(self.say("say hello"))
        (line,) = {call.args[0] for call in logged.call_args_list}
        for part in (self.room1.key, "db.ai_answers_per_line is 'all'", "from 0 up"):
            assert part in line

    @override_settings(EVENNIA_AI_ANSWERS_PER_LINE=-1)
    def test_the_games_is_checked_at_the_start(self) -> None:
        with pytest.raises(ConfigurationError, match="EVENNIA_AI_ANSWERS_PER_LINE is -1"):
            services.check_settings()


class TestOtherWays(AnswerersTest):
    def test_a_channel(self) -> None:
        bodies = [script.obj for script in self.scripts[1:]]
        channel = self.channel("Public", *bodies, self.tom)
        for script in self.scripts:
            state.write(script, channel_configs={"Public": "trigger"})
            script.work.drop_cached_settings()
        self.model.answers.extend([NOOP] * 9)
        for words, count in (("hello", 1), ("Brass, hello", 2), ("@cole hello", 3)):
            channel.msg(words, senders=self.account)
            pump()
            assert count == len(self.model.bodies)
        assert [1, 1] == [script.work.calls for script in self.scripts[1:]]

    def test_those_who_need_not_call_it(self) -> None:
        """A player with a trigger permission is answered by one, too."""
        for script in self.scripts:
            state.write(script, room_messages="ignore", trigger_permissions=("Developer",))
            script.work.drop_cached_settings()
        assert 1 == len(self.say("say hello"))

    def test_a_talk_that_goes_on_with_two(self) -> None:
        """Two assistants were addressed and answered; only one of them goes on."""
        for script in self.scripts:
            hearing = state.read(script, "hearing_config") | {"engagement_seconds": 60}
            state.write(script, room_messages="ignore", hearing_config=hearing)
            script.work.drop_cached_settings()
        assert ["Ada", "Brass"] == self.say("say @ada @brass hello", SAYS)
        assert 1 == len(self.say("say and then?"))
