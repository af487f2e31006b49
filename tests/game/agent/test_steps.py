"""A turn of several steps: stored after each, taken up again, and never done twice."""

import json
from typing import Any

from evennia_ai import operations
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state, turns
from tests.engine.doubles import dangling
from tests.game.listening import HearingTest
from tests.game.support import pump, whispers

LOOK = completion(None, ("look", {}))
WAIT = ("whisper", {"target": "Tom", "message": "Let me see."})
SPEAK_AND_LOOK = completion(None, WAIT, ("look", {}))


class StepsTest(HearingTest):
    """A test case with access to what a turn under way has kept."""

    def kept(self) -> Any:
        return state.read(self.ada_script, "current_tool_call")

    def history(self) -> list[dict[str, Any]]:
        """The stored conversation, checked to be one that providers accept."""
        stored: list[dict[str, Any]] = state.read(self.ada_script, "conversation_history")
        assert [] == dangling(stored)
        return stored

    def told(self) -> list[str]:
        return self.tom.heard_from(self.ada)


class TestCheckpoint(StepsTest):
    def test_a_result_is_stored_before_the_next_call(self) -> None:
        self.ask("whisper Ada = what is here?", LOOK)
        assert 2 == len(self.model.bodies)
        record = self.kept()
        assert (1, 0, True) == (record["iterations"], record["effects"], record["is_private"])
        assert ["user", "assistant", "tool"] == [message["role"] for message in record["said"]]

    def test_a_restart_goes_on_from_there(self) -> None:
        self.ask("whisper Ada = what is here?", LOOK)
        self.model.answers.append(whispers("A room."))
        self.restart()
        pump()
        assert 3 == len(self.model.bodies)
        roles = [message["role"] for message in self.model.bodies[2]["messages"]]
        assert ["system", "user", "assistant", "tool"] == roles
        assert ['Ada whispers: "A room."'] == self.told()
        assert ([], None) == (self.waiting(), self.kept())
        assert 4 + 1 == len(self.history())

    def test_what_was_said_is_not_said_again(self) -> None:
        """She spoke and looked before the restart; afterwards she only goes on."""
        self.ask("whisper Ada = what is here?", SPEAK_AND_LOOK)
        self.model.answers.append(whispers("A room."))
        self.restart()
        pump()
        assert ['Ada whispers: "Let me see."', 'Ada whispers: "A room."'] == self.told()

    def test_an_emergency_stop_gives_it_back(self) -> None:
        """Her words stay in the talk, and the asker is told that no more will come."""
        self.ask("whisper Ada = what is here?", SPEAK_AND_LOOK)
        operations.stop(self.ada_script, "test")
        operations.clear(self.ada_script)
        pump()
        first, last = self.told()
        assert ('Ada whispers: "Let me see."', True) == (first, "break off" in last)
        assert ([], 2) == (self.waiting(), len(self.model.bodies))
        assert "Let me see." in json.dumps(self.history())

    def test_a_reset_gives_up_what_was_begun(self) -> None:
        """She has spoken already, so the question counts as answered."""
        self.ask("whisper Ada = what is here?", SPEAK_AND_LOOK)
        operations.reset_history(self.ada_script)
        pump()
        assert ([], [], None) == (self.waiting(), self.history(), self.kept())
        assert 2 == len(self.model.bodies)

    def test_a_reset_begins_anew_what_nobody_noticed(self) -> None:
        """She only looked, so the question is asked once more, from its beginning."""
        self.ask("whisper Ada = what is here?", LOOK)
        self.model.answers.append(whispers("A room."))
        operations.reset_history(self.ada_script)
        pump()
        assert 2 == len(self.model.bodies[2]["messages"])
        assert ['Ada whispers: "A room."'] == self.told()

    def test_a_turn_whose_question_is_gone_is_forgotten(self) -> None:
        """The asker muted her meanwhile."""
        self.ask("whisper Ada = what is here?", LOOK)
        operations.set_muted(self.ada_script, self.tom, True)
        self.ask("whisper Ada = hello", whispers("Hello.", "Mira"), person=self.mira)
        assert ['Ada whispers: "Hello."'] == self.mira.heard_from(self.ada)
        assert self.kept() is None

    def test_what_failed_after_speaking_is_remembered(self) -> None:
        self.ask("whisper Ada = what is here?", SPEAK_AND_LOOK, b"{}")
        assert "Let me see." in json.dumps(self.history())
        assert [] == self.waiting()

    def test_killed_in_the_act(self) -> None:
        """The act is not repeated, and the model reads that its outcome is unknown."""
        self.type(self.tom, "whisper Ada = hello")
        turn = turns.load(self.ada_script, self.ada_script.work.inbox[0], 1)
        call = ToolCall("c1", "whisper", {"target": "Tom", "message": "Hello."})
        turn.said = [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "not yet"},
        ]
        turns.write_ahead_intent(self.ada_script, turn, call)
        self.restart()
        pump()
        assert "nobody knows whether this happened" in self.history()[-1]["content"]
        assert 1 == len(self.model.bodies)


