"""The kinds of rights, and people as locks see them: in all their forms, and quelled.

Evennia honours `quell` only while a character is puppeted: its lock functions look at `_quell` of
the account behind a character, and an account that is checked by itself keeps all it has. Here a
quelled account has what Evennia gives its character: what both of them have, without superuser
status. Owners write conditions on people as a permission ("Builder") or as a lock string, which is
recognised by its brackets: `perm(Builder) or id(5)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeGuard

from django.conf import settings
from evennia.locks.lockhandler import LockException, LockHandler
from evennia.typeclasses.tags import Tag

from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.typed_objects import Account, Being, TypedObject
from evennia_ai.errors import ConfigurationError


class Right(StrEnum):
    """The right that an act needs: one of two settings of the game, or a lock type of the body."""

    STAFF = "staff"
    OWNER = "owner"
    CONTROL = "ai_control"
    CONFIGURE = "ai_configure"
    MEMORY = "ai_memory"
    MOVE = "ai_move"
    DELETE = "ai_delete"


# For each right: its purpose, and who has it where the body has no such lock.
MEANINGS: Mapping[Right, tuple[str, str]] = MappingProxyType(
    {
        Right.STAFF: ("looking at what assistants do, creating one", "Builders"),
        Right.OWNER: ("what concerns the whole game, and powers over it", "Admins"),
        Right.CONTROL: (
            "running it: start, stop, orders, its tools, goals, nights, answering its questions",
            "people who pass Evennia's `control` of the body; without that lock, staff",
        ),
        Right.CONFIGURE: (
            "configuring it: settings, prompts, look, channels, its own caps, its audit "
            "log, copying",
            "people who have `ai_control`",
        ),
        Right.MEMORY: (
            "what it knows of people: changing and forgetting it, resetting and exporting "
            "its conversation",
            "staff who have `ai_control`",
        ),
        Right.MOVE: ("moving it", "staff who have `ai_control`"),
        Right.DELETE: ("deleting it, with everything it knows", "staff who have `ai_control`"),
    }
)
OF_THE_BODY = tuple(Right)[2:]
# The right needed to raise a cap, by the scope of the budget that it belongs to.
RAISES: Mapping[Scope, Right] = MappingProxyType(
    {
        Scope.ALL_GAMES: Right.OWNER,
        Scope.GAME: Right.OWNER,
        Scope.ASSISTANT: Right.CONFIGURE,
        Scope.PLAYER: Right.OWNER,
        Scope.BENCH: Right.OWNER,
    }
)


# Attributes in which Evennia stores these on an account.
QUELLED, LAST_PUPPET = "_quell", "_last_puppet"


def _is_account(being: Being) -> TypeGuard[Account]:
    return hasattr(being, "get_all_puppets")


def seen(being: Being) -> Any:
    """A being as locks should see it: itself, or a `Quelled` view of a quelled account."""
    if _is_account(being) and being.attributes.get(QUELLED):
        return Quelled(being)
    return being


def forms_of(person: Being) -> list[Any]:
    """A person in all forms, as locks see them: the being, its account, and what that puppets."""
    account = getattr(person, "account", None) or person
    puppets = account.get_all_puppets() if _is_account(account) else []
    return [seen(form) for form in dict.fromkeys((person, account, *filter(None, puppets)))]


def lets(thing: TypedObject, being: Being, kind: str, *, default: bool = False) -> bool:
    """True where a lock of an object lets a being pass, in this one form."""
    return bool(thing.access(seen(being), kind, default=default))


class Quelled:
    """A quelled account as locks should see it."""

    # On the class, so that `__getattr__` is never asked for the account's own value.
    is_superuser = False

    def __init__(self, account: Account) -> None:
        """Wrap an account."""
        self._account = account
        self.permissions = _QuelledPermissions(account)
        self.locks = _NoBypass()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._account, name)

    def check_permstring(self, permission: str) -> bool:
        """True where it holds a permission, or a higher one."""
        lock = f"ai_permission:perm({permission})"
        locks = self._account.locks
        return bool(permission) and bool(
            locks.check_lockstring(self, lock, access_type="ai_permission")
        )


class _NoBypass:
    """A lock handler without the superuser's bypass, which Evennia's locks look for first."""

    lock_bypass = False


class _QuelledPermissions:
    """The permissions of a quelled account."""

    def __init__(self, account: Account) -> None:
        self._account = account

    def all(self) -> list[str]:
        """The lower rank of the account and its character, and all permissions without a rank."""
        account = self._account
        # An account that puppets nobody is as quelled as with its last character.
        played = account.get_all_puppets() or [account.attributes.get(LAST_PUPPET)]
        permissions = [_held(being) for being in (account, *played)]
        ranks = [name.casefold() for name in settings.PERMISSION_HIERARCHY]
        rank = min(max((_rank(name, ranks) for name in names), default=-1) for names in permissions)
        unranked = {name for names in permissions for name in names if _rank(name, ranks) < 0}
        return sorted(unranked) + (ranks[rank : rank + 1] if rank >= 0 else [])


def _held(being: Being) -> list[str]:
    """The permissions of a being, in lower case; none for None."""
    return [name.casefold() for name in being.permissions.all()] if being is not None else []


def _rank(name: str, ranks: list[str]) -> int:
    """The index of a permission among the ranks; -1: it is not a rank."""
    # Evennia accepts plural ranks too.
    known = next((each for each in (name, name.removesuffix("s")) if each in ranks), "")
    return ranks.index(known) if known else -1


_ACCESS = "ai_condition"


def meets(being: Being, condition: str, judge: TypedObject) -> bool:
    """True where a being meets one condition.

    Args:
        judge: the object whose lock handler evaluates a lock string: the assistant's body.

    Raises:
        ConfigurationError: the condition is not a lock string.
    """
    being = seen(being)
    if "(" not in condition:
        return bool(being.check_permstring(condition))
    try:
        locks = f"{_ACCESS}:{condition}"
        # With an access type, since Evennia passes a lock string in which it finds no lock.
        return bool(judge.locks.check_lockstring(being, locks, access_type=_ACCESS))
    except LockException as error:
        raise ConfigurationError(f"{condition!r} is not a lock string: {error}") from error


def known_permission(word: str) -> str:
    """The permission of that name in the form to store, or "" where nobody can have it."""
    words = word.strip().casefold()
    known = {name.casefold(): name for name in settings.PERMISSION_HIERARCHY}
    # Evennia's `perm()` takes the plural of a permission too: "Builders".
    permission = known.get(words) or known.get(words.removesuffix("s"))
    if permission is None and words:
        tags = Tag.objects.filter(db_tagtype="permission", db_key__iexact=words)
        permission = word.strip() if tags.exists() else None
    return permission or ""


def meets_any(being: Being, conditions: Iterable[str], judge: TypedObject) -> bool:
    """True where a being meets one of several conditions."""
    return any(meets(being, condition, judge) for condition in conditions)


STAFF_LOCK, OWNER_LOCK = "EVENNIA_AI_STAFF_LOCK", "EVENNIA_AI_OWNER_LOCK"
DEFAULTS = {STAFF_LOCK: "perm(Builder)", OWNER_LOCK: "perm(Admin)"}


def is_staff(person: Being) -> bool:
    """True where a character or account is staff."""
    return _passes(person, STAFF_LOCK)


def is_owner(person: Being) -> bool:
    """True where a character or account may change what concerns the whole game."""
    return _passes(person, OWNER_LOCK)


def wanted(right: Right) -> str:
    """The game's lock string for a right: STAFF or OWNER."""
    lock = STAFF_LOCK if right is Right.STAFF else OWNER_LOCK
    return str(getattr(settings, lock, DEFAULTS[lock]))


def _passes(person: Being, name: str) -> bool:
    locks: LockHandler = person.locks
    lock = getattr(settings, name, DEFAULTS[name])
    return bool(locks.check_lockstring(seen(person), f"ai_right:{lock}", access_type="ai_right"))
