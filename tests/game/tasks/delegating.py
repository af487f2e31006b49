"""A test case of delegation: Ada, who may delegate tasks, and specialists."""

from typing import Any

from evennia_ai import approvals, operations
from evennia_ai.core.safety.questions import YES_NO
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from evennia_ai.tasks import delegations
from tests.game.support import pump
from tests.game.tasks.errand_case import TaskTest

Facts = dict[str, Any]


def hands_on(task: str = "Count the lamps.", **more: str) -> bytes:
    return completion(None, ("delegate_task", {"task": task, **more}))


def reports(message: str = "Seven lamps.") -> bytes:
    return completion(None, ("report", {"message": message}))


class DelegationTest(TaskTest):
    """Ada may delegate tasks to Brass, who has the tag; both have the same clock."""

    def setUp(self) -> None:
        super().setUp()
        self.brass_script, self.brass = self.make_specialist("Brass")
        self.allow(self.ada_script)
        self.ada.locks.add("ai_control:perm(Builder)")

    def make_specialist(self, name: str) -> tuple[Any, Any]:
        """Another assistant that may be given tasks: its script and its body."""
        script, body = self.make(name)
        script.clock = self.clock
        script.tags.add("specialist")
        return script, body

    def allow(self, script: Any, **config: Any) -> None:
        state.write(script, execution_config={"sub_agents_enabled": True, **config})

    def limit(self, script: Any, **safety: Any) -> None:
        state.write(script, safety_config=safety)

    def names(self, prefix: str = "delegation_") -> list[str]:
        return [name for name, _, _ in self.happened if name.startswith(prefix)]

    def open_tasks(self) -> int:
        return delegations.count_of(self.ada_script) + delegations.count_of(self.brass_script)

    # ---- questions -----------------------------------------------------------------------------

    def questions(self) -> list[Any]:
        return [
            (script, question)
            for script in operations.list_assistants()
            for question in approvals.pending(script)
        ]

    def prompts(self) -> list[str]:
        return [question.asking.prompt for _, question in self.questions()]

    def decide(self, choice: str) -> None:
        """Answer the one open question as Tom."""
        ((script, question),) = self.questions()
        wanted = next(item for item in YES_NO if item.id == choice)
        approvals.give(script, question, wanted, self.tom.account)
        pump()