class TestOneStepABeat(StepsTest):
    """An assistant that may do one thing a beat."""

    def setUp(self) -> None:
        super().setUp()
        self.set(execution_config={"multi_action_enabled": False})

    def test_it_goes_on_with_the_next_beat(self) -> None:
        self.ask("whisper Ada = what is here?", LOOK, whispers("A room."))
        assert ['Ada whispers: "A room."'] == self.told()
        assert "goes on with the next beat" in self.steps()
        assert 2 == operations.status(self.ada_script).data.calls
        assert 5 == len(self.history())

    def test_it_does_not_go_on_for_ever(self) -> None:
        """After the most beats for a task the asker hears once how far she came."""
        bounds = {"loop": {"max_context_visits": 7}, "on_limit": {"mode": "unattended"}}
        self.set(safety_config=bounds)
        looks = [completion(None, ("look", {"target": target})) for target in "abcdefgh"]
        self.ask("whisper Ada = what is here?", *looks[:7], completion("I saw a room."))
        assert 8 == len(self.model.bodies)
        assert ['Ada whispers: "I saw a room."'] == self.told()
        assert [] == self.waiting()


EASY = '{"complexity_score": 1, "recommended_mode": "single_action", "reasoning": "a greeting"}'


class TestAssessment(StepsTest):
    def test_the_words_alone_change_nothing(self) -> None:
        """Unless the owner wants it, the assessment of a task is only noted."""
        self.ask("whisper Ada = look around", LOOK, whispers("A room."))
        assert ['Ada whispers: "A room."'] == self.told()
        (why,) = [detail for step, detail in self.records()[0].steps if step == "may do"]
        assert "task, only noted: looks like observation, 1 of 5" in why

    def test_where_it_is_wanted_it_restricts(self) -> None:
        self.set(execution_config={"task_assessment_enabled": True})
        self.ask("whisper Ada = look around", LOOK, whispers("A room."))
        assert ['Ada whispers: "A room."'] == self.told()
        assert "goes on with the next beat" in self.steps()

    def test_the_model_may_be_asked(self) -> None:
        """It is one short call more, without tools."""
        self.set(execution_config={"task_assessment_enabled": True, "task_assessment_by": "model"})
        self.ask("whisper Ada = build it", completion(EASY), LOOK, whispers("A room."))
        assert ['Ada whispers: "A room."'] == self.told()
        assert "goes on with the next beat" in self.steps()
        assert "tools" not in self.model.bodies[0]
        assert 3 == operations.status(self.ada_script).data.calls

    def test_a_model_that_fails_there_does_no_harm(self) -> None:
        """The words alone are judged then."""
        self.set(execution_config={"task_assessment_enabled": True, "task_assessment_by": "model"})
        self.ask("whisper Ada = hello", b"{}", whispers("Hello."))
        assert ['Ada whispers: "Hello."'] == self.told()
