"""The emergency stop of one assistant: all its work is dropped, and nothing follows."""

from typing import Any

from django.db import DatabaseError, connection

from evennia_ai import approvals, operations
from evennia_ai.core.safety.lockout import State
from evennia_ai.emergency import state_of
from evennia_ai.llm.scripted import completion
from evennia_ai.tools import load_modules
from tests.engine.doubles import dangling
from tests.game import game_tools
from tests.game.emergency.stopping import RETURNED, SafetyTest
from tests.game.support import pump, says, whispers

GAME_TOOLS = "tests.game.game_tools"
LOOK = completion(None, ("look", {}))
HOIST = completion(None, ("hoist_flag", {}))
FALL_SILENT = completion(None, ("fall_silent", {}))
TWO_CALLS = completion(None, ("wait_for_ship", {}), ("say", {"message": "It came."}))


class TestQueue(SafetyTest):
    """A hundred messages wait while the model hangs."""

    def setUp(self) -> None:
        super().setUp()
        self.set(max_pending_events=200, compact_enabled=False)
        self.type(self.tom, "whisper Ada = hello")
        self.queue(59, self.tom)
        self.queue(40, self.mira)
        pump()
        self.forget()

    def test_b11_it_is_handled_before_the_next_step(self) -> None:
        assert (1, 100) == (len(self.model.waiting), len(self.waiting()))
        operations.stop(self.ada_script, "test")
        assert 1 == self.model.cancelled
        for seconds in (0, 1, 60, 3600):
            self.fire_timer(seconds)
        assert (1, State.STOPPED) == (len(self.model.bodies), state_of(self.ada_script))

    def test_b11_the_queue_is_emptied_with_receipts(self) -> None:
        """Each person is told once and in private, whatever the number of messages."""
        operations.stop(self.ada_script, "test")
        assert ([], []) == (self.waiting(), self.ada_script.work.inbox)
        assert [RETURNED] == self.tom.heard_from(self.ada)
        assert [RETURNED] == self.mira.heard_from(self.ada)

    def test_b11_the_words_say_what_was_dropped(self) -> None:
        message = operations.stop(self.ada_script, "test", by="Tom").message
        dropped = (
            "One call in flight was dropped; 100 waiting messages were returned to Tom and Mira."
        )
        clear = "assistant emergency clear Ada"
        assert (
            f"Ada is stopped. {dropped} It stays stopped across restarts. To let it go on: {clear}"
            == message
        )
        (line,) = self.sent_to_staff()
        assert line.endswith(f"Ada is stopped: test. {dropped} To let it go on: {clear}")

    def test_b11_each_record_says_so(self) -> None:
        operations.stop(self.ada_script, "test")
        assert ("returned", "was told") == self.records()[0].steps[-1]

    def test_b12_twice_is_harmless(self) -> None:
        operations.stop(self.ada_script, "first", by="Tom")
        before = self.stored("lockout")
        with self.audited() as records:
            message = operations.stop(self.ada_script, "second", by="Mira").message
        assert "Ada is already stopped. To let it go on: assistant emergency clear Ada" == message
        assert ([], 1, 1) == (records, len(self.sent_to_staff()), self.returns(self.tom))
        assert before == self.stored("lockout")


