"""Waits for questions: each is ended by one thing, once.

A question is stored; who waits for it lives here, and both end together. Only a restart parts them:
then the question stays, for whoever asks the same again.
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

GRACE_SECONDS = 10.0


@dataclass(slots=True, eq=False)
class Waiter:
    """One who asked.

    Attributes:
        timer: ends his wait, or None.
    """

    script: Assistant
    deferred: Deferred[Answer]
    timer: Any = None

    def stop(self) -> None:
        """His time no longer counts."""
        if self.timer is not None and self.timer.active():
            self.timer.cancel()


@dataclass(slots=True, eq=False)
class Waiting:
    """A question somebody waits for.

    Attributes:
        owner: the script that stores it.
        grace: ends the wait when nobody who may answer comes back, or None.
        grace_seconds: how long that is.
        is_moot: true once nothing is left to ask, since the cap is another; None: never.
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
        """The stored question; None when somebody deleted that, or its owner."""
        if self.owner.pk is None:
            return None
        return next((q for q in store.stored(self.owner) if q.number == self.number), None)

    def rest(self) -> None:
        """Nobody needs to come back any more."""
        if self.grace is not None and self.grace.active():
            self.grace.cancel()
        self.grace = None


WAITING: dict[str, Waiting] = {}


def start_anew() -> None:
    """Forget who waits, untold: between two tests, which have a database each."""
    for waiting in WAITING.values():
        waiting.rest()
        for waiter in waiting.waiters:
            waiter.stop()
    WAITING.clear()


def is_waiting(question: Question) -> bool:
    """True where somebody in this process waits for it."""
    found = WAITING.get(question.asking.key)
    # The same key may be asked once more, under another number.
    return found is not None and found.number == question.number


def leave(waiting: Waiting, waiter: Waiter) -> bool:
    """Take one out of those who wait; whether others still do."""
    waiter.stop()
    waiting.waiters.remove(waiter)
    if not waiting.waiters:
        del WAITING[waiting.key]
        waiting.rest()
        return False
    if all(other.script is not waiting.owner for other in waiting.waiters):
        _hand_over(waiting, waiting.waiters[0].script)
    return True


def _hand_over(waiting: Waiting, heir: Assistant) -> None:
    """The one who stored a question no longer waits, so another stores it."""
    question = waiting.question
    if question is not None:
        root = question.root or waiting.owner.id
        telling.record("question_handed_on", waiting.owner, question, to=heir.key)
        telling.record("question_asked", heir, question, people=question.people, is_again=True)
        store.hand_on(waiting.owner, heir, replace(question, root=root))
    waiting.owner = heir


def end(waiting: Waiting, event: str, why: str, **facts: Any) -> None:
    """Take out what is stored of it, and tell who was asked; see `telling.close`."""
    question = waiting.question
    if question is not None:
        telling.close(waiting.owner, question, event, why, **facts)


def resolve(waiting: Waiting, answer: Answer, event: str, why: str, **facts: Any) -> None:
    """End a question for all who wait. From here on no one else can end it."""
    waiters = list(waiting.waiters)
    waiting.waiters.clear()
    WAITING.pop(waiting.key, None)
    waiting.rest()
    for waiter in waiters:
        waiter.stop()
    try:
        end(waiting, event, why, **facts)
    finally:  # nobody waits for ever because the database is full
        for waiter in waiters:
            # What goes on with the first answer may cancel the others.
            if not waiter.deferred.called:
                waiter.deferred.callback(answer)


def review() -> None:
    """Somebody came or went: ask those who are here, or wait a while for somebody to come back."""
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
        waiting.rest()
        if not asked_are_here(question.people):
            store.put(waiting.owner, telling.ask_these(question, here))
            telling.announce()


def _give_up(waiting: Waiting) -> None:
    """Nobody who may answer came back."""
    waiting.grace = None
    question = waiting.question
    if question is not None and listeners(waiting.owner, question):
        return
    resolve(
        waiting, Answer(QuestionOutcome.NOBODY), "question_nobody", "nobody who may answer is here"
    )
