"""A test case of questions: people with sessions, who log in, are asked, and log out."""

from typing import Any

import evennia
from twisted.internet.defer import Deferred

from evennia_ai import approvals, audit, operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.safety.questions import Answer, ApprovalRequest
from evennia_ai.models import StoredQuestion
from evennia_ai.operations import Result
from evennia_ai.runtime import asked
from tests.game.support import GameTest, account_with, pump
from tests.online import lines_shown, log_in

PROMPT = "I have used my 5 steps. May I have 5 steps more?"


class QuestionsTest(GameTest):
    """Tom, who controls Ada, is online; others log in as a test needs them.

    Attributes:
        records: the recorded events, oldest first, each with its facts.
    """

    cmdsets = (AssistantCmdSet,)

    def setUp(self) -> None:
        super().setUp()
        self.ada.locks.add("ai_control:perm(Builder)")
        self.records: list[tuple[str, dict[str, Any]]] = []
        audit.LISTENERS.append(self._note)
        self.addCleanup(audit.LISTENERS.remove, self._note)
        self.waits: list[Deferred[Answer]] = []

    def tearDown(self) -> None:
        """Cancel all waits for an answer."""
        for wait in self.waits:
            wait.cancel()
        # The test base removes its session, which a test may have removed already.
        evennia.SESSION_HANDLER.setdefault(self.session.sessid, self.session)
        super().tearDown()

    def _note(self, event: str, _subject: str, facts: dict[str, Any]) -> None:
        if event.startswith("question_"):
            self.records.append((event.removeprefix("question_"), facts))

    def events(self) -> list[str]:
        return [event for event, _ in self.records]

    def limit(self, key: str = "tick 1", prompt: str = PROMPT, **more: Any) -> ApprovalRequest:
        return ApprovalRequest(
            f"{key} max_iterations", "safety.limit.max_iterations", prompt, **more
        )

    def put(
        self, script: Any = None, asking: ApprovalRequest | None = None, **options: Any
    ) -> list[Any]:
        """Let an assistant (Ada) ask; the answer or failure is added to the list, once."""
        wait = approvals.ask(script or self.ada_script, asking or self.limit(), **options)
        came: list[Any] = []
        wait.addBoth(came.append)
        self.waits.append(wait)
        return came

    def open_numbers(self, script: Any = None) -> list[int]:
        """The numbers of an assistant's (Ada's) open questions."""
        return [question.number for question in approvals.pending(script or self.ada_script)]

    def damage(self) -> None:
        StoredQuestion.objects.filter(assistant=self.ada_script.pk).update(question="3")
        asked.drop_copy(self.ada_script)

    def reply(
        self, number: int, text: str, person: Any = None, *, is_staff: bool = False
    ) -> Result:
        by = person or self.tom
        got: list[Result] = []
        operations.answer(number, by, text, is_staff=is_staff).addCallback(got.append)
        pump()
        (result,) = got
        return result

    def log_in(self, name: str, permission: str = "Player") -> Any:
        account = account_with(name, permission)
        self.addCleanup(account.delete)
        self.come_back(account)
        return account

    def come_back(self, account: Any) -> None:
        """Log an account in, by a session of its own."""
        session = log_in(account)
        self.addCleanup(evennia.SESSION_HANDLER.pop, session.sessid, None)

    def log_out(self, account: Any) -> None:
        disconnect = self.backups[1]  # the test base puts a double in its place
        for session in account.sessions.all():
            disconnect(session, sync_portal=False)
        pump()

    def told(self, account: Any) -> list[str]:
        """The lines about questions that an account's client shows."""
        return [line for line in lines_shown(account) if "uestion " in line]

    def questions_of(self, person: Any, *, is_staff: bool = False) -> Result:
        return operations.questions(person, is_staff=is_staff)
