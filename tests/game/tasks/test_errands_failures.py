"""Program questions that end without an answer: the program is told once, and nothing goes on."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai import operations
from evennia_ai.agent import requests
from evennia_ai.agent.requests import NoAnswerError, Reason
from evennia_ai.core.hearing.audience import OPEN
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from evennia_ai.tasks import task_waits
from tests.game.support import NOT_A_COMPLETION, pump, whispers
from tests.game.tasks.errand_case import ErrandTest, reports_of


class TestFailures(ErrandTest):
    def test_what_comes_of_the_turn(self) -> None:
        cases: list[tuple[str, Any, Reason, str]] = [
            ("the service", ModelStatusError(400, "bad"), Reason.FAILED, "the model, or the way"),
            ("the answer", NOT_A_COMPLETION, Reason.FAILED, "the model, or the way to it, failed"),
            ("no words", completion(""), Reason.FAILED, "holds nothing to say or do"),
            ("nothing", completion(None, ("noop", {})), Reason.SILENT, "it chose to do nothing"),
        ]
        for name, answer, reason, words in cases:
            with self.subTest(name):
                self.model.answers.append(answer)
                self.refused(self.ada.ask("When?"), reason, words)
        assert (4, []) == (len(self.facts("errand_failed")), self.waiting())

    def test_a_limit_tells_what_it_found_so_far(self) -> None:
        """The program gets limit and partial answer; the record holds the limit only."""
        config = {"max_iterations_per_tick": 1}
        unattended = {"on_limit": {"mode": "unattended"}}
        state.write(self.ada_script, execution_config=config, safety_config=unattended)
        self.model.answers.extend([completion(None, ("look", {})), completion("Six so far.")])
        why = "limit max_iterations; so far: Six so far."
        self.refused(self.ada.ask("How many?"), Reason.FAILED, why)
        assert "limit max_iterations" == self.facts("errand_failed")[0]["why"]

    def test_an_emergency_stop(self) -> None:
        for name, is_begun in (("begun", True), ("waiting", False)):
            with self.subTest(name):
                if not is_begun:
                    self.type(self.tom, "whisper Ada = a riddle")
                asked = self.ada.ask("When?")
                pump()
                operations.stop(self.ada_script, "a test")
                self.refused(asked, Reason.STOPPED, "it was stopped")
                assert ([], 1 + (not is_begun)) == (self.waiting(), self.model.cancelled)
                operations.clear(self.ada_script)

    def test_the_time_is_over(self) -> None:
        """The call under way is cancelled; the default is one minute."""
        for more, seconds in (({"timeout_seconds": 7}, 7.0), ({}, 60.0)):
            with self.subTest(**more):
                asked = self.ada.ask("When?", **more)
                pump()
                self.advance(seconds - 0.5)
                assert 1 == len(self.model.waiting)
                self.clock.advance(0.5)
                self.refused(asked, Reason.LATE, f"none came within {seconds:g} s")
                assert ([], []) == (self.waiting(), self.model.waiting)

    def test_no_time_is_a_day(self) -> None:
        """A delegation timeout of 0 means no limit for others, but a day for a program."""
        state.write(self.ada_script, safety_config={"timeout": {"delegation_seconds": 0}})
        asked = self.ada.ask("When?")
        self.clock.advance(80_000)
        assert not asked.called
        self.clock.advance(6_400)
        self.refused(asked, Reason.LATE, "86400 s")

    def test_cancelling_takes_it_back(self) -> None:
        asked = self.ada.ask("When?")
        pump()
        asked.cancel()
        (error,) = self.outcome(asked)
        assert isinstance(error, CancelledError)
        assert ([], 1) == (self.waiting(), self.model.cancelled)
        assert [task_waits.DROPPED] == [fact["why"] for fact in self.facts("errand_failed")]

    def test_it_has_to_make_room(self) -> None:
        """A full inbox drops the game's own oldest question first."""
        state.write(self.ada_script, max_pending_events=2)
        self.type(self.tom, "whisper Ada = a riddle")
        asked = [self.ada.ask(question) for question in ("One?", "Two?")]
        self.refused(asked[0], Reason.BUSY, "its inbox was full")
        assert not asked[1].called

    def test_what_is_lost_is_found_out(self) -> None:
        """A periodic check finds within five seconds that nobody will answer."""
        cases: list[tuple[str, Any, str]] = [
            ("out of the inbox", self.drop, "it gave the task up"),
            ("muted", lambda: operations.set_muted(self.ada_script, self.mira, True), "has muted"),
            ("silenced", lambda: operations.set_enabled(self.ada_script, False), "it is silenced"),
            ("deleted", lambda: self.ada_script.delete(), "it is gone"),
        ]
        for name, lose, words in cases:
            with self.subTest(name):
                asked = self.ada.ask("When?", asker=self.mira)
                pump()
                lose()
                self.clock.advance(task_waits.LOOK_EVERY_SECONDS)
                self.refused(asked, Reason.STOPPED, words)
                operations.set_muted(self.ada_script, self.mira, False)
                operations.set_enabled(self.ada_script, True)

    def drop(self) -> None:
        """Remove the question from the inbox, as a reset at that moment would."""
        state.discard(self.ada_script, self.ada_script.work.inbox)
        state.bump_epoch(self.ada_script)

    def test_what_cannot_be_stored_is_not_waited_for(self) -> None:
        self.ada_script.work.inbox.append({"id": "m1", "kind": "message", "bad": self.forget})
        (error,) = self.outcome(self.ada.ask("When?"))
        assert not isinstance(error, NoAnswerError)
        timers = [call.func for call in self.clock.getDelayedCalls()]
        left = [timer for timer in timers if "audit" not in timer.__module__]
        assert ([], []) == (task_waits.every(), left)

    def test_nobody_answers_it_after_a_restart(self) -> None:
        self.type(self.tom, "whisper Ada = a riddle")
        self.ada.ask("When?").addErrback(lambda _: None)
        pump()
        task_waits.start_anew()
        self.model.answers.append(whispers("Hm."))
        self.model_answers(whispers("What riddle?"))
        assert (1, []) == (len(self.model.bodies), self.waiting())

    def test_it_is_answered_once(self) -> None:
        asked = self.ada.ask("When?")
        self.model.answers.append(reports_of())
        assert ["An hour past noon."] == self.outcome(asked)
        (number,) = [fact["number"] for fact in self.facts("errand_answered")]
        errand = requests.ProgramRequest(
            delegate=self.ada_script, event=self.event(number), began_at=0.0
        )
        assert (False, False) == (
            task_waits.answer(errand.event, "Again.", held=OPEN),
            task_waits.fail(errand.event, "a test"),
        )

    def test_a_late_look_harms_nothing(self) -> None:
        """Even a periodic check that fails does not end the wait."""
        asked: Deferred[str] = self.ada.ask("When?")
        pump()
        self.ada_script.work.inbox.append({"no": "id"})
        self.clock.advance(task_waits.LOOK_EVERY_SECONDS)
        del self.ada_script.work.inbox[-1]
        assert not asked.called
        self.model.answer(reports_of())
        outcome = self.outcome(asked)
        assert not isinstance(outcome[0], Failure)
