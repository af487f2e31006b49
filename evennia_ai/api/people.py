"""The caller: by session or by token, and the person the game sees in them."""

from __future__ import annotations

from django.db.utils import OperationalError, ProgrammingError
from rest_framework.authentication import (
    BaseAuthentication,
    SessionAuthentication,
    TokenAuthentication,
)
from rest_framework.exceptions import AuthenticationFailed

from evennia_ai.api.problems import problem
from evennia_ai.core.memory.recollection import safe_id
from evennia_ai.core.typed_objects import Account
from evennia_ai.errors import ConfigurationError
from evennia_ai.models import AccessToken, missing_tables
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights import callers, token_store
from evennia_ai.operations.rights.tokens import NOT_MIGRATED

# Whoever is part of an address is named by a number there: no sign in it means something else.
KINDS = {"account": "*#", "object": "#"}
LONGEST_TOKEN = 128


def dbref_of(name: str) -> str:
    """The id of "account-3" or "object-12" in the game: "*#3", "#12"."""
    kind, _, number = name.partition("-")
    return f"{KINDS[kind]}{int(number)}"


def name_of(dbref: str) -> str:
    """The other way round; of nobody it is nothing."""
    return safe_id(dbref) if dbref else ""


def has_tokens() -> bool:
    """Tell if the game keeps tokens; wrong settings are told to whoever asks for one."""
    try:
        return bool(token_store.config().token_days)
    except ConfigurationError:
        return True


class TokenAccess(TokenAuthentication):
    """`Authorization: Token <token>`."""

    def authenticate_credentials(self, key: str) -> tuple[Account, AccessToken]:
        """The account of a token.

        Raises:
            AuthenticationFailed: there is none, or it may not.
            ProblemError: the game's database has no table of them.
        """
        if not (key.isascii() and key.isprintable() and len(key) <= LONGEST_TOKEN):
            raise AuthenticationFailed("Invalid token.")
        try:
            token = token_store.find(key)
        except (OperationalError, ProgrammingError):
            if not missing_tables(AccessToken):
                raise
            raise problem(ProblemKind.UNAVAILABLE, NOT_MIGRATED) from None
        if token is None:
            raise AuthenticationFailed("Invalid token.")
        return token.account, token


class SessionAccess(SessionAuthentication):
    """The login of the game's website; what changes something needs the CSRF token."""


def authenticators() -> list[BaseAuthentication]:
    """The ways to say who one is that this game has."""
    return [TokenAccess(), SessionAccess()] if has_tokens() else [SessionAccess()]


def scheme() -> str:
    """The `WWW-Authenticate` header for a request without an account."""
    return TokenAccess.keyword if has_tokens() else "Session"


def account_for(pk: int, address: str) -> Account:
    """The account that asks. In the game's thread only.

    Raises:
        AuthenticationFailed: it is gone, or switched off.
        ProblemError: it may not use the API.
    """
    found = callers.account_of(pk, address)
    if found.problem is ProblemKind.MISSING:
        raise AuthenticationFailed(found.message)
    if not found.ok:
        raise problem(found.problem, found.message)
    return found.data
