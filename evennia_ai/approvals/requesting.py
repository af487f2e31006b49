"""Asking and waiting: all who ask the same share one question, and each waits for its own time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from evennia.utils import logger
from twisted.internet.defer import Deferred, succeed

from evennia_ai import audit
from evennia_ai.approvals import store, telling
from evennia_ai.approvals.people import listeners
from evennia_ai.approvals.waits import GRACE_SECONDS, WAITING, Waiter, Waiting, end, leave, review
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.questions import (
    MOST_NAME,
    Answer,
    ApprovalRequest,
    Question,
    QuestionOutcome,
)
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.runtime.assistant import Assistant


class _Itself:
    """Marks that the asking assistant is the head of its chain; None has a meaning of its own."""


ITSELF: Final = _Itself()


def ask(
    script: Assistant,
    asking: ApprovalRequest,
    *,
    timeout_seconds: float = 0.0,
    event: Event | None = None,
    root: Assistant | _Itself | None = ITSELF,
    is_moot: Callable[[], bool] | None = None,
) -> Deferred[Answer]:
    """Ask the people who may decide, and wait for the outcome.

    Asking for the same key while it is open shares the question. Cancelling the Deferred ends this
    one wait; the question is closed with the last.

    Args:
        timeout_seconds: after this the outcome is TIMEOUT; 0: wait for ever.
        root: the script at the head of a chain of delegated tasks, whose controllers are asked;
            None: nobody waits for the task any more, so nobody is asked.
        is_moot: returns True once nothing is left to ask; then the outcome is MOOT.
    """
    waiting = WAITING.get(asking.key)
    # Stored but waited for by nobody: asked before a restart, and perhaps answered since.
    earlier = store.find_key(asking.key) if waiting is None else None
    if root is None:
        waiting = None
    elif earlier is not None and earlier[1].choice:
        return succeed(_use_kept_answer(*earlier))
    elif earlier is not None:
        waiting = _reopen(*earlier)
        timeout_seconds = _seconds_left(*earlier) or timeout_seconds
    elif waiting is None:
        head = script if isinstance(root, _Itself) else root
        waiting = _open_question(script, asking.cleaned(), event, head)
    if waiting is None:
        audit.record("question_nobody", script, kind=asking.kind, key=asking.key)
        return succeed(Answer(QuestionOutcome.NOBODY))
    waiting.is_moot = is_moot
    return _join(waiting, script, timeout_seconds)


def _use_kept_answer(script: Assistant, question: Question) -> Answer:
    """Use an answer that came while nobody waited; it counts once."""
    telling.record("question_used", script, question, choice=question.choice)
    store.close(script, question, question.answer)
    return Answer(QuestionOutcome.ANSWERED, question.choice, question.by)


def _open_question(
    script: Assistant, asking: ApprovalRequest, event: Event | None, head: Assistant
) -> Waiting | None:
    question = Question(
        asking if asking.actor else replace(asking, actor=script.key),
        asked_at=script.clock.seconds(),
        event=event.as_stored() if event is not None else {},
        for_name=one_line(head.key, MOST_NAME) if head is not script else "",
        root=head.id if head is not script else 0,
    )
    people = listeners(script, question)
    if not people:
        return None
    question = telling.ask_these(replace(question, number=store.next_number()), people)
    telling.record("question_asked", script, question, people=question.people)
    store.begin(script, question)
    return Waiting(asking.key, question.number, script)


def _reopen(script: Assistant, question: Question) -> Waiting:
    """Wait again for a question that was asked before a restart; its number stays."""
    now = script.clock.seconds()
    grace_seconds = max(GRACE_SECONDS, question.kept_until - now)
    people = listeners(script, question)
    reopened = telling.ask_these(question, people) if people else replace(question, told=())
    telling.record("question_asked", script, reopened, people=reopened.people, is_again=True)
    store.put(script, replace(reopened, kept_until=0.0))
    return Waiting(question.asking.key, question.number, script, grace_seconds=grace_seconds)


def _seconds_left(script: Assistant, question: Question) -> float:
    """Seconds that a question has left; 0: it never ends."""
    ends = question.expires_at
    # Never 0, which would mean for ever.
    return max(0.001, ends - float(script.clock.seconds())) if ends else 0.0


def _join(waiting: Waiting, script: Assistant, timeout_seconds: float) -> Deferred[Answer]:
    deferred: Deferred[Answer] = Deferred(lambda _: _on_cancelled(waiting, waiter))
    waiter: Waiter = Waiter(script, deferred)
    is_first = not waiting.waiters
    waiting.waiters.append(waiter)
    WAITING[waiting.key] = waiting
    if timeout_seconds > 0:
        waiter.timer = script.clock.callLater(timeout_seconds, _time_out, waiting, waiter)
    _store_end(waiting, timeout_seconds, is_first=is_first)
    telling.announce()
    # The people asked may have left by now, and nothing else would start their grace period.
    review()
    return deferred


def _store_end(waiting: Waiting, timeout_seconds: float, *, is_first: bool) -> None:
    question = waiting.question
    if question is None:
        return
    ends = waiting.owner.clock.seconds() + timeout_seconds if timeout_seconds > 0 else 0.0
    if not is_first:
        # The longest wait counts, and 0 means for ever.
        ends = max(ends, question.expires_at) if ends and question.expires_at else 0.0
    store.put(waiting.owner, replace(question, expires_at=ends))


def _on_cancelled(waiting: Waiting, waiter: Waiter) -> None:
    """End a wait that was cancelled, whatever becomes of the question."""
    try:
        _leave_question(waiting, waiter)
    except Exception:
        logger.log_trace(f"[assistant] question {waiting.number} could not be closed")


def _leave_question(waiting: Waiting, waiter: Waiter) -> None:
    if waiter not in waiting.waiters or leave(waiting, waiter):
        return
    work = waiter.script.work
    question = waiting.question
    # A question that a restart cuts off stays, and is asked again after it.
    if question is not None and not (work is not None and work.is_closing):
        telling.close(waiting.owner, question, "question_dropped", "it is no longer asked")


def _time_out(waiting: Waiting, waiter: Waiter) -> None:
    if waiter not in waiting.waiters:
        return
    try:
        if not leave(waiting, waiter):
            end(waiting, "question_timeout", "nobody answered in time")
    finally:
        # The turn must go on even where the question could not be closed.
        waiter.deferred.callback(Answer(QuestionOutcome.TIMEOUT))
