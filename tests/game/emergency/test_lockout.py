"""The safety lockout of an assistant, and its clearing."""

from typing import Any
from unittest.mock import patch

from django.db import OperationalError, connection

from evennia_ai import operations
from evennia_ai.budget import ledger
from evennia_ai.core.safety.lockout import Cause, State
from evennia_ai.core.safety.notices import plain
from evennia_ai.emergency import lockout_of, state_of, trigger_emergency_stop
from evennia_ai.errors import LedgerAwayError
from evennia_ai.llm.scripted import completion
from tests.game.emergency.stopping import DEAF, RETURNED, SafetyTest
from tests.game.support import pump, says, whispers

LOOK = completion(None, ("look", {}))


class LockoutTest(SafetyTest):
    def lock(self, cause: Cause = Cause.REPEAT) -> None:
        trigger_emergency_stop(self.ada_script, "the same call over and over", cause=cause)
        pump()


class TestLocked(LockoutTest):
    def test_b8_inputs_are_refused_with_a_receipt(self) -> None:
        self.lock()
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.mira, "say @ada hello")
        assert [DEAF] == self.tom.heard_from(self.ada)
        assert [DEAF] == self.mira.heard_from(self.ada)
        assert ([], []) == (self.waiting(), self.model.bodies)
        assert ["silent", "told"] == self.steps()

    def test_b8_each_message_has_its_receipt(self) -> None:
        """Other notices are limited in rate, but receipts are not."""
        self.lock()
        for number in range(5):
            self.type(self.tom, f"whisper Ada = {number}")
        assert [DEAF] * 5 == self.tom.heard_from(self.ada)

    def test_b8_what_waited_is_returned(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        self.queue(3, self.mira)
        self.lock()
        assert (1, []) == (self.model.cancelled, self.waiting())
        assert [RETURNED] == self.tom.heard_from(self.ada)
        assert [RETURNED] == self.mira.heard_from(self.ada)

    def test_b8_other_assistants_are_not_affected(self) -> None:
        _, brass = self.make("Brass")
        self.type(self.tom, "whisper Brass = hello")
        self.lock()
        self.model_answers(whispers("Hello."))
        assert ['Brass whispers: "Hello."'] == self.tom.heard_from(brass)

    def test_b8_no_timer_moves_her(self) -> None:
        self.set(autonomy_config={"seconds": 1})
        operations.add_goal(self.ada_script, "find the atlas")
        self.lock()
        for _ in range(5):
            self.fire_timer(3600)
        assert [] == self.model.bodies

    def test_a_talk_is_over(self) -> None:
        """A person who goes on talking without her name gets no refusal."""
        self.set(hearing_config={"batch_seconds": 0, "cooldown_seconds": 0})
        self.ask("say @ada hello", says("Hello."))
        self.lock()
        self.forget()
        self.type(self.tom, "say and further?")
        assert [] == self.tom.heard_from(self.ada)

    def test_the_cause_is_told(self) -> None:
        for cause in (Cause.BUDGET, Cause.LOOP, Cause.CASCADE, Cause.CONSECUTIVE_ERRORS):
            with self.subTest(cause):
                self.lock(cause)
                until = "To let it go on: assistant emergency clear Ada"
                line, detail = self.sent_to_staff()[-1].split("\n")
                assert line.endswith(f"Ada has locked itself: {cause.text}. {until}")
                assert f"  locked ({cause}): the same call over and over" == detail
                result = operations.status(self.ada_script)
                assert f"Ada: locked {plain(cause)}" == result.message
                assert ("safety_lockout", cause.value) == (
                    result.data.state,
                    result.data.lockout["cause"],
                )
                operations.clear(self.ada_script)

    def test_five_failures_are_a_lockout(self) -> None:
        self.set(llm_provider="opnai")
        for _ in range(5):
            self.type(self.tom, "whisper Ada = hello")
        self.set(llm_provider="")
        lockout = lockout_of(self.ada_script)
        assert lockout is not None
        assert (Cause.CONSECUTIVE_ERRORS, "Maximum consecutive errors reached (5)") == (
            lockout.cause,
            lockout.reason,
        )

    def test_a_ledger_that_is_away_locks_nobody(self) -> None:
        """It is no fault of hers and passes by itself: she answers as soon as it is back."""
        away = LedgerAwayError("the shared ledger does not answer")
        with patch.object(ledger.store(), "reserve", side_effect=away):
            for number in range(8):
                self.type(self.tom, f"whisper Ada = {number}")
                pump()
        assert lockout_of(self.ada_script) is None
        assert [] == self.model.bodies
        (text,) = self.sent_to_staff()
        assert "Ada cannot use its model because the shared ledger does not" in text
        assert "Look: assistant budget Ada" in text
        assert "  Ada: the shared ledger does not answer. Further problems of this kind" in text
        self.ask("whisper Ada = hello", whispers("Hello."))
        pump()
        assert "Hello." in self.tom.heard_from(self.ada)[-1]


class TestUnlocked(LockoutTest):
    def test_b9_history_and_what_was_spent_are_kept(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        history, calls = self.stored("conversation_history"), self.stored("usage")["calls"]
        self.set(consecutive_errors=5)
        self.lock(Cause.CONSECUTIVE_ERRORS)
        assert operations.clear(self.ada_script, by="Tom").ok
        assert State.WAITING_FOR_EVENT is state_of(self.ada_script)
        assert (history, calls, 0) == (
            self.stored("conversation_history"),
            self.stored("usage")["calls"],
            self.stored("consecutive_errors"),
        )
        self.ask("whisper Ada = and now?", whispers("Now, too."))
        assert "Hello." in str(self.model.bodies[-1]["messages"])

    def test_b9_nothing_but_a_clearing_unlocks(self) -> None:
        self.lock()
        operations.set_enabled(self.ada_script, False)
        operations.set_enabled(self.ada_script, True)
        self.set(persona="Somebody else.", enabled=True)
        self.restart()
        self.type(self.tom, "whisper Ada = hello")
        assert State.SAFETY_LOCKOUT is state_of(self.ada_script)
        assert [] == self.model.bodies

    def test_b10_it_lasts_over_a_restart(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        self.lock()
        before = self.stored("lockout")
        self.forget()
        self.restart()
        assert (State.SAFETY_LOCKOUT, before) == (state_of(self.ada_script), self.stored("lockout"))
        assert ([], 1) == (self.tom.heard_from(self.ada), len(self.model.bodies))

    def test_b10_it_is_in_the_database(self) -> None:
        """Another process reads the same."""
        self.lock(Cause.BUDGET)
        self.ada_script.attributes.reset_cache()
        assert State.SAFETY_LOCKOUT is state_of(self.ada_script)
        assert "budget" == self.stored("lockout")["cause"]

    def test_b10_a_lockout_that_cannot_be_read_frees_nobody(self) -> None:
        self.lock()
        for wrong in ({"cause": "bored"}, "repeat", None, []):
            self.ada_script.attributes.add("lockout", wrong)
            assert State.STOPPED is state_of(self.ada_script)
            assert "Ada: stopped" == operations.status(self.ada_script).message


class TestTrouble(LockoutTest):
    def test_b13_an_exception_is_a_named_failure(self) -> None:
        self.set(llm_extra_params=7)
        self.type(self.tom, "whisper Ada = hello")
        assert State.WAITING_FOR_EVENT is state_of(self.ada_script)
        assert "internal error" in self.sent_to_staff()[-1]
        assert 1 == self.stored("consecutive_errors")
        self.set(llm_extra_params={})
        self.ask("whisper Ada = and now?", whispers("Hello."))
        assert 'Ada whispers: "Hello."' == self.tom.heard_from(self.ada)[-1]
        assert 0 == self.stored("consecutive_errors")

    def test_a_database_that_fails_locks_nobody(self) -> None:
        def locked(execute: Any, sql: str, *rest: Any) -> Any:
            if "evennia_ai_modelcall" in sql and sql.startswith("INSERT"):
                raise OperationalError("database is locked")
            return execute(sql, *rest)

        with connection.execute_wrapper(locked):
            for number in range(6):
                self.type((self.tom, self.mira)[number % 2], "whisper Ada = hello")
        assert State.WAITING_FOR_EVENT is state_of(self.ada_script)
        line, detail = self.sent_to_staff()[-1].split("\n")
        assert "Ada could not answer Mira: something in the game itself failed." in line
        cause = "  game_error, the game's database failed: database is locked (it locks nobody)"
        assert cause == detail
        self.ask("whisper Ada = and now?", whispers("Hello."))
        assert 'Ada whispers: "Hello."' == self.tom.heard_from(self.ada)[-1]

    def test_b13_sustained_trouble_locks_her(self) -> None:
        self.set(llm_extra_params=7)
        with self.audited() as records:
            for number in range(5):
                self.type((self.tom, self.mira)[number % 2], "whisper Ada = hello")
        assert State.SAFETY_LOCKOUT is state_of(self.ada_script)
        (facts,) = [facts for event, facts in records if event == "EmergencyStopTriggered"]
        assert "consecutive_errors" == facts["cause"]
