"""Rights of people: one table of acts, checked by commands, the API and the pages alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia.accounts.accounts import DefaultAccount, DefaultGuest
from evennia.accounts.models import AccountDB
from twisted.internet.defer import Deferred, succeed

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.typed_objects import Account, Being
from evennia_ai.operations.naming import assistant_for, find_assistant, list_assistants
from evennia_ai.operations.result import Result
from evennia_ai.runtime.rights import (
    OF_THE_BODY,
    RAISES,
    Right,
    has_right,
    is_owner,
    is_staff,
    lacking,
    name_before,
    wanted,
)

# What all players may do for themselves (why, mute, questions, answer, hush, and what is
# remembered of them) is not an act: its operation checks that itself.
ACTS: dict[str, Right] = {
    "list": Right.STAFF,
    "status": Right.STAFF,
    "create": Right.STAFF,
    "adopt": Right.STAFF,  # and a lock of the NPC itself, which `adoption` checks
    "check": Right.STAFF,
    "usage": Right.STAFF,
    "peers": Right.STAFF,
    "events": Right.STAFF,
    "audit": Right.STAFF,
    "show configuration": Right.STAFF,
    "show history": Right.STAFF,
    "show prompts": Right.STAFF,
    "show tools": Right.STAFF,
    "show breakers": Right.STAFF,
    "show memories": Right.STAFF,
    "clone": Right.CONFIGURE,
    "delete": Right.DELETE,
    "release": Right.DELETE,
    "update": Right.CONFIGURE,
    "move": Right.MOVE,
    "start": Right.CONTROL,
    "stop": Right.CONTROL,
    "emergency stop": Right.CONTROL,
    "emergency clear": Right.CONTROL,
    "configure": Right.CONFIGURE,
    "configure powers": Right.OWNER,  # command_allowlist, attribute_allowlist, private_words
    "undo": Right.CONFIGURE,  # and the acts that the edit itself needed: `undoing.acts_of`
    "reset history": Right.MEMORY,
    "export history": Right.MEMORY,
    "tell": Right.CONTROL,
    "execute tool": Right.CONTROL,
    "try messages": Right.CONTROL,  # and the right to see its prompts, by ALSO
    "reset breaker": Right.CONTROL,
    "goal": Right.CONTROL,
    "reveal": Right.CONTROL,  # private words, on a page
    "channel": Right.CONFIGURE,
    "account": Right.CONFIGURE,
    "raise budget": RAISES[Scope.ASSISTANT],
    "export audit": Right.CONFIGURE,
    "archive audit": Right.CONFIGURE,
    "change memories": Right.MEMORY,
    "sleep": Right.CONTROL,
    "change lore": Right.OWNER,
    "allow remote tools": Right.OWNER,
    "tokens of others": Right.OWNER,
    "raise budget of the game": RAISES[Scope.GAME],
    "raise budget of a player": RAISES[Scope.PLAYER],
    "reset breaker of the game": Right.OWNER,
    "export assistant": Right.OWNER,  # the file holds every private word
    "import assistant": Right.OWNER,
    "remove all": Right.OWNER,
}

# Acts that need the right to another act too, since they reveal or do the same: a message that is
# tried shows the whole prompt.
ALSO: dict[str, str] = {"try messages": "show prompts"}


def refusal(
    act: str,
    person: Being,
    script: AssistantScript | None = None,
    *,
    counts_as_staff: bool | None = None,
) -> Result | None:
    """Check a right: None where a person may do an act, else a refusal that says what is missing.

    A refused attempt to change something is recorded in the audit log.

    Args:
        act: a name in ACTS.
        script: the assistant the act is done to; None for acts without one.
        counts_as_staff: decided by a lock of the command; None: decided by the game's setting.
    """
    if act in ALSO:
        refused = refusal(ALSO[act], person, script, counts_as_staff=counts_as_staff)
        if refused is not None:
            return refused
    right = ACTS[act]
    staff = is_staff(person) if counts_as_staff is None else counts_as_staff
    if right in OF_THE_BODY and script is not None:
        if may_control(script, person, is_staff=staff, right=right):
            return None
        return refuse_control(script, person, act, right)
    if staff if right is Right.STAFF else is_owner(person):
        return None
    if right is Right.OWNER:
        audit.record("control_refused", script or audit.GAME, act=act, by=str(person.key))
    return Result.forbidden(f"You may not do that: {act} needs {wanted(right)}.")


def is_allowed(act: str, person: Being, script: AssistantScript | None = None) -> bool:
    """True where a person may do an act; nothing is recorded. "" is an act that everybody may do.

    Without an assistant, an act on assistants counts as allowed if it may be for some of them.
    """
    if not act:
        return True
    if act in ALSO and not is_allowed(ALSO[act], person, script):
        return False
    right, staff = ACTS[act], is_staff(person)
    if right in OF_THE_BODY and script is not None:
        return may_control(script, person, is_staff=staff, right=right)
    return staff if right in (Right.STAFF, *OF_THE_BODY) else is_owner(person)


def find_all_allowed(
    act: str, person: Being, *, counts_as_staff: bool | None = None
) -> tuple[list[AssistantScript], list[tuple[str, Result]]]:
    """Find all assistants that a person may do an act to, and names and refusals of the others.

    One refusal, and one record of it, is enough for a player who may do it to none.

    Args:
        counts_as_staff: as for `refusal`.
    """
    staff = is_staff(person) if counts_as_staff is None else counts_as_staff
    mine, others = list[AssistantScript](), list[AssistantScript]()
    for script in list_assistants():
        is_mine = may_control(script, person, is_staff=staff, right=ACTS[act])
        (mine if is_mine else others).append(script)
    shown_others = others if mine or staff else others[:1]
    return mine, [
        (name_before(script, person), refuse_control(script, person, act, ACTS[act]))
        for script in shown_others
    ]


def may_control(
    script: AssistantScript, person: Being, *, is_staff: bool, right: Right = Right.CONTROL
) -> bool:
    """True where a person has a right over an assistant, by default the right to run it.

    A lock of its body decides; see `runtime.rights.MEANINGS`. Assistants themselves have no rights
    over assistants.
    """
    return has_right(script, person, right, is_staff=is_staff)


def refuse_control(
    script: AssistantScript, person: Being, act: str, right: Right = Right.CONTROL
) -> Result:
    """Refuse an act, naming the missing right, and record the attempt in the audit log."""
    audit.record("control_refused", script, act=act, by=str(person.key))
    return Result.forbidden(
        f"You may not control {name_before(script, person)}: that needs {lacking(script, right)}."
    )


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
    result = _find(key, person, is_told=is_staff(person))
    if not result.ok:
        return result
    refused = refusal(act, person, result.data)
    if refused is None:
        return result
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
