"""Endpoints that issue, list and revoke tokens.

Guessing passwords is limited in two ways: all attempts from one address are counted, and all failed
attempts for one name from anywhere, with a limit ten times as high. Past the latter, an address
from which the account has got a token before may still try: so strangers can neither guess from
many addresses nor lock somebody out. The time of an answer does not tell whether a name exists.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from evennia.accounts.models import AccountDB
from evennia.utils.utils import class_from_module
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request
from rest_framework.views import APIView

from evennia_ai.api import people, requests
from evennia_ai.api.base import ApiView, not_found
from evennia_ai.api.limits import Throttle, of_address
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import Call, Route, Row, Tag
from evennia_ai.core.typed_objects import Account
from evennia_ai.models import AccessToken, TokenScope
from evennia_ai.operations import Result
from evennia_ai.operations.rights import refusal, token_store, tokens
from evennia_ai.runtime.web_requests import address_of

TAG = Tag("Token", "Access tokens for authentication.")
SETTING = "tokens_per_minute"
# Failed attempts that a name may have, as a multiple of the attempts of one address.
FAILURES_FACTOR = 10


def count_attempt(request: Request, view: APIView, username: str, address: str) -> None:
    """Count an attempt to log in.

    Raises:
        Throttled: there were too many attempts.
    """
    throttle = of_address(SETTING, address)
    if not throttle.allow_request(request, view):
        raise Throttled(throttle.wait())
    wrong = _failed_attempts(username)
    if wrong.is_over(request, view) and not token_store.has_had_token_from(username, address):
        raise Throttled(wrong.wait())


def account_of(username: str, password: str) -> Account | None:
    """Return the account of a name and a password, or None; always after about the same time.

    Evennia does not hash the password if the name is unknown or banned, which would tell names
    apart by the time of the answer.
    """
    kind = class_from_module(settings.BASE_ACCOUNT_TYPECLASS)
    is_known = AccountDB.objects.filter(username__iexact=username).exists()
    if not is_known or kind.is_banned(username=username):
        make_password(password)  # takes as long as checking one would
        return None
    account: Account | None = kind.authenticate(username, password)[0]
    return account


def _failed_attempts(username: str) -> Throttle:
    return Throttle(SETTING, f"wrong {username}", times=FAILURES_FACTOR)


WRONG = "The name or the password is wrong."
OF_OTHERS = "tokens of others"
ENDS = "2026-05-01T12:00:00+00:00"

KEPT = {
    "number": 7,
    "name": "backup",
    "begins": "eai_9944",
    "made_at": "2026-01-31T12:00:00+00:00",
    "ends_at": ENDS,
    "scope": "usual",
    "used_at": "2026-02-01T09:00:00+00:00",
    "is_this": True,
}

WHOSE = "For every account, its own tokens; for owners also those of others."
REVOKED = {"message": "Revoked 1 token of Tom.", "count": 1}


class WithTokens(ApiView):
    """A view that exists only if the game uses tokens."""

    def initial(self, request: Request, *args: Any, **path: Any) -> None:
        """Answer 404 if the game does not use tokens."""
        if not people.has_tokens():
            raise not_found(tokens.NO_TOKENS)
        super().initial(request, *args, **path)


class OwnToken(WithTokens):
    """The view that issues a token, and revokes the one that is sent."""

    # A token that only reads may revoke itself.
    is_change = False

    @property
    def needs_account(self) -> bool:  # type: ignore[override]
        """True, except for POST, which is authenticated by the name and password in its body."""
        return bool(self.request.method != "POST")

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Ignore sessions and tokens in a request for a new token."""
        method = getattr(self.request, "method", "")  # there is no request for the schema
        return [] if method == "POST" else super().get_authenticators()

    def account_pk(self, request: Request, body: dict[str, Any]) -> int | None:
        """Authenticate a request for a token by name and password.

        The password is checked in the web thread, as Evennia's login page does it: hashing takes a
        third of a second, for which the game would stand still.
        """
        if request.method != "POST":
            return super().account_pk(request, body)
        address = address_of(request.META)
        count_attempt(request, self, body["username"], address)
        account = account_of(body["username"], body["password"])
        if account is None:
            _failed_attempts(body["username"]).allow_request(request, self)
            raise AuthenticationFailed(WRONG)
        return account.pk


