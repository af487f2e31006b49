"""`can_act`: while the game does not let its body act, an assistant does nothing."""

from typing import Any
from unittest import mock

import pytest
from evennia.utils import logger
from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.assistant_character import give_ears
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.errors import ToolDeniedError
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.operations import execute_tool
from evennia_ai.runtime import ability, state
from evennia_ai.runtime.ability import UNABLE_LINE
from tests.game.game_npcs import Faulty, Guard
from tests.game.listening import HearingTest
from tests.game.support import pump, says, whispers

DEAD = "Bram lies dead on the ground."


class AbilityTest(HearingTest):
    """Bram, an adopted guard with hit points."""

    def setUp(self) -> None:
        super().setUp()
        self.tom.cmdset.add(AssistantCmdSet)
        self.bram: Any = create_object(Guard, key="Bram", location=self.room1, home=self.room1)
        self.script = operations.adopt(self.bram, person=self.tom).data.script
        self.answer_at_once(self.script)

    def kill(self) -> None:
        """Take all of Bram's hit points."""
        self.bram.at_damage(self.bram.hp)

    def beat(self) -> None:
        """Fire the timer, and run everything that is due."""
        self.script.at_repeat()
        pump()

    def told(self, person: Any = None) -> int:
        """The number of times that somebody (Tom) was told that Bram is dead."""
        return int((person or self.tom).seen.count(DEAD))


class TestUnable(AbilityTest):
    def test_whispers_are_answered_by_the_game_once(self) -> None:
        """No model call is made; each person who asks is told once, until he recovers."""
        self.kill()
        for line in ("whisper bram = hello", "say Bram, hello", "whisper bram = hello?"):
            self.type(self.tom, line)
        self.type(self.mira, "whisper bram = hello")
        self.beat()
        self.type(self.tom, "whisper bram = hello!")
        assert (1, 1, 0) == (self.told(), self.told(self.mira), len(self.model.bodies))
        self.bram.heal(3)
        self.beat()
        self.ask("whisper bram = hello", whispers("What hit me?"))
        assert 'Bram whispers: "What hit me?"' in self.tom.heard_from(self.bram)
        self.kill()
        self.type(self.tom, "whisper bram = hello")
        assert 2 == self.told()

    def test_what_is_under_way_is_dropped(self) -> None:
        """The next beat cancels a call in flight."""
        self.type(self.tom, "whisper bram = hello")
        assert 1 == len(self.model.bodies)
        self.kill()
        self.beat()
        assert 1 == self.told()
        assert [] == state.read(self.script, "pending_events")
        assert ([], 1) == (self.model.waiting, self.model.cancelled)
        self.bram.heal(9)
        self.beat()
        assert [DEAD] == self.tom.heard_from(self.bram)

    def test_an_answer_that_comes_in_before_the_beat_is_dropped(self) -> None:
        """Its tool does not run, although the call was not cancelled yet."""
        self.type(self.tom, "whisper bram = hello")
        self.kill()
        self.model_answers(says("A last word."))
        assert [DEAD] == self.tom.heard_from(self.bram)
        assert 0 == state.read(self.script, "consecutive_errors")
        steps = [step for step, _ in self.records(self.script)[0].steps]
        assert "cut off" in steps
        assert "dropped" in steps

    def test_it_dies_between_two_tools(self) -> None:
        self.bram.at_assistant_said = lambda *words, **kwargs: self.kill()
        self.ask(
            "say Bram, hello",
            completion(
                None,
                ("emote", {"action": "groans"}),
                ("whisper", {"target": "Tom", "message": "Avenge me."}),
            ),
        )
        assert ["Bram groans"] == self.tom.heard_from(self.bram)

    def test_it_neither_speaks_nor_acts_by_hand(self) -> None:
        """Every way of sending words refuses, and so does a tool that staff run."""
        self.kill()
        for way, arguments in (
            (outgoing.say, ("Boo.",)),
            (outgoing.emote, ("rises",)),
            (outgoing.whisper, (self.tom, "Boo.")),
            (outgoing.page, (self.account, "Boo.")),
            (outgoing.channel, (None, "Boo.")),
        ):
            with pytest.raises(ToolDeniedError, match=f"cannot do that now: {DEAD}"):
                way(self.bram, *arguments, hops=1)
        outgoing.show(self.bram, "{name} thinks.", hops=1)
        assert not outgoing.tell(self.bram, self.tom, "{name} thinks.", hops=1)
        assert [] == self.tom.heard_from(self.bram)
        results: list[Any] = []
        execute_tool(self.script, "look", {}, person=self.tom).addCallback(results.append)
        assert f"Bram cannot do anything now: {DEAD}" in results[0].message

    def test_a_goal_waits(self) -> None:
        self.script.clock = self.clock
        state.write(self.script, autonomy_config={"seconds": 1})
        operations.add_goal(self.script, "patrol the walls", priority=10)
        self.kill()
        for calls in (0, 1):
            for _ in range(3):  # the first beat only begins the wait for an act of its own
                self.clock.advance(5)
                self.beat()
            assert calls == len(self.model.bodies)
            self.bram.heal(9)

    def test_staff_see_why(self) -> None:
        self.kill()
        for line in ("assistant status bram", "assistant why bram"):
            self.type(self.tom, "whisper bram = hello")
            self.type(self.tom, line)
            assert DEAD.rstrip(".") in self.tom.seen[-1], line

    def test_who_asks_by_code_is_told(self) -> None:
        failures: list[Any] = []
        self.bram.ask("What is the watchword?", asker=self.tom).addErrback(failures.append)
        pump()
        self.kill()
        self.beat()
        assert "lies dead" in failures[0].getErrorMessage()


class TestHook(AbilityTest):
    def test_what_it_may_say(self) -> None:
        """The hook may return True, False or a text."""
        for flag, expected in ((True, UNABLE_LINE), (False, "")):
            self.bram.db.is_asleep = flag
            assert expected == ability.inability(self.bram)
        for value, expected in ((True, ""), (False, UNABLE_LINE), ("", UNABLE_LINE), ("no", "no")):
            self.bram.can_act = value
            assert expected == ability.inability(self.bram)
        del self.bram.can_act

    def test_who_says_nothing_can(self) -> None:
        """A class without the hook, and a body that we make, can act."""
        assert "" == ability.inability(self.ada)
        assert self.ada.can_act() is True

    def test_one_that_fails_is_told_to_the_log_once(self) -> None:
        faulty = create_object(Faulty, key="Wretch", location=self.room1)
        give_ears(faulty)
        with mock.patch.object(logger, "log_err") as log:
            assert [UNABLE_LINE, UNABLE_LINE] == [ability.inability(faulty) for _ in range(2)]
        assert 1 == log.call_count
        assert "can_act raised ZeroDivisionError" in log.call_args.args[0]
