"""Later messages about a peer's task: the answer to its open question, and its cancellation."""

from __future__ import annotations

from uuid import uuid4

from twisted.internet.defer import Deferred, succeed

from evennia_ai import approvals, audit
from evennia_ai.approvals import store as questions
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.typed_objects import Account
from evennia_ai.models import PeerTask
from evennia_ai.operations.conversation.questions import answer as answer_question
from evennia_ai.operations.peers import states
from evennia_ai.operations.peers.tasks import Given, account_of, follow, open_question
from evennia_ai.operations.result import ProblemKind, Result
from evennia_ai.runtime.rights import is_staff
from evennia_ai.tasks import peer_store, programs, task_waits
from evennia_ai.tasks.programs import Reason

IS_OVER = "Task {number} is over, it is {state}; give another one."
CALLED_OFF = "the peer canceled it"


def answer(
    script: AssistantScript, account: Account, task: PeerTask, given: Given
) -> Deferred[Result[PeerTask]]:
    """Answer the question that a task waits for.

    The account needs the same right as anybody: a limit, say, is for those who run the assistant.
    """
    follow(task)
    if refused := _refusal(task, given):
        return succeed(refused)
    # A dangerous action is allowed only by an explicit choice, never by a text that may mean yes.
    is_plain = task.state == peer_store.INPUT_REQUIRED
    text = given.choice or (given.text if is_plain else "")
    number = task.question
    if not text:
        message = f"Question {number} needs its answer as metadata: choice_id."
        return succeed(Result.invalid(message))
    running = answer_question(number, account, text, is_staff=is_staff(account))
    return running.addCallback(_answered, task, given, number)


def _refusal(task: PeerTask, given: Given) -> Result | None:
    if task.state in peer_store.FINAL:
        if given.choice and task.question:
            return Result.conflict(_already(task))
        return Result.conflict(IS_OVER.format(number=task.pk, state=task.state))
    # A peer that got no reply sends its message again; it must not answer the next question.
    if any(word["id"] == given.id for word in peer_store.messages_of(task)[1:]):
        problem = (
            f"Message {given.id[:64]!r} was already answered; a new one needs an id of its own."
        )
        return Result.conflict(problem)
    if task.state not in peer_store.ASKING:
        idle = f"Task {task.pk} is being worked on, and asks you nothing."
        return Result.conflict(_already(task) if task.question else idle)
    if given.question and given.question != task.question:
        return Result.conflict(
            f"Question {given.question} is already answered or was never asked; {task.question} "
            "is open."
        )
    # The call that was allowed may still be run: then another answer must not end the task.
    return Result.conflict(_already(task)) if questions.find(task.question) is None else None


def _already(task: PeerTask) -> str:
    why = questions.why_closed(task.question) or "nobody waits for it any more"
    return f"Question {task.question} of task {task.pk} is already answered: {why}."


def _answered(outcome: Result, task: PeerTask, given: Given, number: int) -> Result[PeerTask]:
    if questions.find(number) is not None:  # still open: the message was not a valid answer
        return Result(False, outcome.message, problem=outcome.problem or ProblemKind.INVALID)
    peer_store.add_message(task, given.as_word())
    if task.state == peer_store.AUTH_REQUIRED:
        if open_question(task, account_of(task), is_call=True) is None:
            states.end(task, peer_store.COMPLETED, outcome.message)
        else:  # another call waits for its own yes; `follow` asks about it
            message = {"id": str(uuid4()), "role": "agent", "text": outcome.message}
            peer_store.add_message(task, message)
    elif task.state not in peer_store.FINAL:
        states.move(task, peer_store.WORKING)
    follow(task)
    return Result(True, outcome.message, task)


def cancel(script: AssistantScript, account: Account, task: PeerTask) -> Result[PeerTask]:
    """Cancel a task, and drop what is under way for it."""
    follow(task)
    if task.state in peer_store.FINAL:
        return Result.conflict(IS_OVER.format(number=task.pk, state=task.state))
    if task.state == peer_store.AUTH_REQUIRED:
        entry = questions.find(task.question)
        if entry is not None:
            approvals.drop(*entry, account)
    # First, since giving up the wait would end the task as failed.
    states.end(task, peer_store.CANCELED, f"{CALLED_OFF}.")
    wait = task_waits.by_id(task.request)
    if isinstance(wait, programs.ProgramRequest):
        task_waits.give_up(wait, wait.refusal(CALLED_OFF, Reason.STOPPED))
    audit.record("peer_canceled", script, by=str(account.key), task=task.pk)
    return Result(True, f"Task {task.pk} is canceled.", task)
