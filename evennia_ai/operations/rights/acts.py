"""Rights of people: one table of acts, asked by commands and by the API alike."""

from __future__ import annotations

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.typed_objects import Being
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

# What anybody may do for himself (why, mute, questions, answer, hush, and what is remembered of
# him) stands in its operation.
ACTS: dict[str, Right] = {
    "list": Right.STAFF,
    "status": Right.STAFF,
    "create": Right.STAFF,
    "adopt": Right.STAFF,  # and a say over the being, which `adoption` asks for
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
    "undo": Right.CONFIGURE,  # and what the edit itself needed, which `undoing` tells
    "reset history": Right.MEMORY,
    "export history": Right.MEMORY,
    "tell": Right.CONTROL,
    "execute tool": Right.CONTROL,
    "try messages": Right.CONTROL,  # and to be shown its prompts, as ALSO says
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
    "reset breaker of the game": Right.OWNER,
    "export assistant": Right.OWNER,  # with every private word
    "import assistant": Right.OWNER,
    "remove all": Right.OWNER,
}

# Acts by which somebody learns, or does, what another act is for.
ALSO: dict[str, str] = {"try messages": "show prompts"}


def refusal(
    act: str,
    person: Being,
    script: AssistantScript | None = None,
    *,
    counts_as_staff: bool | None = None,
) -> Result | None:
    """None where a person may do an act; else what is missing.

    To try what changes something, and be refused, is recorded.

    Args:
        act: a name in ACTS.
        script: the assistant it is done to; None for what is done to none.
        counts_as_staff: by a lock of the command's own; None: as the game's setting says.
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
    """Tell if a person may do an act, of which no record is made; "": everybody may.

    What is done to an assistant is, without one, allowed where it may be for some.
    """
    if not act:
        return True
    if act in ALSO and not is_allowed(ALSO[act], person, script):
        return False
    right, staff = ACTS[act], is_staff(person)
    if right in OF_THE_BODY and script is not None:
        return may_control(script, person, is_staff=staff, right=right)
    return staff if right in (Right.STAFF, *OF_THE_BODY) else is_owner(person)


def may_control(
    script: AssistantScript, person: Being, *, is_staff: bool, right: Right = Right.CONTROL
) -> bool:
    """True where a person has a right over an assistant, by default to run it.

    A lock of its body decides, as `runtime.rights.MEANINGS` says. No assistant has a say over
    assistants.
    """
    return has_right(script, person, right, is_staff=is_staff)


def refuse_control(
    script: AssistantScript, person: Being, act: str, right: Right = Right.CONTROL
) -> Result:
    """Say what a person lacks, and write down what was tried."""
    audit.record("control_refused", script, act=act, by=str(person.key))
    return Result.forbidden(
        f"You may not control {name_before(script, person)}: that needs {lacking(script, right)}."
    )