class TestWhileIdle(SafetyTest):
    def test_b12_idle_is_harmless(self) -> None:
        message = operations.stop(self.ada_script, "test").message
        expected = "Ada is stopped. It stays stopped across restarts. To let it go on: "
        assert f"{expected}assistant emergency clear Ada" == message
        assert [] == self.tom.heard_from(self.ada)
        operations.clear(self.ada_script)
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert 'Ada whispers: "Hello."' == self.tom.heard_from(self.ada)[-1]

    def test_b12_an_assistant_that_does_not_run_is_stopped_too(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        self.ada_script.pause()
        self.ada_script.work = None
        operations.stop(self.ada_script, "test")
        assert ([], State.STOPPED) == (self.waiting(), state_of(self.ada_script))
        assert 1 == self.returns(self.tom)


class TestTools(SafetyTest):
    """A stop while a tool runs."""

    def setUp(self) -> None:
        super().setUp()
        load_modules([GAME_TOOLS])
        game_tools.pending.clear()

    def stop(self) -> str:
        message = operations.stop(self.ada_script, "test").message
        pump()
        return message

    def test_b12_during_a_tool_that_others_notice(self) -> None:
        """The tool may have had its effect, so it is recorded and never repeated."""
        self.ask("whisper Ada = hoist the flag", HOIST)
        assert "The work of hoist flag was cut off; " in self.stop()
        assert 1 == self.returns(self.tom)
        history = self.stored("conversation_history")
        assert [] == dangling(history)
        assert "nobody knows whether this happened" in history[-1]["content"]
        operations.clear(self.ada_script)
        self.fire_timer()
        assert (1, 1, None) == (
            len(self.model.bodies),
            len(game_tools.pending),
            self.stored("current_tool_call"),
        )

    def test_b11_no_tool_starts_after_it(self) -> None:
        """The tool that was cut off may still return."""
        self.ask("whisper Ada = is there a ship?", TWO_CALLS)
        self.stop()
        for waiting in game_tools.pending:
            if not waiting.called:
                waiting.callback("a ship")
        pump()
        assert 'Ada says, "It came."' not in self.tom.seen
        assert 1 == len(self.model.bodies)

    def test_b12_out_of_a_tool_itself(self) -> None:
        self.ask("whisper Ada = good night")
        self.model.answers.append(says("Zzz."))
        self.model_answers(FALL_SILENT)
        assert (State.STOPPED, 1) == (state_of(self.ada_script), len(self.model.bodies))
        assert not self.ada_script.work.is_ticking
        operations.clear(self.ada_script)
        self.model.answers.clear()
        self.ask("whisper Ada = awake?", whispers("Yes."))
        assert 'Ada whispers: "Yes."' == self.tom.heard_from(self.ada)[-1]


class TestQuestions(SafetyTest):
    """A stop while she waits for a person's answer."""

    def setUp(self) -> None:
        super().setUp()
        self.set(safety_config={"loop": {"max_model_calls_per_tick": 1}}, compact_enabled=False)
        self.ask("whisper Ada = what is here?", LOOK)
        (self.question,) = approvals.pending(self.ada_script)

    def test_b12_during_an_open_question(self) -> None:
        self.forget()
        message = operations.stop(self.ada_script, "test").message
        returned = "one waiting message was returned to Tom."
        assert f"Ada is stopped. One open question was withdrawn; {returned} It stays" in message
        assert [] == approvals.pending(self.ada_script)
        answers: list[operations.Result] = []
        answered = operations.answer(self.question.number, self.tom, "yes", is_staff=True)
        answered.addCallback(answers.append)
        pump()
        assert not answers[0].ok
        assert (1, State.STOPPED) == (len(self.model.bodies), state_of(self.ada_script))

    def test_b12_a_clearing_does_not_bring_it_back(self) -> None:
        operations.stop(self.ada_script, "test")
        operations.clear(self.ada_script)
        for seconds in (0, 60, 3600):
            self.fire_timer(seconds)
        assert (1, []) == (len(self.model.bodies), approvals.pending(self.ada_script))

    def test_silence_and_a_reset_withdraw_it_too(self) -> None:
        operations.reset_history(self.ada_script)
        assert [] == approvals.pending(self.ada_script)
        pump()
        self.model_answers(LOOK)
        assert 1 == len(approvals.pending(self.ada_script)), "the reset asks the message again"
        operations.set_enabled(self.ada_script, False)
        assert [] == approvals.pending(self.ada_script)


class TestWhoIsTold(SafetyTest):
    """Receipts to those whose messages were returned."""

    def test_not_who_muted_her_nor_who_is_gone(self) -> None:
        """Their messages count as not returned."""
        self.type(self.mira, "whisper Ada = hello")
        self.queue(1, self.tom)
        self.ada_script.work.muted.add(self.person(self.tom))
        self.mira.delete()
        message = operations.stop(self.ada_script, "test").message
        assert "2 waiting messages could not be returned." in message
        assert 0 == self.returns(self.tom)

    def test_not_another_assistant(self) -> None:
        """Another assistant would take the receipt for a new message."""
        _, brass = self.make("Brass")
        stored = self.event("b1", brass).as_stored() | {"hops": 1}
        self.ada_script.work.inbox = [stored]
        message = operations.stop(self.ada_script, "test").message
        assert "One waiting message could not be returned." in message

    def test_one_that_fails_keeps_no_other_from_it(self) -> None:
        self.queue(1, self.tom)
        self.queue(1, self.mira)
        self.ada_script.work.inbox.insert(0, {"id": "broken"})
        self.tom.msg = _broken
        message = operations.stop(self.ada_script, "test").message
        assert "One waiting message was returned to Mira; one waiting message could" in message
        assert (State.STOPPED, 1) == (state_of(self.ada_script), self.returns(self.mira))

    def test_without_a_body_she_is_stopped_all_the_same(self) -> None:
        self.queue(1, self.tom)
        self.ada_script.obj = None
        operations.stop(self.ada_script, "test")
        assert State.STOPPED is state_of(self.ada_script)
        assert "Ada is stopped: test. One waiting message could not be" in self.sent_to_staff()[-1]


class TestTrouble(SafetyTest):
    def test_a_database_that_fails_does_not_save_her(self) -> None:
        """She is stopped in this process, and staff know that it is not stored."""
        self.type(self.tom, "whisper Ada = hello")
        with connection.execute_wrapper(_refuse_writes):
            message = operations.stop(self.ada_script, "test").message
            several: list[str] = []
            ending = operations.stop_all([self.ada_script], "test")
            ending.addCallback(lambda done: several.append(done.message))
        assert "could not be stored: it holds until a restart" in message
        assert "could not be stored: it holds until a restart (Ada)." in several[0]
        assert "across restarts" not in message + several[0]
        shown = operations.status(self.ada_script).data
        assert (True, State.STOPPED) == (shown.emergency_stop, shown.state)
        assert 1 == self.model.cancelled
        assert any(
            "the stop could not be stored, and holds until a" in line
            for line in self.sent_to_staff()
        )
        self.fire_timer()
        assert 1 == len(self.model.bodies)
        assert "an emergency stop is active" == self.ada_script.silence
        assert operations.clear(self.ada_script).ok
        self.ask("whisper Ada = hello", whispers("Yes."))
        assert 2 == len(self.model.bodies)


def _broken(*_: Any, **__: Any) -> None:
    raise RuntimeError("no ears")


def _refuse_writes(execute: Any, sql: str, *rest: Any) -> Any:
    if sql.startswith(("INSERT", "UPDATE", "DELETE")):
        raise DatabaseError("the disk is full")
    return execute(sql, *rest)
