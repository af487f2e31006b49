"""The table of access tokens: create, look up and end them. Only digests of tokens are stored.

A token ends when it expires, when the account's password changes, when the account's name is
banned, and when the account is deactivated. It survives Django storing the same password with a
newer hasher. Tokens of Django REST framework, which its table holds in plain text, are taken over
and removed there.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from django.apps import apps
from django.contrib.auth.hashers import get_hasher, identify_hasher, is_password_usable
from django.db import connections, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest
from django.utils.crypto import salted_hmac
from evennia.accounts.models import AccountDB
from evennia.server.models import ServerConfig
from rest_framework.authentication import TokenAuthentication
from rest_framework.settings import api_settings

from evennia_ai.core.typed_objects import Account
from evennia_ai.models import AccessToken, TokenScope, missing_tables
from evennia_ai.runtime.web_requests import api_config

OLD_APP, OLD_TABLE = "authtoken", "authtoken_token"
OLD_NAME = "from before"
BANS = "server_bans"  # Evennia's key of the list of bans in ServerConfig
# A prefix by which a token that leaked into a log or a file is recognized.
PREFIX = "eai_"
TOKEN_BYTES, SHOWN = 32, 8  # random bytes; characters that lists show
LONGEST_NAME, LONGEST_KEY = 60, 128
MOST_OF_ONE = 20  # tokens per account
DAY_SECONDS = 86_400
# Each request of a program would otherwise be a write to the database.
USE_IS_WRITTEN_SECONDS = 3600


def now() -> int:
    """Seconds since 1970."""
    return int(time.time())


def make(
    account: Account, name: str, address: str = "", scope: TokenScope = TokenScope.USUAL
) -> tuple[str, AccessToken]:
    """Make a token; where the account has `MOST_OF_ONE` already, its least recently used one ends.

    Args:
        address: network address of the request; "" where it was made in the game.
        scope: what may be done with it.

    Returns:
        The token itself, which is shown only this once, and its row.
    """
    key = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    with transaction.atomic():
        AccessToken.objects.filter(ends_at__lte=now()).delete()
        row = _insert(account, key, name[:LONGEST_NAME], address, scope)
        # `used_at` is 0 until a token is used, so a new one would count as the oldest.
        others = of_account(account).exclude(pk=row.pk)
        oldest_first = others.order_by(Greatest("used_at", "made_at")).values_list("pk", flat=True)
        end(list(oldest_first)[: -MOST_OF_ONE + 1])
    return key, row


def find(key: str) -> AccessToken | None:
    """The row of a valid token with its account, or None where the token is not valid.

    A token that has ended is removed. A token of Django REST framework that was not taken over yet
    is taken over. What cannot be a token is not looked up.
    """
    if not (key.isascii() and key.isprintable() and len(key) <= LONGEST_KEY):
        return None
    known = _known(digest=_digest(key)).select_related("account")
    row: Any = known.first()
    if row is None and _has_old():
        token = _old().objects.filter(pk=key).first()
        row = known.first() if token is not None and _adopt(token) else None
    if row is None or not _is_good(row):
        return None
    if now() - row.used_at >= USE_IS_WRITTEN_SECONDS:
        row.used_at = now()
        AccessToken.objects.filter(pk=row.pk).update(used_at=row.used_at)
    good: AccessToken = row
    return good


def is_good(number: int) -> bool:
    """True where the token with this number is still valid."""
    row = _known(pk=number).first()
    return row is not None and _is_good(row)


def _known(**where: object) -> QuerySet[AccessToken]:
    # From the database: the account in Evennia's cache misses what another process changed.
    rows = AccessToken.objects.filter(**where)
    return rows.annotate(stored=F("account__password"), is_active=F("account__is_active"))


def _is_good(row: Any) -> bool:
    if row.ends_at <= now() or row.password != _mark(row.stored) or not row.is_active:
        end([row.pk])
        return False
    return True


def of_account(account: Account) -> QuerySet[AccessToken]:
    """The valid tokens of an account."""
    unexpired = AccessToken.objects.filter(account_id=account.pk, ends_at__gt=now())
    stored = AccountDB.objects.filter(pk=account.pk).values_list("password", flat=True).first()
    return unexpired.filter(password=_mark(stored or ""))


def has_had_token_from(username: str, address: str) -> bool:
    """True where an account of this name got a token from this address before."""
    rows = AccessToken.objects.filter(account__username__iexact=username)
    return bool(rows.filter(place=_place(address)).exists())


def end(numbers: Iterable[int]) -> int:
    """End tokens, also in the table of Django REST framework they came from.

    Returns:
        The number of tokens ended.
    """
    rows = AccessToken.objects.filter(pk__in=list(numbers))
    digests = set(rows.values_list("digest", flat=True))
    if not digests:
        return 0
    # In one transaction: a token left in the old table would be taken over again when it is sent.
    with transaction.atomic():
        if _has_old():
            old = _old().objects.filter(user_id__in=list(rows.values_list("account_id", flat=True)))
            dead = [token.pk for token in old if _digest(token.pk) in digests]
            _old().objects.filter(pk__in=dead).delete()
        count, _ = AccessToken.objects.filter(digest__in=digests).delete()
    return int(count)


# ---- handlers of Django's signals ----------------------------------------------------------


def on_saved(instance: Any) -> None:
    """End tokens after a ban or a deactivation; take over a new token of Django REST framework."""
    is_account = isinstance(instance, AccountDB)
    is_other = isinstance(instance, ServerConfig) and instance.db_key != BANS
    # The signals also fire while `evennia migrate` makes the tables.
    if is_other or (is_account and instance.is_active) or missing_tables(AccessToken):
        return
    if isinstance(instance, ServerConfig):
        end(_of_banned(instance.value or ()))
    elif is_account:
        tokens = AccessToken.objects.filter(account_id=instance.pk)
        end(list(tokens.values_list("pk", flat=True)))
    elif isinstance(instance, _old()):
        _adopt(instance)


def on_password_saving(account: AccountDB) -> None:
    """Keep the tokens of an account whose unchanged password is stored with a newer hasher.

    Django rehashes passwords at a login after its hasher has changed, and can be told from a real
    change: it sets `_password` to None before it saves (`AbstractBaseUser.check_password`).
    """
    if vars(account).get("_password", ...) is not None or not _is_known(account.password):
        return  # no password was set, a really new one was, or one that cannot be used
    rows = AccountDB.objects.filter(pk=account.pk)
    stored = rows.values_list("password", flat=True).first() or ""
    if not _is_outdated(stored) or _is_outdated(account.password):
        return
    if not missing_tables(AccessToken):
        tokens = AccessToken.objects.filter(account_id=account.pk, password=_mark(stored))
        tokens.update(password=_mark(account.password))


def on_old_deleted(instance: Any) -> None:
    """End a token whose original was deleted from the table of Django REST framework."""
    if not missing_tables(AccessToken):
        tokens = AccessToken.objects.filter(account_id=instance.user_id)
        tokens.filter(digest=_digest(instance.key)).delete()


def adopt_all() -> int:
    """Take over every token of Django REST framework; doing it again does no harm.

    Returns:
        The number of tokens taken over.
    """
    if not _has_old():
        return 0
    tables = connections[AccessToken.objects.db].introspection.table_names()
    if OLD_TABLE not in tables or AccessToken._meta.db_table not in tables:
        return 0
    return sum(_adopt(token) for token in _old().objects.all())


def are_old_tokens_in_use() -> bool:
    """True where other code of the game authenticates by Django REST framework's tokens too."""
    if api_config().keeps_old_tokens:
        return True
    ways = api_settings.DEFAULT_AUTHENTICATION_CLASSES
    is_default = any(issubclass(way, TokenAuthentication) for way in ways)
    return is_default and _has_old()


