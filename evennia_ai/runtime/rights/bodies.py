"""Rights over an assistant: locks of its body, which Evennia's own command `lock` sets."""

from __future__ import annotations

from django.conf import settings

from evennia_ai.core.safety.locks import narrowed, rest_of
from evennia_ai.core.typed_objects import Being, GameObject, TypedObject
from evennia_ai.runtime import names
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import wording
from evennia_ai.runtime.rights.people import Right, forms_of, is_staff

# The kinds of locks that concern the assistant in a body, and nothing else of the game.
OF_ASSISTANTS = ("ai_", "tool_")
# Evennia's own, which lets whoever passes it change every lock of the thing.
OF_EVENNIA, OF_EVENNIA_BY_DEFAULT = "control", "perm(Developer)"


def kinds_of_locks(body: GameObject) -> list[str]:
    """The kinds of all locks that hold for the assistant in a body: the body's, and its own."""
    script = getattr(body, "assistant_script", None)
    return [*body.locks.locks, *(script.locks.locks if script is not None else ())]


def lock_of(body: TypedObject, right: Right) -> str:
    """The lock that decides a right by itself, as it is written; "" where none does.

    A lock of the body goes before one that the assistant has of its own, as one that was adopted
    has: the body of that is locked as the game had it.
    """
    # Asked for each of a thousand in one turn of the reactor: the script's only where they count.
    if lock := str(body.locks.get(right) or ""):
        return lock
    script = getattr(body, "assistant_script", None)
    if script is not None and (own := str(script.locks.get(right) or "")):
        return own
    return str(body.locks.get(OF_EVENNIA) or "") if right is Right.CONTROL else ""


def has_right(script: Assistant, person: Being, right: Right, *, is_staff: bool) -> bool:
    """True where a person has a right over an assistant, in any form; no assistant has any.

    Args:
        right: one of OF_THE_BODY.
        is_staff: whether the person is staff.
    """
    # A player in an assistant's body is a person, and acts as one.
    if getattr(person, "assistant_script", None) is not None and not person.sessions.count():
        return False
    body = script.obj or script  # one that has lost its body is locked by itself
    if lock := lock_of(body, right):
        # The kind that was found: it may be Evennia's `control` in the place of ours.
        return any(body.access(form, lock.partition(":")[0]) for form in forms_of(person))
    if right is Right.CONTROL:
        return is_staff
    is_enough = is_staff or right is Right.CONFIGURE
    return is_enough and has_right(script, person, Right.CONTROL, is_staff=is_staff)


def lacking(script: Assistant, right: Right) -> str:
    """The rights that somebody lacks over an assistant, in words."""
    if lock := lock_of(script.obj or script, right):
        return f"{wording(script).their} lock {lock!r}"
    if right is Right.CONTROL:
        return "the rights of staff"
    control = lacking(script, Right.CONTROL)
    is_more = right is not Right.CONFIGURE and "staff" not in control
    own = f"or a lock {str(right)!r} of {wording(script).their} own"
    return f"{control}{' and the rights of staff' * is_more}, {own}"


def own_locks(script: Assistant) -> str:
    """The locks that an assistant has of its own where its body is locked by the game.

    Those that it has already stay, as of a body before.
    """
    wanted = {"tool_move": "false()", Right.CONTROL: "perm(Builder)"}
    return ";".join(f"{kind}:{rule}" for kind, rule in wanted.items() if not script.locks.get(kind))


def decides(script: Assistant, kind: str) -> bool:
    """True where a lock of the assistant's own decides what its body has no lock for."""
    return kind.startswith(OF_ASSISTANTS) and bool(script.locks.get(kind))


def locks_for(maker: Being | None) -> str:
    """The locks of a new body: its maker and admins have Evennia's rights, builders may run it.

    Whoever asks an assistant to leave its post shall not get it to; an owner may change that.

    Args:
        maker: a character or an account; None for code.
    """
    account = getattr(maker, "account", None) or maker
    named = ""
    if account is not None:
        # Evennia's `pid` is the account behind whoever asks, `id` the object that asks.
        kind = "pid" if hasattr(account, "get_all_puppets") else "id"
        named = f"{kind}({account.id}) or "
    own = ";".join(f"{access}:{named}perm(Admin)" for access in (OF_EVENNIA, "delete"))
    return f"tool_move:false();{Right.CONTROL}:perm(Builder);{own}"


def sort_locks(body: GameObject) -> bool:
    """Give a body of an older game the lock `ai_control`; whether it had none and needed one.

    It was Evennia's `control` once that named who may run an assistant. Whoever that named goes on
    to, and of Evennia's own right nobody keeps it but admins whom it named. A body that has the
    locks which Evennia gives to what somebody makes is left as it is.
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
    """True where somebody may name an assistant by its key.

    Args:
        person: a character or an account; None: the game's own code.
    """
    body = script.obj
    if body is None or person is None or not names.hides_key(body, names.eyes_of(person)):
        return True
    return has_right(script, person, Right.CONTROL, is_staff=is_staff(person))


def name_before(script: Assistant, person: Being | None) -> str:
    """The name of an assistant in what somebody reads.

    Args:
        person: a character or an account; None: the game's own code.
    """
    if knows_key(script, person):
        return str(script.key)
    return names.name_of(script.obj, names.eyes_of(person))
