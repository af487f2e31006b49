"""The people of a question: who is asked, who may answer, and who is present."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import evennia
from evennia.scripts.models import ScriptDB

from evennia_ai.core import typed_objects
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.budget import MOST_KEY, BudgetAccount, account_asked
from evennia_ai.core.safety.questions import Question
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import find_being, id_of, person_of
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import (
    OF_THE_BODY,
    RAISES,
    Right,
    holds,
    is_owner,
    known_permission,
    meets,
    seen,
)
from evennia_ai.tasks import task_waits
from evennia_ai.tools import REGISTRY

ASKER, STAFF = "asker", "staff"


class Elsewhere(NamedTuple):
    """People who are asked by another way than a session of the game.

    Attributes:
        of_task: returns the account that waits for a task, by its event's id; None: nobody does.
    """

    of_task: Callable[[str], Any]
    is_here: Callable[[str], bool]


# Registered ways to reach people; `operations.peers.tasks` adds the accounts of peers.
ELSEWHERE: list[Elsewhere] = []


def _online() -> list[Any]:
    """Accounts with a session that is logged in."""
    accounts = {session.get_account() for session in evennia.SESSION_HANDLER.get_sessions()}
    return sorted(accounts - {None}, key=lambda account: account.pk)


def is_of(script: Assistant, account: BudgetAccount) -> bool:
    """True where a budget account is an assistant's own."""
    return script is not None and str(script.key)[:MOST_KEY].casefold() == account.key


def may_decide(script: Assistant, question: Question, being: Being) -> bool:
    """True where a person has the right over what a question is about.

    A cap on money belongs to the account it is counted in: the game's and a player's are raised by
    owners, an assistant's by those who may configure it. Anything else is for those who control it.
    """
    head, account = head_of(script, question), account_asked(question.asking)
    if account is None:
        return _has(head, being, Right.CONTROL)
    right = RAISES[account.scope]
    if right in OF_THE_BODY:
        whose = next((each for each in (script, head) if is_of(each, account)), None)
        return _has(whose, being, right)
    return is_owner(being) or is_owner(getattr(being, "account", None) or being)


def _has(script: Assistant | None, being: Being, right: Right) -> bool:
    return script is not None and script.obj is not None and holds(script, being, right)


def listeners(script: Assistant, question: Question) -> list[Any]:
    """The accounts present that may decide a question, and those waiting elsewhere."""
    accounts = _here(task_of(question))
    return [account for account in accounts if may_decide(script, question, account)]


def _here(task: str) -> list[Any]:
    waiting = [way.of_task(task) for way in ELSEWHERE]
    return list(dict.fromkeys((*_online(), *filter(None, waiting))))


def task_of(question: Question) -> str:
    """The id of the event that a question is asked for, at the head of its chain."""
    return _head_of_chain(str(question.event.get("id", "")))


def _head_of_chain(number: str) -> str:
    while (wait := task_waits.by_id(number)) is not None and wait.asked_in is not None:
        number = wait.asked_in.id
    return number


def head_of(script: Assistant, question: Question) -> Any:
    """The script whose controllers may answer; None where it was deleted."""
    # A root of 0: the asking assistant is the head of its chain itself.
    return ScriptDB.objects.filter(id=question.root).first() if question.root else script


def is_assistant(being: Being) -> bool:
    """True for an assistant's body or account: assistants answer no questions."""
    account = getattr(being, "account", None) or being
    return bool(
        getattr(being, "assistant_script", None) or account.attributes.get("assistant_body")
    )


def may_answer(script: Assistant, question: Question, person: Being, *, is_staff: bool) -> bool:
    """True where this person may answer a question.

    A question that is waited for: those who may decide it. A call: those who were asked, and staff.
    """
    if is_assistant(person):
        return False
    if question.is_waited_for:
        return may_decide(script, question, person)
    right = right_for(str(question.call["tool"]))
    if right is not None:
        return _has(head_of(script, question), person, right)
    return is_staff or person_of(person) in question.people


def right_for(tool: str) -> Right | None:
    """The right needed to approve a call of a tool; None: being asked is enough."""
    spec = REGISTRY.get(tool)
    return spec.confirmed_by if spec is not None else None


def who_may_allow(script: Assistant, event: Event, tool: str) -> list[Any]:
    """The people asked before a dangerous call: asker, staff online, or those who meet a condition.

    For a tool that names a right, they are those online who have it.
    """
    right = right_for(tool)
    if right is not None:
        here = _here(_head_of_chain(event.id))
        return [account for account in here if _has(script, account, right)]
    by = str(state.read(script, "confirm_by"))
    if by == ASKER:
        being = find_being(event.sender_id)
        # After a hop the sender is another assistant, which must not approve anything.
        return [being] if being is not None and not event.hops else []
    online = _online()
    if by == STAFF:
        return [account for account in online if seen(account).check_permstring("Admin")]
    # Otherwise the setting is the name of a person, or else a permission or lock string.
    # Anybody may be called like a permission, which must not make them approve anything.
    by_name = [
        each for each in online if by.casefold() in _names(each) and not known_permission(by)
    ]
    return by_name or [account for account in online if _meets(script, account, by)]


def _names(account: typed_objects.Account) -> set[str]:
    return {being.key.casefold() for being in (account, *account.get_all_puppets()) if being}


def _meets(script: Assistant, account: Being, condition: str) -> bool:
    try:
        return meets(account, condition, script.obj)
    except ConfigurationError:
        return False


def is_here(person: str) -> bool:
    """True while a person plays, or waits elsewhere."""
    if any(way.is_here(person) for way in ELSEWHERE):
        return True
    forms = {id_of(form) for account in _online() for form in (account, *account.get_all_puppets())}
    return person in forms


def asked_are_here(people: Iterable[str]) -> bool:
    """True while one of these persons is present."""
    return any(map(is_here, people))


def reach(person: str, question: Question) -> Any:
    """The recipient of a line for a person: the account online, else the character that asked."""
    if is_here(person):
        return find_being(person)
    asker = find_being(str(question.event.get("sender_id", "")))
    return asker if asker is not None and person_of(asker) == person else None
