"""Rights over an assistant: locks of its body, which Evennia's own command `lock` sets."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from evennia_ai.core.locks import narrowed, rest_of
from evennia_ai.rights.people import forms_of
from evennia_ai.rights.table import Right

# Evennia's own, which lets whoever passes it change every lock of the thing.
OF_EVENNIA, OF_EVENNIA_BY_DEFAULT = "control", "perm(Developer)"


def lock_of(body: Any, right: Right) -> str:
    """The lock of a body that decides a right by itself, as it is written; "" where none does."""
    kinds = (right, OF_EVENNIA) if right is Right.CONTROL else (right,)
    return next(filter(None, (str(body.locks.get(kind) or "") for kind in kinds)), "")


def has_right(script: Any, person: Any, right: Right, *, is_staff: bool) -> bool:
    """Whether a person has a right over an assistant, in any form; no assistant has any.

    Args:
        right: one of OF_THE_BODY.
        is_staff: whether the person is staff.
    """
    if getattr(person, "assistant_script", None) is not None and not person.sessions.count():
        return False
    body = script.obj
    if body is None:
        return is_staff
    if lock := lock_of(body, right):
        return any(body.access(form, lock.partition(":")[0]) for form in forms_of(person))
    if right is Right.CONTROL:
        return is_staff
    is_enough = is_staff or right is Right.CONFIGURE
    return is_enough and has_right(script, person, Right.CONTROL, is_staff=is_staff)


def lacking(script: Any, right: Right) -> str:
    """What somebody needs who has no right over an assistant, in words."""
    body = script.obj
    if body is None:
        return "the rights of staff"
    if lock := lock_of(body, right):
        return f"her lock {lock!r}"
    if right is Right.CONTROL:
        return "the rights of staff"
    control = lacking(script, Right.CONTROL)
    is_more = right is not Right.CONFIGURE and "staff" not in control
    return f"{control}{' and the rights of staff' * is_more}, or a lock {str(right)!r} of her own"


def locks_for(maker: Any) -> str:
    """The locks of a new body: its maker and admins have Evennia's rights, builders may run it.

    Whoever asks an assistant to leave its post shall not get it to; an owner may change that.

    Args:
        maker: a character or an account; None for code.
    """
    account = getattr(maker, "account", None) or maker
    kind = "pid" if hasattr(account, "get_all_puppets") else "id"
    named = f"{kind}({account.id}) or " if maker is not None else ""
    own = ";".join(f"{access}:{named}perm(Admin)" for access in (OF_EVENNIA, "delete"))
    return f"tool_move:false();{Right.CONTROL}:perm(Builder);{own}"


def sort_locks(body: Any) -> bool:
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
