"""Questions and waiting answers as time passes and people come and go."""

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
from evennia_ai.approvals.settling import give_up, is_being_run
from evennia_ai.approvals.waits import WAITING, is_waiting, resolve, review
from evennia_ai.core.safety.questions import Answer, Question, QuestionOutcome
from evennia_ai.core.typed_objects import Account, Being
from evennia_ai.messages.incoming import person_of
from evennia_ai.runtime.assistant import Assistant

NOT_IN_TIME = "nobody answered in time"
UNUSED = "it was answered, and not asked again"


def look_later(script: Assistant, question: Question) -> None:
    """See to a question when its time is over."""
    if question.due:
        script.clock.callLater(max(0.0, question.due - script.clock.seconds()), _tidy, script)


def _tidy(script: Assistant) -> None:
    """Close what nobody answered in time. What somebody waits for closes itself."""
    work = script.work
    if work is None or work.is_closing or script.pk is None:
        return
    now = script.clock.seconds()
    for question in store.stored(script):
        if question.is_over(now) and not is_waiting(question):
            event = "question_unused" if question.choice else "question_timeout"
            telling.close(script, question, event, UNUSED if question.choice else NOT_IN_TIME)


def take_up(script: Assistant) -> None:
    """After a start: put the questions again, and keep those that nobody waits for but a while.

    Whoever waited has gone with the process. He asks again when his turn is taken up.
    """
    _guarded(lambda: _put_again(script))


def _put_again(script: Assistant) -> None:
    until = script.clock.seconds() + KEPT_SECONDS
    if not (questions := store.stored(script)):
        return  # to look whom others ask means to look at every assistant
    for question in questions:
        if is_waiting(question):
            continue
        if is_being_run(question):
            give_up(script, question)
            continue
        kept_until = until if question.is_waited_for else 0.0
        found = replace(question, told=(), kept_until=kept_until)
        store.put(script, found)
        look_later(script, found)
    _tidy(script)
    telling.announce()


def withdraw_moot(script: Assistant | None = None) -> None:
    """Withdraw the questions that a change of their caps leaves nothing of; who waits tries again.

    Args:
        script: only what this assistant waits for; None: whatever anybody does.
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
    """Show somebody who logs in what is asked of him."""
    person = person_of(account)
    for script, question in store.everywhere():
        is_asked = person in question.people
        if is_asked or (question.is_waited_for and may_decide(script, question, account)):
            people = question.people if is_asked else (*question.people, person)
            told = tuple(item for item in question.told if item != person)
            store.put(script, replace(question, people=people, told=told))
    telling.announce()


def _call() -> None:
    """Somebody came: what waited for them is looked at now, not with the next beat."""
    for script in store.assistants():
        if script.work.inbox:
            script.beat_soon()


def _guarded(act: Callable[[], None]) -> None:
    """Do something that must keep nobody from logging in or out, and no assistant from starting."""
    try:
        act()
    except Exception:
        logger.log_trace("[assistant] open questions could not be seen to")


def _on_login(sender: Account, **_: Any) -> None:
    # Each guarded by itself, so that one that fails keeps none of the others from running.
    _guarded(lambda: _greet(sender))
    _guarded(review)
    _guarded(_call)


def _on_puppet(sender: Being, **_: Any) -> None:
    _guarded(review)
    _guarded(_call)


def _on_unpuppet(sender: Being, **_: Any) -> None:
    _guarded(review)


def _on_last_logout(sender: Being, **_: Any) -> None:
    """Look who is left, as soon as the account has left."""
    reactor.callLater(0, _guarded, review)


def watch() -> None:
    """Follow who comes and goes; more than once is the same as once.

    Nothing listens to SIGNAL_ACCOUNT_POST_LOGOUT: as soon as anything does, Evennia fails to send
    it for a guest, whose account is deleted by then, and never closes the session.
    """
    signals.SIGNAL_ACCOUNT_POST_LOGIN.connect(_on_login, dispatch_uid="evennia_ai.login")
    signals.SIGNAL_OBJECT_POST_PUPPET.connect(_on_puppet, dispatch_uid="evennia_ai.puppet")
    signals.SIGNAL_OBJECT_POST_UNPUPPET.connect(_on_unpuppet, dispatch_uid="evennia_ai.unpuppet")
    signals.SIGNAL_ACCOUNT_POST_LAST_LOGOUT.connect(
        _on_last_logout, dispatch_uid="evennia_ai.last_logout"
    )
