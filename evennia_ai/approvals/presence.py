"""Questions and waiting answers as time passes and people log in and out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evennia.server import signals
from evennia.utils import logger
from twisted.internet import reactor

from evennia_ai.approvals import store, telling
from evennia_ai.approvals.ending import KEPT_SECONDS
from evennia_ai.approvals.people import may_decide
from evennia_ai.approvals.settling import give_up, is_being_run, notice
from evennia_ai.approvals.waits import WAITING, is_waiting, resolve, review
from evennia_ai.core.safety.questions import Answer, Question, QuestionOutcome
from evennia_ai.core.typed_objects import Account, Being
from evennia_ai.messages.incoming import person_of
from evennia_ai.runtime.assistant import Assistant

NOT_IN_TIME = "nobody answered in time"
UNUSED = "it was answered, and not asked again"
NOT_DONE = "nobody answered question {number} in time: it was not done"


def look_later(script: Assistant, question: Question) -> None:
    """Check a question when its time is over."""
    if question.due:
        script.clock.callLater(max(0.0, question.due - script.clock.seconds()), _tidy, script)


def _tidy(script: Assistant) -> None:
    """Close questions that nobody answered in time; those that are waited for close themselves."""
    work = script.work
    if work is None or work.is_closing or script.pk is None:
        return
    now = script.clock.seconds()
    for question in store.stored(script):
        if question.is_over(now) and not is_waiting(question):
            event = "question_unused" if question.choice else "question_timeout"
            telling.close(script, question, event, UNUSED if question.choice else NOT_IN_TIME)
            if question.call and question.event and not script.silence:
                # No turn waits for a call, so its asker would never hear that it was not done.
                text = NOT_DONE.format(number=question.number)
                script.enqueue(notice(script, question, text))


# Turns that waited have gone with the process; they ask again when they are resumed.
def resume(script: Assistant) -> None:
    """After a start, put the questions to people again."""
    _guarded(lambda: _put_again(script))


def _put_again(script: Assistant) -> None:
    until = script.clock.seconds() + KEPT_SECONDS
    if not (questions := store.stored(script)):
        return  # announcing would look through the questions of every assistant
    for question in questions:
        if is_waiting(question):
            continue
        if is_being_run(question):
            give_up(script, question)
            continue
        # Kept only for a while: the turn that waited may never come back.
        kept_until = until if question.is_waited_for else 0.0
        reopened = replace(question, told=(), kept_until=kept_until)
        store.put(script, reopened)
        look_later(script, reopened)
    _tidy(script)
    telling.announce()


def withdraw_moot(script: Assistant | None = None) -> None:
    """Withdraw the questions that a change of their limits made moot; what waits tries again.

    Args:
        script: only questions that this assistant waits for; None: all.
    """
    if WAITING:
        _guarded(lambda: _withdraw_moot(script))


def _withdraw_moot(script: Assistant | None) -> None:
    for waiting in list(WAITING.values()):
        is_meant = script is None or any(each.script is script for each in waiting.waiters)
        if is_meant and waiting.is_moot is not None and waiting.is_moot():
            moot = Answer(QuestionOutcome.MOOT)
            resolve(waiting, moot, "question_discarded", "the cap was changed meanwhile")


def _greet(account: Account) -> None:
    """Show an account that logs in what it is asked."""
    person = person_of(account)
    for script, question in store.everywhere():
        is_asked = person in question.people
        if is_asked or (question.is_waited_for and may_decide(script, question, account)):
            people = question.people if is_asked else (*question.people, person)
            still_told = tuple(item for item in question.told if item != person)
            store.put(script, replace(question, people=people, told=still_told))
    telling.announce()


def _wake_assistants() -> None:
    """Look at once at messages that may have waited for the person who came."""
    for script in store.assistants():
        if script.work.inbox:
            script.beat_soon()


def _guarded(act: Callable[[], None]) -> None:
    """Run something whose errors must not disturb a login, a logout or a start."""
    try:
        act()
    except Exception:
        logger.log_trace("[assistant] open questions could not be seen to")


def _on_login(sender: Account, **_: Any) -> None:
    # Each guarded by itself, so that one failure does not skip the others.
    _guarded(lambda: _greet(sender))
    _on_puppet(sender)


def _on_puppet(sender: Being, **_: Any) -> None:
    _guarded(review)
    _guarded(_wake_assistants)


def _on_unpuppet(sender: Being, **_: Any) -> None:
    _guarded(review)


def _on_last_logout(sender: Being, **_: Any) -> None:
    # In this signal the account still counts as online.
    reactor.callLater(0, _guarded, review)


def watch() -> None:
    """Connect to Evennia's login and logout signals; calling it again changes nothing."""
    # Not SIGNAL_ACCOUNT_POST_LOGOUT: once anything listens to it, Evennia fails to send it for a
    # guest, whose account is deleted by then, and never closes the session.
    signals.SIGNAL_ACCOUNT_POST_LOGIN.connect(_on_login, dispatch_uid="evennia_ai.login")
    signals.SIGNAL_OBJECT_POST_PUPPET.connect(_on_puppet, dispatch_uid="evennia_ai.puppet")
    signals.SIGNAL_OBJECT_POST_UNPUPPET.connect(_on_unpuppet, dispatch_uid="evennia_ai.unpuppet")
    signals.SIGNAL_ACCOUNT_POST_LAST_LOGOUT.connect(
        _on_last_logout, dispatch_uid="evennia_ai.last_logout"
    )
