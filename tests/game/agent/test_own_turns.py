"""The limit (L14) on turns of its own that an assistant may have in a row."""

from typing import Any

from evennia_ai import approvals, operations
from evennia_ai.agent import autonomy
from evennia_ai.core.turn.autonomy import ActReason
from evennia_ai.core.turn.conversation import call_message, result_message, user_message
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state, turns
from tests.game.listening import HearingTest
from tests.game.support import pump, says
from tests.recorded import record_of

NOOP = completion(None, ("noop", {}))


class OwnTurnsTest(HearingTest):
    """Ada works on a goal every second, at most three times in a row; Tom may decide for her."""

    def setUp(self) -> None:
        super().setUp()
        self.ada.locks.add("ai_control:perm(Builder)")
        self.recorded = record_of(self)
        pace = {"seconds": 1, "acts_per_hour": 1000}
        self.set(autonomy_config=pace, compact_enabled=False)
        self.limit(3)
        assert operations.add_goal(self.ada_script, "find the lost atlas").ok
        self.fire_timer()

    def limit(self, most: int, mode: str = "unattended") -> None:
        config = {"loop": {"max_own_turns": most}, "on_limit": {"mode": mode}}
        self.set(safety_config=config)

    def act(self, times: int) -> int:
        """Let the timer fire so often. Returns the number of her turns."""
        before = len(self.model.bodies)
        for _ in range(times):
            self.clock.advance(5)
            self.model.answers.append(says("Hm."))
            self.fire_timer()
            self.model.answers.clear()
        return len(self.model.bodies) - before

    def own_turns(self) -> int:
        return state.read(self.ada_script, "own_turns")

    def questions(self) -> list[Any]:
        return approvals.pending(self.ada_script)

    def answer(self, text: str) -> None:
        operations.answer(self.questions()[0].number, self.account, text, is_staff=True)
        pump()


class TestOneStep(OwnTurnsTest):
    def test_a_turn_of_her_own_knows_what_came_of_the_step_before(self) -> None:
        """She may do one thing per beat, and looks around first."""
        self.set(execution_config={"multi_action_enabled": False})
        for answer in (completion(None, ("look", {})), says("A room.")):
            self.clock.advance(5)
            self.model.answers.append(answer)
            self.fire_timer()
        roles = [message["role"] for message in self.model.bodies[-1]["messages"]]
        assert ["system", "user", "assistant", "tool", "user"] == roles
        assert (0, 2) == (state.read(self.ada_script, "consecutive_errors"), self.own_turns())


class TestKilled(OwnTurnsTest):
    def test_what_she_may_have_said_by_herself_is_in_the_conversation(self) -> None:
        """Else her next turn would say it again; nothing is waited for, so nothing is answered."""
        for is_in_effect in (True, False):
            with self.subTest(is_in_effect=is_in_effect):
                operations.reset_history(self.ada_script)
                event = autonomy.event_of(self.ada_script, ActReason.GOAL)
                turn = turns.begin(self.ada_script, event)
                call = ToolCall("c1", "say", {"message": "The atlas is gone."})
                result = result_message(call, ToolResult(True, "said"))
                turn.said = [user_message(event.body), call_message(call), result]
                turn.effects = int(not is_in_effect)
                if is_in_effect:
                    turns.write_ahead_intent(self.ada_script, turn, call)
                else:
                    turns.checkpoint(self.ada_script, turn)
                self.restart()
                assert self.act(2)
                assert "The atlas is gone." in str(self.model.bodies[-1]["messages"])
                assert self.stored("current_tool_call") is None


class TestLimit(OwnTurnsTest):
    def test_l14_after_so_many_there_is_none(self) -> None:
        """The further turn is dropped and recorded, but she still answers people."""
        assert 3 == self.act(6)
        (facts, *_) = [facts for event, _, facts in self.recorded if event == "limit_denied"]
        assert ("own_turns", 3, 3) == (facts["kind"], facts["used"], facts["cap"])
        assert not state.read(self.ada_script, "emergency_stop")
        self.ask("whisper Ada = hello", NOOP)
        assert "hello" in self.prompt()

    def test_l14_the_default_is_twenty_five(self) -> None:
        self.set(safety_config={"on_limit": {"mode": "unattended"}})
        assert 25 == self.act(30)

    def test_l14_a_person_who_speaks_begins_it_anew(self) -> None:
        """Another assistant does not, and neither do overheard words."""
        assert 3 == self.act(4)
        self.set(room_messages="context")
        self.type(self.tom, "say what a day")
        _, brass = self.make("Brass")
        self.model.answers.append(NOOP)
        outgoing.whisper(brass, self.ada, "hello", hops=1)
        pump()
        assert (3, 0) == (self.own_turns(), self.act(1))
        self.ask("whisper Ada = hello", NOOP)
        assert (0, 3) == (self.own_turns(), self.act(5))

    def test_l14_it_survives_a_restart(self) -> None:
        """The count is stored before she acts, so that no crash loses it."""
        assert 2 == self.act(2)
        self.restart()
        self.ada_script.at_repeat()
        assert (2, 1) == (self.own_turns(), self.act(4))

    def test_l14_zero_is_no_limit(self) -> None:
        self.limit(0)
        assert 12 == self.act(12)


class TestMore(OwnTurnsTest):
    def test_l14_a_yes_gives_as_many_again(self) -> None:
        """She does nothing by herself while the question is open."""
        self.limit(3, "interactive")
        assert 3 == self.act(6)
        (question,) = self.questions()
        assert "I have used my 3 turns on goals of my own. May I have 3 turns more?" == (
            question.asking.prompt
        )
        self.answer("yes")
        assert 3 == self.act(5)
        assert 1 == len(self.questions())

    def test_l14_somebody_who_speaks_is_answered_while_she_asks(self) -> None:
        """Their message also resets the count, as a yes would."""
        self.limit(3, "interactive")
        self.act(4)
        self.ask("whisper Ada = hello", NOOP)
        assert "hello" in self.prompt()
        assert 2 == self.act(2)
        self.answer("no")
        assert 2 == self.own_turns()

    def test_l14_it_asks_once_however_often_it_would_act(self) -> None:
        """Each of its waits would write down the answer, and count as an extension."""
        self.limit(3, "interactive")
        self.act(9)
        self.answer("yes")
        events = [event for event, *_ in self.recorded if event == "safety_limit_checkpoint"]
        assert (1, 0) == (len(events), self.own_turns())

    def test_l14_a_no_is_not_asked_about_at_once_again(self) -> None:
        self.limit(3, "interactive")
        self.act(4)
        self.answer("no")
        self.clock.advance(1)
        self.ada_script.at_repeat()
        assert [] == self.questions()

    def test_l14_by_itself_as_often_as_is_set(self) -> None:
        """`auto_extend` grants once until a person speaks."""
        self.limit(3, "auto_extend")
        assert 6 == self.act(8)
        self.ask("whisper Ada = hello", NOOP)
        assert 6 == self.act(8)

    def test_hushed_she_does_nothing_by_herself(self) -> None:
        operations.hush(self.ada_script, self.mira, 1)
        assert 0 == self.act(3)
        self.clock.advance(60)
        assert 1 == self.act(1)
