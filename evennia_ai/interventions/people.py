"""Who is asked, who may answer, and who of them is here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import evennia
from evennia.scripts.models import ScriptDB

from evennia_ai import state
from evennia_ai.core.inbox import Event
from evennia_ai.core.questions import Question
from evennia_ai.errors import ConfigurationError
from evennia_ai.inbound import find_being, id_of, person_of
from evennia_ai.rights import meets

ASKER, STAFF = "asker", "staff"
CONTROL = "control"


def _online() -> list[Any]:
    """Accounts with a session that is logged in."""
    accounts = {session.get_account() for session in evennia.SESSION_HANDLER.get_sessions()}
    return sorted(accounts - {None}, key=lambda account: account.pk)


def _beings(being: Any) -> list[Any]:
    """A person in all forms: a character, its account, and the other characters of that."""
    account = getattr(being, "account", None) or being
    puppets = account.get_all_puppets() if hasattr(account, "get_all_puppets") else []
    return [being, account, *filter(None, puppets)]


def controls(script: Any, being: Any) -> bool:
    """Whether the assistant's lock `control` lets a person pass, in any of its forms."""
    body = script.obj if script is not None else None
    if body is None:
        return False
    is_locked = bool(body.locks.get(CONTROL))
    return any(
        body.access(form, CONTROL) if is_locked else form.check_permstring("Builder")
        for form in _beings(being)
    )


def listeners(script: Any) -> list[Any]:
    """The accounts online that may decide for an assistant."""
    return [account for account in _online() if controls(script, account)]


def head_of(script: Any, question: Question) -> Any:
    """The script whose controllers may answer; None when it was deleted."""
    return ScriptDB.objects.filter(id=question.root).first() if question.root else script


def is_assistant(being: Any) -> bool:
    """Whether a being is an assistant's body or account: no assistant answers any."""
    account = getattr(being, "account", None) or being
    return bool(
        getattr(being, "assistant_script", None) or account.attributes.get("assistant_body")
    )


def may_answer(script: Any, question: Question, person: Any, *, is_staff: bool) -> bool:
    """Whether this person may answer a question.

    What is waited for, whoever controls the assistant; a call, whoever was asked, or staff.
    """
    if is_assistant(person):
        return False
    if question.is_waited_for:
        return controls(head_of(script, question), person)
    return is_staff or person_of(person) in question.people


def who_may_allow(script: Any, event: Event) -> list[Any]:
    """Who is asked before a dangerous call: the asker, staff online, or who meets a condition."""
    by = str(state.read(script, "confirm_by"))
    if by == ASKER:
        being = find_being(event.sender_id)
        return [being] if being is not None and not event.hops else []
    online = _online()
    if by == STAFF:
        return [account for account in online if account.check_permstring("Admin")]
    named = [account for account in online if by.casefold() in _names(account)]
    return named or [account for account in online if _meets(script, account, by)]


def _names(account: Any) -> set[str]:
    return {being.key.casefold() for being in (account, *account.get_all_puppets()) if being}


def _meets(script: Any, account: Any, condition: str) -> bool:
    try:
        return meets(account, condition, script.obj)
    except ConfigurationError:
        return False


def is_here(person: str) -> bool:
    """Whether a person plays now."""
    forms = {id_of(form) for account in _online() for form in _beings(account)}
    return person in forms


def asked_are_here(people: Iterable[str]) -> bool:
    """Whether one of these persons plays now."""
    return any(map(is_here, people))


def reach(person: str, question: Question) -> Any:
    """What a line for a person is sent to: the account online, else the character that asked.

    Returns:
        None while the person is away.
    """
    if is_here(person):
        return find_being(person)
    asker = find_being(str(question.event.get("sender_id", "")))
    return asker if asker is not None and person_of(asker) == person else None
