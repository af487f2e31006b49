"""Rights over an assistant: locks of its body, set with Evennia's own command `lock`."""

from __future__ import annotations

from django.conf import settings

from evennia_ai.core.safety.locks import narrowed, rest_of
from evennia_ai.core.typed_objects import Being, GameObject, TypedObject
from evennia_ai.runtime import names
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import wording
from evennia_ai.runtime.rights.people import Right, forms_of, is_staff

# Prefixes of the lock types that concern the assistant in a body, and nothing else in the game.
OF_ASSISTANTS = ("ai_", "tool_")
# Evennia's own lock type; passing it allows changing every other lock of the object.
OF_EVENNIA, OF_EVENNIA_BY_DEFAULT = "control", "perm(Developer)"


def kinds_of_locks(body: GameObject) -> list[str]:
    """The types of all locks that apply to the assistant in a body: the body's and its own."""
    script = getattr(body, "assistant_script", None)
    return [*body.locks.locks, *(script.locks.locks if script is not None else ())]


def lock_of(body: TypedObject, right: Right) -> str:
    """The lock string that decides a right; "" where there is none.

    A lock of the body comes before the assistant's own, which an adopted one has because the locks
    of its body are the game's.
    """
    # A stop of many asks this for each of them; parsing the script's locks as well would show.
    if lock := str(body.locks.get(right) or ""):
        return lock
    script = getattr(body, "assistant_script", None)
    if script is not None and (own := str(script.locks.get(right) or "")):
        return own
    return str(body.locks.get(OF_EVENNIA) or "") if right is Right.CONTROL else ""


def has_right(script: Assistant, person: Being, right: Right, *, is_staff: bool) -> bool:
    """True where a person has a right over an assistant, in any form; assistants never have one.

    Args:
        right: one of OF_THE_BODY.
    """
    # A player who puppets an assistant's body is a person, and keeps their rights.
    if getattr(person, "assistant_script", None) is not None and not person.sessions.count():
        return False
    body = script.obj or script  # one that lost its body carries its locks itself
    if lock := lock_of(body, right):
        # By the type that was found, which may be Evennia's `control` instead of ours.
        return any(body.access(form, lock.partition(":")[0]) for form in forms_of(person))
    if right is Right.CONTROL:
        return is_staff
    is_enough = is_staff or right is Right.CONFIGURE
    return is_enough and has_right(script, person, Right.CONTROL, is_staff=is_staff)


def holds(script: Assistant, person: Being, right: Right) -> bool:
    """True where a person has a right over an assistant; staff by the person's account, too."""
    account = getattr(person, "account", None) or person
    staff = is_staff(person) or is_staff(account)
    return has_right(script, person, right, is_staff=staff)


def lacking(script: Assistant, right: Right) -> str:
    """The rights that a person lacks over an assistant, in words."""
    if lock := lock_of(script.obj or script, right):
        return f"{wording(script).their} lock {lock!r}"
    if right is Right.CONTROL:
        return "the rights of staff"
    control = lacking(script, Right.CONTROL)
    is_more = right is not Right.CONFIGURE and "staff" not in control
    own = f"or a lock {str(right)!r} of {wording(script).their} own"
    return f"{control}{' and the rights of staff' * is_more}, {own}"


def own_locks(script: Assistant) -> str:
    """The locks that an assistant needs of its own where the game locks its body.

    Locks that it has already, as from an earlier body, are left out.
    """
    rules = {"tool_move": "false()", Right.CONTROL: "perm(Builder)"}
    return ";".join(f"{kind}:{rule}" for kind, rule in rules.items() if not script.locks.get(kind))


def decides(script: Assistant, kind: str) -> bool:
    """True where a lock of the assistant's own stands in for one that its body lacks."""
    return kind.startswith(OF_ASSISTANTS) and bool(script.locks.get(kind))


def locks_for(maker: Being | None) -> str:
    """The locks of a new body: Evennia's rights for its maker and admins; builders may control it.

    It may not move, so that nobody can talk it away from its post; an owner may change that.

    Args:
        maker: a character or an account; None for code.
    """
    account = getattr(maker, "account", None) or maker
    maker_lock = ""
    if account is not None:
        # In Evennia's locks `pid` is the account behind the accessing object, `id` that object.
        kind = "pid" if hasattr(account, "get_all_puppets") else "id"
        maker_lock = f"{kind}({account.id}) or "
    own = ";".join(f"{access}:{maker_lock}perm(Admin)" for access in (OF_EVENNIA, "delete"))
    return f"tool_move:false();{Right.CONTROL}:perm(Builder);{own}"


def has_lock(body: GameObject, kind: str) -> bool:
    """True where a body has a lock of a type; its locks are not parsed, which is slow."""
    return any(lock.startswith(f"{kind}:") for lock in body.db_lock_storage.split(";"))


def sort_locks(body: GameObject) -> bool:
    """Give a body from an older game the lock `ai_control`. Returns True if it needed one.

    There, Evennia's `control` named who may control an assistant. Those people keep that right, but
    only admins among them keep Evennia's own. A body with the locks that Evennia gives to new
    objects is left as it is.
    """
    locks = body.locks
    control = rest_of(str(locks.get(OF_EVENNIA) or ""))
    deleting = rest_of(str(locks.get("delete") or ""))
    if locks.get(Right.CONTROL) or control in ("", OF_EVENNIA_BY_DEFAULT, deleting):
        return False
    admins = narrowed(control, settings.PERMISSION_HIERARCHY)
    locks.add([f"{Right.CONTROL}:{control}", f"{OF_EVENNIA}:{admins}"])
    return True


def knows_key(script: Assistant, person: Being | None) -> bool:
    """True where a person may know an assistant's key: staff, whose lists show it, and controllers.

    Args:
        person: a character or an account; None: the game's own code.
    """
    body = script.obj
    if body is None or person is None or not names.hides_key(body, names.eyes_of(person)):
        return True
    return is_staff(person) or has_right(script, person, Right.CONTROL, is_staff=False)


def name_before(script: Assistant, person: Being | None) -> str:
    """The name of an assistant in texts for a person.

    Args:
        person: a character or an account; None: the game's own code.
    """
    if knows_key(script, person):
        return str(script.key)
    return names.name_of(script.obj, names.eyes_of(person))
