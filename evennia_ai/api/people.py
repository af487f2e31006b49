"""Authentication by session or token, and the names of people in the API."""

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
from evennia_ai.operations.rights import acts, token_store
from evennia_ai.operations.rights.tokens import NOT_MIGRATED
from evennia_ai.runtime.web_requests import api_config

# In URLs people are named by numbers, without characters such as * and # that have a meaning there.
KINDS = {"account": "*#", "object": "#"}


def dbref_of(name: str) -> str:
    """Convert a name of the API ("account-3", "object-12") to the game's id ("*#3", "#12")."""
    kind, _, number = name.partition("-")
    return f"{KINDS[kind]}{int(number)}"


def name_of(dbref: str) -> str:
    """Convert the game's id of a person to the API's name; "" stays ""."""
    return safe_id(dbref) if dbref else ""


def has_tokens() -> bool:
    """True if the game uses tokens."""
    try:
        return bool(api_config().token_days)
    except ConfigurationError:
        return True  # a request with a token then gets the error itself, which is clearer


class TokenAccess(TokenAuthentication):
    """`Authorization: Token <token>`."""

    def authenticate_credentials(self, key: str) -> tuple[Account, AccessToken]:
        """Find the account of a token.

        Raises:
            AuthenticationFailed: there is no such token.
            ProblemError: the table of tokens is missing.
        """
        try:
            token = token_store.find(key)
        except (OperationalError, ProgrammingError):
            if not missing_tables(AccessToken):
                raise  # the database has another problem
            raise problem(ProblemKind.UNAVAILABLE, NOT_MIGRATED) from None
        if token is None:
            raise AuthenticationFailed("Invalid token.")
        return token.account, token


class BearerAccess(TokenAccess):
    """`Authorization: Bearer <token>`, as MCP and A2A have it."""

    keyword = "Bearer"


class SessionAccess(SessionAuthentication):
    """A login on the game's web site; requests that change something need the CSRF token."""


def authenticators() -> list[BaseAuthentication]:
    """The authenticators that this game has."""
    return [TokenAccess(), BearerAccess(), SessionAccess()] if has_tokens() else [SessionAccess()]


def scheme() -> str:
    """The `WWW-Authenticate` header for a request without an account."""
    return TokenAccess.keyword if has_tokens() else "Session"


def account_for(pk: int, address: str) -> Account:
    """Load the account that asks; in the game's thread only.

    Raises:
        AuthenticationFailed: it is deleted or disabled.
        ProblemError: it may not use the API.
    """
    result = acts.account_of(pk, address)
    if result.problem is ProblemKind.NOT_FOUND:
        raise AuthenticationFailed(result.message)
    if not result.ok:
        raise problem(result.problem, result.message)
    return result.data
