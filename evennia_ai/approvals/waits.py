"""Waits for questions: each is ended by exactly one thing, once.

The question is in the database; its waiters are in here, and both end together. Only a restart
separates them: then the question stays for a turn that asks the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai.approvals import store, telling
from evennia_ai.approvals.people import asked_are_here, listeners
from evennia_ai.core.safety.questions import Answer, Question, QuestionOutcome
from evennia_ai.runtime.assistant import Assistant

# How long a question waits for people to come back when nobody is left who may answer it.
GRACE_SECONDS = 10.0


@dataclass(slots=True, eq=False)
class Waiter:
    """One turn, or other work, that waits for an answer.

    Attributes:
        timer: ends its wait, or None.
    """

    script: Assistant
    deferred: Deferred[Answer]
    timer: Any = None

    def stop(self) -> None:
        """Stop the timer."""
        if self.timer is not None and self.timer.active():
            self.timer.cancel()


@dataclass(slots=True, eq=False)
class Waiting:
    """A question that somebody waits for.

    Attributes:
        grace: the timer that ends the wait if nobody who may answer comes back, or None.
        grace_seconds: how long that is.
        is_moot: returns True once nothing is left to ask, as after a changed cap; None: never.
    """

    key: str
    number: int
    owner: Assistant
    waiters: list[Waiter] = field(default_factory=list)
    grace: Any = None
    grace_seconds: float = GRACE_SECONDS
    is_moot: Callable[[], bool] | None = None

    @property
    def question(self) -> Question | None:
        """The stored question; None where it, or its owner, was deleted."""
        if self.owner.pk is None:
            return None
        return next((q for q in store.stored(self.owner) if q.number == self.number), None)

    def stop_grace(self) -> None:
        """Stop the grace timer."""
        if self.grace is not None and self.grace.active():
            self.grace.cancel()
        self.grace = None


# The questions that are waited for in this process, by key.
WAITING: dict[str, Waiting] = {}


def start_anew() -> None:
    """Forget all waits without telling anybody: between two tests with separate databases."""
    for waiting in WAITING.values():
        waiting.stop_grace()
        for waiter in waiting.waiters:
            waiter.stop()
    WAITING.clear()


def is_waiting(question: Question) -> bool:
    """True where something in this process waits for the question."""
    waiting = WAITING.get(question.asking.key)
    # The same key may have been asked again, under another number.
    return waiting is not None and waiting.number == question.number


def leave(waiting: Waiting, waiter: Waiter) -> bool:
    """Remove one waiter. Returns True if others still wait."""
    waiter.stop()
    waiting.waiters.remove(waiter)
    if not waiting.waiters:
        del WAITING[waiting.key]
        waiting.stop_grace()
        return False
    # The question moves to an assistant that still waits for it.
    if all(other.script is not waiting.owner for other in waiting.waiters):
        _hand_over(waiting, waiting.waiters[0].script)
    return True


def _hand_over(waiting: Waiting, heir: Assistant) -> None:
    """Store a question with another waiter, because its owner no longer waits."""
    question = waiting.question
    if question is not None:
        root = question.root or waiting.owner.id
        telling.record("question_handed_on", waiting.owner, question, to=heir.key)
        telling.record("question_asked", heir, question, people=question.people, is_again=True)
        store.transfer(waiting.owner, heir, replace(question, root=root))
    waiting.owner = heir


def end(waiting: Waiting, event: str, why: str, **details: Any) -> None:
    """Close the stored question, and tell those who were asked; see `telling.close`."""
    question = waiting.question
    if question is not None:
        telling.close(waiting.owner, question, event, why, **details)


def resolve(waiting: Waiting, answer: Answer, event: str, why: str, **details: Any) -> None:
    """End a question for all waiters. From here on nothing else can end it."""
    waiters = list(waiting.waiters)
    waiting.waiters.clear()
    WAITING.pop(waiting.key, None)
    waiting.stop_grace()
    for waiter in waiters:
        waiter.stop()
    try:
        end(waiting, event, why, **details)
    finally:  # a database error must not keep anybody waiting for ever
        for waiter in waiters:
            # The first waiter to go on may cancel the others.
            if not waiter.deferred.called:
                waiter.deferred.callback(answer)


def review() -> None:
    """After somebody came or went, ask those present, or wait a while for people to return."""
    for waiting in list(WAITING.values()):
        question = waiting.question
        if question is None:
            resolve(waiting, Answer(QuestionOutcome.DISCARDED), "question_discarded", "it is gone")
            continue
        here = listeners(waiting.owner, question)
        if not here:
            if waiting.grace is None:
                clock = waiting.owner.clock
                waiting.grace = clock.callLater(waiting.grace_seconds, _give_up, waiting)
            continue
        waiting.stop_grace()
        if not asked_are_here(question.people):
            store.put(waiting.owner, telling.ask_these(question, here))
            telling.announce()


def _give_up(waiting: Waiting) -> None:
    """End a question for which nobody who may answer came back."""
    waiting.grace = None
    question = waiting.question
    if question is not None and listeners(waiting.owner, question):
        return
    resolve(
        waiting, Answer(QuestionOutcome.NOBODY), "question_nobody", "nobody who may answer is here"
    )
