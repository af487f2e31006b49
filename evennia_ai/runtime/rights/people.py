"""People as locks see them: in all their forms, and quelled where they said so.

Evennia honours `quell` only while a character is played: its lock functions look at `_quell` of the
account behind a character, and an account that is asked by itself keeps all it has. Here a quelled
account has what Evennia gives to its character: what both of them have, and no superuser's way.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from django.conf import settings

from evennia_ai.core.typed_objects import Account, Being, TypedObject

QUELLED, LAST_PUPPET = "_quell", "_last_puppet"


def _is_account(being: Being) -> TypeGuard[Account]:
    return hasattr(being, "get_all_puppets")


def seen(being: Being) -> Any:
    """A being as locks are to see it: itself, unless it is an account that is quelled."""
    if _is_account(being) and being.attributes.get(QUELLED):
        return Quelled(being)
    return being


def forms_of(person: Being) -> list[Any]:
    """A person in all forms, as locks see them: itself, its account, what that plays."""
    account = getattr(person, "account", None) or person
    puppets = account.get_all_puppets() if _is_account(account) else []
    return [seen(form) for form in dict.fromkeys((person, account, *filter(None, puppets)))]


def lets(thing: TypedObject, being: Being, kind: str, *, default: bool = False) -> bool:
    """True where a thing's lock of a type lets a being pass, as what it is and in no other form."""
    return bool(thing.access(seen(being), kind, default=default))


class Quelled:
    """A quelled account, for locks to look at."""

    is_superuser = False

    def __init__(self, account: Account) -> None:
        """See an account as what it is while it is quelled."""
        self._account = account
        self.permissions = _Least(account)
        self.locks = _NoWayAround()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._account, name)

    def check_permstring(self, permission: str) -> bool:
        """True where it holds a permission, or a higher one."""
        lock = f"ai_permission:perm({permission})"
        locks = self._account.locks
        return bool(permission) and bool(
            locks.check_lockstring(self, lock, access_type="ai_permission")
        )


class _NoWayAround:
    """The answer to what lock handlers ask first: no lock is open to all that is done."""

    lock_bypass = False


class _Least:
    """The permissions of a quelled account."""

    def __init__(self, account: Account) -> None:
        self._account = account

    def all(self) -> list[str]:
        """The lesser rank of the account and its character, and what has no rank of either."""
        account = self._account
        played = account.get_all_puppets() or [account.attributes.get(LAST_PUPPET)]
        held = [_held(being) for being in (account, *played)]
        ranks = [name.casefold() for name in settings.PERMISSION_HIERARCHY]
        rank = min(max((_rank(name, ranks) for name in names), default=-1) for names in held)
        unranked = {name for names in held for name in names if _rank(name, ranks) < 0}
        return sorted(unranked) + (ranks[rank : rank + 1] if rank >= 0 else [])


def _held(being: Being) -> list[str]:
    """The permissions of a being; of nobody none."""
    return [name.casefold() for name in being.permissions.all()] if being is not None else []


def _rank(name: str, ranks: list[str]) -> int:
    """The place of a permission, in singular or plural, among the ranks; -1: it has none."""
    known = next((each for each in (name, name.removesuffix("s")) if each in ranks), "")
    return ranks.index(known) if known else -1
