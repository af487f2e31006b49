"""Names and passwords: how often they may be tried, and that an answer's time tells no name.

Two counts. Of one address all tries. Of one name the wrong ones from everywhere, ten times as many;
past those an address from which the account got a token before may still try. So that strangers
can neither guess from many addresses nor keep somebody out.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.hashers import make_password
from evennia.accounts.models import AccountDB
from evennia.utils.utils import class_from_module
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.views import APIView

from evennia_ai.api.limits import Throttle, of_address
from evennia_ai.core.typed_objects import Account
from evennia_ai.operations import token_store

SETTING = "tokens_per_minute"
WRONG_OF_A_NAME = 10  # times as many as tries of an address


def count(request: Request, view: APIView, username: str, address: str) -> None:
    """Count a try.

    Raises:
        Throttled: it is one too many.
    """
    throttle = of_address(SETTING, address)
    if not throttle.allow_request(request, view):
        raise Throttled(throttle.wait())
    wrong = _wrong_of(username)
    if wrong.is_over(request, view) and not token_store.was_here(username, address):
        raise Throttled(wrong.wait())


def count_wrong(request: Request, view: APIView, username: str, address: str) -> None:
    """Count a try that was wrong, of its name."""
    _wrong_of(username).allow_request(request, view)


def account_of(username: str, password: str) -> Account | None:
    """The account of a name and a password, or None, after the same time whatever is wrong.

    Evennia checks no password of a name that it does not know, or that is banned.
    """
    kind = class_from_module(settings.BASE_ACCOUNT_TYPECLASS)
    is_known = AccountDB.objects.filter(username__iexact=username).exists()
    if not is_known or kind.is_banned(username=username):
        make_password(password)
        return None
    account: Account | None = kind.authenticate(username, password)[0]
    return account


def _wrong_of(username: str) -> Throttle:
    return Throttle(SETTING, f"wrong {username}", times=WRONG_OF_A_NAME)
