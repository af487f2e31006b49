"""Requests that programs name: asked once, and answered after a restart, too."""

from typing import Any
from unittest import mock

from twisted.internet.defer import CancelledError

from evennia_ai import operations
from evennia_ai.agent.requests import Reason
from evennia_ai.models import PendingTask
from evennia_ai.operations.conversation import ask, find_request, tell
from evennia_ai.operations.result import ProblemKind
from evennia_ai.runtime import state
from evennia_ai.tasks import store, task_waits
from tests.game.support import pump, says
from tests.game.tasks.errand_case import ErrandTest, reports_of

NAME = "quest-42"
NOON = "An hour past noon."


class NamedTest(ErrandTest):
    """A program asks Ada under one name."""

    def put(self, words: str = "When?", **more: Any) -> Any:
        return self.ada.ask(words, **{"name": NAME} | more)

    def task(self) -> PendingTask:
        return PendingTask.objects.get()

    def restart(self) -> None:
        """The server ends in the middle of it and starts again; waits in memory are lost."""
        self.ada_script.at_server_shutdown()
        task_waits.start_anew()
        self.ada_script.at_start()


class TestOnce(NamedTest):
    def test_who_asks_again_gets_the_same_answer(self) -> None:
        first, second = self.put(), self.put()
        self.model.answers.append(reports_of())
        assert [NOON] == self.outcome(first) == self.outcome(second)
        assert [NOON] == self.outcome(self.put())
        assert 1 == len(self.model.bodies)
        assert (store.ANSWERED, NOON) == (self.task().state, self.task().answer)

    def test_without_a_name_nothing_is_kept(self) -> None:
        self.model.answers.extend([reports_of(), reports_of("Two.")])
        assert [NOON] == self.outcome(self.ada.ask("When?"))
        assert ["Two."] == self.outcome(self.ada.ask("When?"))
        assert not PendingTask.objects.exists()

    def test_a_failure_is_kept_too(self) -> None:
        """Another try takes another name. A refusal before the start is not kept."""
        self.model.answers.append(says("Hm."))
        operations.set_muted(self.ada_script, self.mira, True)
        self.refused(self.put(asker=self.mira), Reason.REFUSED, "muted")
        assert not PendingTask.objects.exists()
        asked = self.put()
        pump()
        operations.stop(self.ada_script, "a test")
        self.refused(asked, Reason.STOPPED, "it was stopped")
        operations.clear(self.ada_script)
        self.refused(self.put(), Reason.STOPPED, "it was stopped")

    def test_a_name_stands_for_one_task_of_one_person(self) -> None:
        self.model.answers.extend([reports_of(), reports_of("For Mira.")])
        assert [NOON] == self.outcome(self.put())
        self.refused(self.put("Where?"), Reason.TAKEN, "something else was asked")
        (result,) = self.outcome(tell(self.ada_script, None, "When?", name=NAME))
        assert ProblemKind.CONFLICT is result.problem
        assert ["For Mira."] == self.outcome(self.put(asker=self.mira))
        assert 2 == PendingTask.objects.count()

    def test_what_is_no_name_is_refused(self) -> None:
        for name in ("a b", "x" * 65, "dinner/7", "naïve"):
            with self.subTest(name):
                self.refused(self.put(name=name), Reason.INVALID, "1 to 64 of the characters")
        assert ProblemKind.NOT_FOUND is find_request(self.ada_script, None, "a b").problem

    def test_who_leaves_takes_nothing_back(self) -> None:
        """The task goes on, and its answer is kept."""
        asked = self.put()
        pump()
        asked.cancel()
        (error,) = self.outcome(asked)
        assert isinstance(error, CancelledError)
        self.model_answers(reports_of())
        assert [NOON] == self.outcome(self.put())

    def test_what_cannot_be_stored_was_never_asked(self) -> None:
        """The error reaches the program, and the name is free again."""
        with mock.patch.object(type(self.ada_script), "enqueue", side_effect=OSError("full")):
            (error,) = self.outcome(self.put())
        assert isinstance(error, OSError)
        assert ([], False) == (task_waits.every(), PendingTask.objects.exists())


