"""The inbox: durable, bounded, and each message answered once."""

from evennia.scripts.models import ScriptDB

from evennia_ai.agent.failure_notices import BUSY_LINE
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state, turns
from tests.game.support import GameTest, pump, whispers

BUSY = BUSY_LINE.replace("{name}", "Ada")


def _restart(script: object) -> None:
    """Start as a new process does: with empty memory and the same database."""
    script.work = None  # type: ignore[attr-defined]
    script.at_start()  # type: ignore[attr-defined]


class TestDurable(GameTest):
    def test_it_is_stored_when_hearing_returns(self) -> None:
        self.tom.execute_cmd("whisper Ada = hello")
        row = ScriptDB.objects.get(pk=self.ada_script.pk).db_attributes.get(db_key="pending_events")
        (stored,) = row.value
        assert ("hello", "Tom", "whisper") == (
            stored["body"],
            stored["sender_name"],
            stored["source"],
        )

    def test_a_restart_takes_it_again(self) -> None:
        """The call in flight died with the process; the question is answered once."""
        self.type(self.tom, "whisper Ada = hello")
        _restart(self.ada_script)
        self.model.answers.append(whispers("Hello again."))
        pump()
        assert ['Ada whispers: "Hello again."'] == self.tom.heard_from(self.ada)
        assert [] == self.waiting()

    def test_an_effect_that_was_noted_is_not_repeated(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        turn = turns.load(self.ada_script, self.ada_script.work.inbox[0], 1)
        call = ToolCall("c1", "whisper", {"target": "Tom", "message": "Hello."})
        turns.write_ahead_intent(self.ada_script, turn, call)
        _restart(self.ada_script)
        pump()
        assert 1 == len(self.model.bodies)
        assert ([], None) == (self.waiting(), state.read(self.ada_script, "current_tool_call"))

    def test_what_waited_behind_it_is_answered(self) -> None:
        self.type(self.tom, "whisper Ada = one")
        self.type(self.mira, "whisper Ada = two")
        turn = turns.load(self.ada_script, self.ada_script.work.inbox[0], 1)
        turns.write_ahead_intent(self.ada_script, turn, ToolCall("c1", "say", {"message": "One."}))
        _restart(self.ada_script)
        self.model.answers.append(whispers("Two.", "Mira"))
        pump()
        assert ['Ada whispers: "Two."'] == self.mira.heard_from(self.ada)

    def test_a_failed_effect_does_not_cost_the_answer(self) -> None:
        """A noted call that failed had no effect, so the question is asked again."""
        self.ask("whisper Ada = hello", whispers("Hello.", "Nobody"))
        assert 2 == len(self.model.bodies)
        _restart(self.ada_script)
        self.model.answers.append(whispers("Hello."))
        pump()
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)

    def test_a_conversation_survives(self) -> None:
        self.ask("whisper Ada = one", whispers("One."))
        _restart(self.ada_script)
        self.ask("whisper Ada = two", whispers("Two."))
        assert 5 == len(self.model.bodies[-1]["messages"])
        assert 2 == state.read(self.ada_script, "usage")["calls"]

    def test_a_conversation_is_bounded(self) -> None:
        """A tool call is never kept without its result."""
        state.write(self.ada_script, max_history=7)
        for number in range(5):
            self.ask(f"whisper Ada = {number}", whispers("Yes."))
        roles = [m["role"] for m in state.read(self.ada_script, "conversation_history")]
        assert ["user", "assistant", "tool"] * 2 == roles

    def test_usage_is_counted(self) -> None:
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        answer = completion(None, ("whisper", {"target": "Tom", "message": "Hm."}), usage=usage)
        for _ in range(2):
            self.ask("whisper Ada = hello", answer)
        expected = {"calls": 2, "ticks": 2, "prompt_tokens": 20, "completion_tokens": 6, "heard": 2}
        assert expected == state.read(self.ada_script, "usage")


class TestFull(GameTest):
    """An inbox with room for two."""

    def setUp(self) -> None:
        super().setUp()
        state.write(self.ada_script, max_pending_events=2)

    def test_who_must_leave_is_told(self) -> None:
        """The oldest message that is not being answered makes room. Nothing failed there."""
        self.type(self.tom, "whisper Ada = one")
        self.type(self.mira, "whisper Ada = two")
        self.type(self.tom, "whisper Ada = three")
        assert [BUSY] == self.mira.heard_from(self.ada)
        assert ["one", "three"] == [event.body for event in self.waiting()]

    def test_the_question_under_way_stays(self) -> None:
        for words in ("one", "two", "three", "four"):
            self.type(self.tom, f"whisper Ada = {words}")
        self.model.answers.append(whispers("Four."))
        self.model_answers(whispers("One."))
        expected = [BUSY, BUSY, 'Ada whispers: "One."', 'Ada whispers: "Four."']
        assert expected == self.tom.heard_from(self.ada)
