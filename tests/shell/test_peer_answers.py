"""Answers of peers to questions about dangerous calls."""

from __future__ import annotations

from uuid import uuid4

from evennia.objects.objects import DefaultObject
from evennia.utils.create import create_object

from evennia_ai import approvals
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.llm.scripted import completion
from evennia_ai.models import PeerTask
from evennia_ai.operations.peers import answers, tasks
from evennia_ai.operations.peers.tasks import Given
from evennia_ai.operations.result import ProblemKind, Result
from evennia_ai.tasks import peer_store
from tests.shell.errand_case import ErrandTest, confirm, reports_of
from tests.shell.support import pump

CONFIG = A2aConfig(port=4006, assistants=("*",))


def get(item: str) -> bytes:
    """A model's answer that takes something."""
    return completion(None, ("get", {"item": item}))


class TestAnswers(ErrandTest):
    """A peer orders Ada to take things, which needs a yes."""

    def setUp(self) -> None:
        super().setUp()
        confirm(self.ada_script)
        for name in ("lamp", "bell"):
            create_object(DefaultObject, key=name, location=self.ada.location)

    def ordered(self, *items: str) -> PeerTask:
        """A task that waits for a yes to take these things."""
        self.model.answers.extend([*map(get, items), reports_of("I need your yes.")])
        given = Given(str(uuid4()), "Take them.", is_order=True)
        task = tasks.begin(self.ada_script, self.account, given, CONFIG).data
        pump()
        tasks.follow(task)
        assert peer_store.AUTH_REQUIRED == task.state
        return task

    def answer(self, task: PeerTask, choice: str = "yes") -> Result[PeerTask]:
        """Answer the open question of a task."""
        given = Given(str(uuid4()), "", choice=choice)
        (outcome,) = self.outcome(answers.answer(self.ada_script, self.account, task, given))
        assert isinstance(outcome, Result)
        return outcome

    def test_a_second_yes_while_the_call_is_run_does_not_end_the_task(self) -> None:
        """The task ends with what the call came to, and not with the refusal of that answer."""
        task = self.ordered("lamp")
        (question,) = approvals.pending(self.ada_script)
        kept = approvals.close_call(self.ada_script, question, "yes", self.account)
        again = self.answer(task)
        task.refresh_from_db()
        assert (ProblemKind.CONFLICT, peer_store.AUTH_REQUIRED) == (again.problem, task.state)
        assert f"Question {kept.number} of task {task.pk} is already answered" in again.message

    def test_each_of_two_calls_gets_its_answer(self) -> None:
        task = self.ordered("lamp", "bell")
        first = self.answer(task)
        assert (True, peer_store.AUTH_REQUIRED) == (first.ok, first.data.state)
        told = peer_store.messages_of(first.data)[-2]
        assert ("agent", first.message) == (told["role"], told["text"])
        second = self.answer(task)
        assert (True, peer_store.COMPLETED) == (second.ok, second.data.state)
        assert {"lamp", "bell"} == {item.key for item in self.ada.contents}
