"""Asking and waiting: one question for all who ask the same, and each waits his own time."""

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
    """Whoever asks is at the head of its chain itself."""


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
    """Ask whoever may decide it, and wait for what comes of it.

    Who asks the same key while it is open shares the question. Cancelling the Deferred ends this
    one wait; the question goes with the last.

    Args:
        timeout_seconds: after this the outcome is TIMEOUT; 0: wait for ever.
        event: what the assistant is at.
        root: the script at the head of a chain of delegated tasks, whose controllers are asked;
            None: nobody waits for the task any more, so nobody is asked.
        is_moot: true once nothing is left to ask: then the outcome is MOOT.
    """
    waiting = WAITING.get(asking.key)
    kept = store.find_key(asking.key) if waiting is None else None
    if root is None:
        waiting = None
    elif kept is not None and kept[1].choice:
        return succeed(_use(*kept))
    elif kept is not None:
        waiting = _go_on(*kept)
        timeout_seconds = _left(*kept) or timeout_seconds
    elif waiting is None:
        head = script if isinstance(root, _Itself) else root
        waiting = _open(script, asking.cleaned(), event, head)
    if waiting is None:
        audit.record("question_nobody", script, kind=asking.kind, key=asking.key)
        return succeed(Answer(QuestionOutcome.NOBODY))
    waiting.is_moot = is_moot
    return _join(waiting, script, timeout_seconds)


def _use(script: Assistant, question: Question) -> Answer:
    """An answer that came while nobody waited: it counts once."""
    telling.record("question_used", script, question, choice=question.choice)
    store.close(script, question, question.answer)
    return Answer(QuestionOutcome.ANSWERED, question.choice, question.by)


def _open(
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


def _go_on(script: Assistant, question: Question) -> Waiting:
    """Somebody waits again for what was asked before a restart: the number stays."""
    now = script.clock.seconds()
    grace_seconds = max(GRACE_SECONDS, question.kept_until - now)
    people = listeners(script, question)
    found = telling.ask_these(question, people) if people else replace(question, told=())
    telling.record("question_asked", script, found, people=found.people, is_again=True)
    store.put(script, replace(found, kept_until=0.0))
    return Waiting(question.asking.key, question.number, script, grace_seconds=grace_seconds)


def _left(script: Assistant, question: Question) -> float:
    """Seconds that a question has left; 0: it never ends."""
    ends = question.expires_at
    # Never 0, which means for ever.
    return max(0.001, ends - float(script.clock.seconds())) if ends else 0.0


def _join(waiting: Waiting, script: Assistant, timeout_seconds: float) -> Deferred[Answer]:
    deferred: Deferred[Answer] = Deferred(lambda _: _forsake(waiting, waiter))
    waiter: Waiter = Waiter(script, deferred)
    is_first = not waiting.waiters
    waiting.waiters.append(waiter)
    WAITING[waiting.key] = waiting
    if timeout_seconds > 0:
        waiter.timer = script.clock.callLater(timeout_seconds, _time_out, waiting, waiter)
    _note_end(waiting, timeout_seconds, is_first=is_first)
    telling.announce()
    # Whoever was asked may have left by now, and nothing else would begin the grace for that.
    review()
    return deferred


def _note_end(waiting: Waiting, timeout_seconds: float, *, is_first: bool) -> None:
    question = waiting.question
    if question is None:
        return
    ends = waiting.owner.clock.seconds() + timeout_seconds if timeout_seconds > 0 else 0.0
    if not is_first:
        # The longest of the waits counts, and 0 is for ever.
        ends = max(ends, question.expires_at) if ends and question.expires_at else 0.0
    store.put(waiting.owner, replace(question, expires_at=ends))


def _forsake(waiting: Waiting, waiter: Waiter) -> None:
    """One who waits is cancelled, and that goes through, whatever becomes of the question."""
    try:
        _let_go(waiting, waiter)
    except Exception:
        logger.log_trace(f"[assistant] question {waiting.number} could not be closed")


def _let_go(waiting: Waiting, waiter: Waiter) -> None:
    if waiter not in waiting.waiters or leave(waiting, waiter):
        return
    work = waiter.script.work
    question = waiting.question
    # What a restart cuts off is asked again after it.
    if question is not None and not (work is not None and work.is_closing):
        telling.close(waiting.owner, question, "question_dropped", "it is no longer asked")


def _time_out(waiting: Waiting, waiter: Waiter) -> None:
    """One has waited as long as he would."""
    if waiter not in waiting.waiters:
        return
    try:
        if not leave(waiting, waiter):
            end(waiting, "question_timeout", "nobody answered in time")
    finally:
        # Whoever waits goes on also where the question could not be closed.
        waiter.deferred.callback(Answer(QuestionOutcome.TIMEOUT))