class TestRestart(NamedTest):
    def test_it_is_waited_for_again(self) -> None:
        self.put().addErrback(lambda _: None)
        pump()
        self.restart()
        again = self.put()
        pump()
        self.model.answers.append(reports_of())
        self.model.answer(reports_of())
        assert [NOON] == self.outcome(again)
        assert 1 == PendingTask.objects.count()

    def test_it_is_answered_though_nobody_asks_again(self) -> None:
        asked = ask(self.ada_script, "When?", name=NAME)
        asked.addErrback(lambda _: None)
        pump()
        self.restart()
        pump()
        self.model.answers.append(reports_of())
        self.model_answers(reports_of())
        result = find_request(self.ada_script, None, NAME)
        assert ("answered", NOON) == (result.data.state, result.data.answer)
        calls = len(self.model.bodies)
        assert ([NOON], calls) == (self.outcome(self.put()), len(self.model.bodies))

    def test_a_private_question_stays_quiet(self) -> None:
        """Tools that others would notice are not offered after the restart either."""
        self.put(asker=self.mira).addErrback(lambda _: None)
        pump()
        self.restart()
        (wait,) = task_waits.every()
        pump()
        assert wait.is_quiet
        assert "say" not in self.tools_of(-1)

    def test_what_was_cut_off_is_said_so(self) -> None:
        """It had left the inbox, so that nobody knows its outcome."""
        self.put().addErrback(lambda _: None)
        state.discard(self.ada_script, self.ada_script.work.inbox)
        self.restart()
        assert "the game stopped" in find_request(self.ada_script, None, NAME).data.answer
        self.refused(self.put(), Reason.FAILED, "the game stopped in the middle of it")

    def test_its_time_goes_on(self) -> None:
        """The timeout counts from the first request."""
        self.put(timeout_seconds=30).addErrback(lambda _: None)
        pump()
        self.clock.advance(20)
        self.restart()
        again = self.put()
        self.clock.advance(11)
        self.refused(again, Reason.LATE, "none came within")

    def test_a_pause_leaves_the_wait_as_it_is(self) -> None:
        """Without a restart of the process the wait stays in memory."""
        asked = self.put()
        pump()
        self.ada_script.at_pause()
        self.ada_script.at_start()
        pump()
        self.model.answers.append(reports_of())
        self.model.answer(reports_of())
        assert [NOON] == self.outcome(asked)

    def test_what_cannot_be_read_keeps_no_assistant_from_starting(self) -> None:
        """A game whose tables are missing must start all the same."""
        self.put().addErrback(lambda _: None)
        with self.logged() as lines, mock.patch.object(store, "still_open", side_effect=OSError):
            self.restart()
        assert any("could not be taken up" in line for line in lines)
        assert self.ada_script.work is not None


class TestKept(NamedTest):
    """Rows are bounded, and are deleted with those they are about."""

    def test_an_outcome_that_cannot_be_kept_is_told(self) -> None:
        asked = self.put()
        self.model.answers.append(reports_of())
        with self.logged() as lines, mock.patch.object(store, "close", side_effect=OSError):
            assert [NOON] == self.outcome(asked)
        assert any("could not be kept" in line for line in lines)

    def test_it_is_kept_for_a_day_after_its_time(self) -> None:
        """The next named request deletes it."""
        self.model.answers.extend([reports_of(), reports_of("Two.")])
        assert [NOON] == self.outcome(self.put())
        PendingTask.objects.update(ends_at=self.clock.seconds() - store.KEPT_SECONDS - 1)
        assert ["Two."] == self.outcome(self.put(name="other"))
        assert "other" == self.task().name
        missing = find_request(self.ada_script, None, NAME)
        assert (ProblemKind.NOT_FOUND, True) == (missing.problem, NAME in missing.message)

    def test_the_same_name_is_asked_anew_after_that_day(self) -> None:
        """Also if no other named request came meanwhile, as for a program that asks once a day."""
        self.model.answers.extend([reports_of(), reports_of("Two.")])
        assert [NOON] == self.outcome(self.put())
        PendingTask.objects.update(ends_at=self.clock.seconds() - store.KEPT_SECONDS)
        assert [NOON] == self.outcome(self.put())
        PendingTask.objects.update(ends_at=self.clock.seconds() - store.KEPT_SECONDS - 1)
        assert not find_request(self.ada_script, None, NAME).ok
        assert ["Two."] == self.outcome(self.put())
        assert (store.ANSWERED, "Two.") == (self.task().state, self.task().answer)

    def test_it_goes_with_the_person_and_with_the_assistant(self) -> None:
        self.model.answers.extend([reports_of(), reports_of()])
        assert [NOON] == self.outcome(self.put(asker=self.mira))
        assert [NOON] == self.outcome(self.put())
        operations.forget_everything(self.ada_script, self.mira)
        assert "" == self.task().person
        store.remove_all(self.ada_script.pk)
        assert not PendingTask.objects.exists()