def _has_old() -> bool:
    return bool(apps.is_installed(f"rest_framework.{OLD_APP}"))


def _old() -> Any:
    return apps.get_model(OLD_APP, "Token")


def _adopt(token: Any) -> bool:
    # Returns False where the token is here already.
    with transaction.atomic():
        if not are_old_tokens_in_use():
            # By a query: `token.delete()` would clear the key that its maker is about to return.
            _old().objects.filter(pk=token.key).delete()
        if AccessToken.objects.filter(digest=_digest(token.key)).exists():
            return False
        account = AccountDB.objects.filter(pk=token.user_id).first()
        if account is None:
            return False
        _insert(account, token.key, OLD_NAME, "")
    return True


def _insert(
    account: Account, key: str, name: str, address: str, scope: TokenScope = TokenScope.USUAL
) -> AccessToken:
    # Not `account.password`: the object in Evennia's cache may be older than the row.
    stored = AccountDB.objects.filter(pk=account.pk).values_list("password", flat=True).first()
    at = now()
    row: AccessToken = AccessToken.objects.create(
        account_id=account.pk,
        name=name,
        begins=key[:SHOWN],
        digest=_digest(key),
        password=_mark(stored or ""),
        place=_place(address),
        made_at=at,
        ends_at=at + max(1, api_config().token_days) * DAY_SECONDS,
        scope=scope.value,
    )
    return row


def _of_banned(bans: Iterable[Sequence[object]]) -> list[int]:
    names = {str(ban[0]).casefold() for ban in bans if ban and ban[0]}
    rows = AccessToken.objects.values_list("pk", "account__username") if names else ()
    return [pk for pk, username in rows if str(username).casefold() in names]


def _digest(key: str) -> str:
    # Without a salt: a token is as random as its digest, so no table of digests can be made.
    return sha256(key.encode("utf-8", "replace")).hexdigest()


def _mark(password: str) -> str:
    # A fast hash will do: what it hashes is a salted and slowly hashed password already.
    return sha256(f"evennia_ai.token {password}".encode()).hexdigest()


def _is_known(password: str) -> bool:
    # True for the hash of a password that somebody can log in with.
    try:
        return is_password_usable(password) and bool(identify_hasher(password))
    except ValueError:
        return False


def _is_outdated(password: str) -> bool:
    # As Django decides in `check_password` if a hash is to be replaced at this login.
    if not _is_known(password):
        return False
    hasher, wanted = identify_hasher(password), get_hasher()
    return hasher.algorithm != wanted.algorithm or bool(wanted.must_update(password))


def _place(address: str) -> str:
    # Keyed by SECRET_KEY: all IPv4 addresses could be tried against a plain hash in minutes.
    return salted_hmac("evennia_ai.token", address).hexdigest() if address else ""