def _make(call: Call) -> Result:
    scope = call.body.get("scope", TokenScope.USUAL.value)
    name = call.body.get("name", "")
    return tokens.make_token(call.account, name, address=call.address, scope=scope)


def _give_back(call: Call) -> None:
    # A session has no token of its own, so it revokes all of the account's.
    if call.token is None:
        tokens.revoke_tokens(call.account, by=call.by)
    else:
        tokens.revoke_token(call.account, call.token, by=call.by)


def _revoke(call: Call) -> Result:
    number, account = call.path["number"], call.account
    if refusal(OF_OTHERS, call.account) is None:
        row = AccessToken.objects.filter(pk=number).select_related("account").first()
        # For an unknown number `revoke_token` answers that the caller has no such token.
        account = row.account if row is not None else account
    return tokens.revoke_token(account, number, by=call.by)


def _account(call: Call) -> Account:
    """The account whose tokens are meant.

    Raises:
        ProblemError: it is another's and the caller is not allowed, or it does not exist.
    """
    name = call.query.get("account")
    if name is None or people.dbref_of(name) == f"*#{call.account.pk}":
        return call.account
    # The right is checked first, so that nobody else learns which accounts exist.
    refused = refusal(OF_OTHERS, call.account)
    if refused is not None:
        raise problem(refused.problem, refused.message)
    kind, _, number = name.partition("-")
    accounts = AccountDB.objects.filter(pk=int(number)) if kind == "account" else None
    account: Account | None = accounts.first() if accounts is not None else None
    if account is None:
        raise not_found(f"There is no {name}.")
    return account


ROWS = (
    Row(
        Route("POST", "token/", "token", "", TAG),
        _make,
        "Get a token",
        "Issues a new token, which is shown only once. It expires after its time, or "
        "when the account's password changes.",
        result=tokens.Token,
        says="",
        body=requests.Login,
        action="token",
        may_be_missing=True,
        is_open=True,
        example={"username": "Tom", "password": "lanterns-are-bright", "name": "backup"},
        answer={
            "token": "eai_9944b09199c62bcf9418ad846dd0e4bbdfc6ee4bX0w",
            "number": 7,
            "ends_at": ENDS,
        },
        needs="For everybody with an account; the number of attempts per minute is limited.",
        view=OwnToken,
    ),
    Row(
        Route("DELETE", "token/", "token", "", TAG),
        _give_back,
        "Revoke your own token",
        "Revokes the token that is sent; with a session, all tokens of the account.",
        operation_id="give_the_own_token_back",
        says="",
        status=204,
        action="token",
        may_be_missing=True,
        view=OwnToken,
    ),
    Row(
        Route("GET", "tokens/", "tokens", "", TAG),
        lambda call: tokens.list_tokens(_account(call), current=call.token),
        "List tokens",
        "Valid tokens, without the secrets themselves, and when each was last used.",
        result=tokens.Tokens,
        query=requests.WhoseTokens,
        answer={"tokens": [KEPT]},
        may_be_missing=True,
        needs=WHOSE,
        view=WithTokens,
    ),
    Row(
        Route("DELETE", "tokens/", "tokens", "", TAG),
        lambda call: tokens.revoke_tokens(_account(call), by=call.by),
        "Revoke all tokens of an account",
        "Revokes them at once, including the one that is sent.",
        result=tokens.Revoked,
        query=requests.WhoseTokens,
        action="revoke tokens",
        answer=REVOKED,
        may_be_missing=True,
        needs=WHOSE,
        view=WithTokens,
    ),
    Row(
        Route("DELETE", "tokens/<ai_number:number>/", "one-token", "", TAG),
        _revoke,
        "Revoke a token",
        "Revokes it at once.",
        result=tokens.Revoked,
        action="revoke token",
        answer={"message": "Token 7 of Tom is no longer valid.", "count": 1},
        needs=WHOSE,
        view=WithTokens,
    ),
)
