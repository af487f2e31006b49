"""Acts of people on a question: answer it, claim it, drop it, or stop the asking assistant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evennia_ai.approvals import store, telling
from evennia_ai.approvals.settling import is_being_run
from evennia_ai.approvals.waits import WAITING, is_waiting, leave, resolve
from evennia_ai.core.safety.questions import Answer, Choice, Question, QuestionOutcome
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import person_of
from evennia_ai.runtime.assistant import Assistant

# How long an answer waits for a turn that asks the same again, as after a restart.
KEPT_SECONDS = 300.0


def give(script: Assistant, question: Question, choice: Choice, by: Being) -> bool:
    """Give an answer; the caller has checked the right to.

    Returns:
        True where somebody waits for it; otherwise it is kept for a turn that asks the same again.
    """
    person, waiting = person_of(by), WAITING.get(question.asking.key)
    details = {"by": person, "choice": choice.id}
    if waiting is not None and waiting.number == question.number:
        answer = Answer(QuestionOutcome.ANSWERED, choice.id, by.key)
        resolve(waiting, answer, "question_answered", f"{by.key} answered {choice.id}", **details)
        return True
    # `kept_until` is set after a restart, when the turn that asked may be on its way back.
    until = question.kept_until or script.clock.seconds() + KEPT_SECONDS
    answered = replace(question, choice=choice.id, by=by.key, expires_at=0.0, kept_until=until)
    telling.record("question_answered", script, question, is_kept=True, **details)
    store.put(script, answered)
    telling.announce()
    return False


def claim(script: Assistant, question: Question, by: Being) -> None:
    """Make one person the only one who is asked."""
    person = person_of(by)
    telling.record("question_claimed", script, question, by=person)
    store.put(script, replace(question, people=(person,), told=(person,)))
    telling.announce()


def drop(script: Assistant, question: Question, by: Being) -> None:
    """Close a question without an answer; what waits for it goes on as after a no."""
    details = {"by": person_of(by)}
    _discard(script, question, f"{by.key} dropped it", **details)


def _discard(script: Assistant, question: Question, why: str, **details: Any) -> None:
    waiting = WAITING.get(question.asking.key)
    if waiting is not None and waiting.number == question.number:
        resolve(waiting, Answer(QuestionOutcome.DISCARDED), "question_discarded", why, **details)
    else:
        telling.close(script, question, "question_discarded", why, **details)


def discard_of(script: Assistant, person: str) -> None:
    """Close what an assistant asks because of a person, unless it is waited for or being run.

    Void what is under way for that person first: that closes the questions that are waited for.
    """
    for question in store.stored(script):
        is_theirs = question.event.get("person") == person
        if is_theirs and not (is_waiting(question) or is_being_run(question)):
            _discard(script, question, "whoever it was for is forgotten")


def discard_all(script: Assistant, why: str) -> int:
    """Close all questions of an assistant that was stopped or reset; return their number.

    A question that other assistants share stays open for them. Void what is under way first
    (`runtime.state.bump_epoch`), or it goes on with the refusal.
    """
    count = 0
    for waiting in list(WAITING.values()):
        for waiter in [waiter for waiter in waiting.waiters if waiter.script is script]:
            if len(waiting.waiters) == 1:
                resolve(waiting, Answer(QuestionOutcome.DISCARDED), "question_discarded", why)
            elif leave(waiting, waiter):
                waiter.deferred.callback(Answer(QuestionOutcome.DISCARDED))
            count += 1
    for question in store.stored(script):
        if not is_waiting(question):
            _discard(script, question, why)
            count += 1
    return count
