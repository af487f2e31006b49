"""Access checks of web callers: may an account ask at all, and about which assistant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia.accounts.accounts import DefaultAccount, DefaultGuest
from evennia.accounts.models import AccountDB
from twisted.internet.defer import Deferred, succeed

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.typed_objects import Account
from evennia_ai.operations.naming import assistant_for, find_assistant
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights.acts import ACTS, find_all_allowed, refusal
from evennia_ai.runtime.rights import OF_THE_BODY, is_staff

LONGEST_KEY = 200  # characters; a longer name in a URL cannot be an assistant's
NOT_YOURS = "You may not do that: it needs a right that you do not have."


def account_of(pk: int, address: str) -> Result[Account]:
    """The calling account, or a refusal; a deleted or deactivated account is `missing`.

    Args:
        pk: primary key of the account.
        address: network address of the request.
    """
    account: Account | None = AccountDB.objects.filter(pk=pk).first()
    if account is None or not account.is_active:
        return Result.not_found("This account is deleted or disabled.")
    if DefaultAccount.is_banned(username=str(account.username), ip=address):
        return Result.forbidden("You are banned from this game.")
    if isinstance(account, DefaultGuest):
        return Result.forbidden("Guests may not do this from the web.")
    if account.attributes.get("assistant_body"):
        return Result.forbidden("Assistants may not do this from the web.")
    return Result(True, "", account)


def find_allowed(act: str, person: Account, key: str | None) -> Result[AssistantScript | None]:
    """Find an assistant by name, if the person may do the act to it; None where none is named.

    A caller who may not see assistants gets the same answer whether it exists or not, so that
    names cannot be guessed. For what everybody may do, any name may be asked for, as in the game.
    """
    if act and (key is None or ACTS[act] not in OF_THE_BODY):
        refused = refusal(act, person)
        if refused is not None:
            return refused
    if key is None:
        return Result(True, "", None)
    if not act or ACTS[act] not in OF_THE_BODY:
        return _find(key, person)
    found = _find(key, person, is_told=is_staff(person))
    if not found.ok:
        return found
    refused = refusal(act, person, found.data)
    if refused is None:
        return found
    return refused if is_staff(person) else Result(False, NOT_YOURS, problem=refused.problem)


def for_all_allowed(
    act: str, person: Account, do: Callable[[list[AssistantScript]], Deferred[Result[Any]]]
) -> Deferred[tuple[Result[Any], list[str]]]:
    """Apply an operation to all assistants that a person may do an act to.

    Returns:
        The result, a refusal if there are assistants but the person has the right for none of
        them; and the names of the other assistants.
    """
    mine, others = find_all_allowed(act, person)
    if others and not mine:
        return succeed((Result.forbidden(NOT_YOURS), []))
    names = [name for name, _ in others]
    return do(mine).addCallback(lambda done: (done, names))


def _find(key: str, person: Account, *, is_told: bool = True) -> Result[AssistantScript | None]:
    known = key.isprintable() and len(key) <= LONGEST_KEY
    script = assistant_for(key, person, find_assistant) if known else None
    if script is not None:
        return Result(True, "", script)
    if not is_told:
        return Result.forbidden(NOT_YOURS)
    return Result.not_found(f"There is no assistant named {key[:60]!r}.")
