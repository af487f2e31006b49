"""Getting a token for a name and a password, and giving one back."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from evennia.utils.utils import class_from_module
from rest_framework.authtoken.models import Token
from rest_framework.exceptions import AuthenticationFailed, Throttled

from evennia_ai.api import answers, asked, people
from evennia_ai.api.base import ApiView, Call, missing
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.api.limits import Throttle, address_of

TAG = "Token"
WRONG = "The name or the password is wrong."
NO_TOKENS = (
    "This game keeps no tokens. To have them, add 'rest_framework.authtoken' to INSTALLED_APPS and "
    "type: evennia migrate"
)


class OwnToken(ApiView):
    """The token of an account."""

    @property
    def needs_account(self) -> bool:  # type: ignore[override]
        """Whoever asks for a token has nothing else to say who they are."""
        return bool(self.request.method != "POST")

    def get_authenticators(self) -> list[Any]:
        """For a new token a name and a password count, and nothing else."""
        method = getattr(self.request, "method", "")  # none while the schema is made
        return [] if method == "POST" else super().get_authenticators()

    def initial(self, request: Any, *args: Any, **path: Any) -> None:
        """Without tokens there is nothing here."""
        if not people.has_tokens():
            raise missing(NO_TOKENS)
        super().initial(request, *args, **path)

    def who(self, request: Any, body: dict[str, Any]) -> int | None:
        """The account of a name and a password.

        A password is checked in the web's thread, as the game's own login page does: it takes a
        third of a second, and the game would stand still for it.
        """
        if request.method != "POST":
            return super().who(request, body)
        for who in (address_of(request), f"name {body['username']}"):
            throttle = Throttle("tokens_per_minute", who)
            if not throttle.allow_request(request, self):
                raise Throttled(throttle.wait())
        kind = class_from_module(settings.BASE_ACCOUNT_TYPECLASS)
        account, _ = kind.authenticate(body["username"], body["password"])
        if account is None:
            raise AuthenticationFailed(WRONG)
        return int(account.pk)

    @Endpoint(
        "",
        "Get a token",
        tag=TAG,
        gives=answers.Token,
        body=asked.Login,
        action="token",
        may_be_missing=True,
        is_open=True,
        example={"username": "Tom", "password": "lanterns-are-bright"},
        answer={"token": "9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b"},
        paths=(),
        needs="For everybody with an account; only so many tries are taken in a minute.",
    )
    def post(self, call: Call) -> Any:
        """The account's token; it has one, and gets the same again until that is deleted."""
        token, _ = Token.objects.get_or_create(user_id=call.account.pk)
        return {"token": token.key}

    @Endpoint(
        "",
        "Give the own token back",
        tag=TAG,
        status=204,
        action="token",
        paths=(),
        may_be_missing=True,
    )
    def delete(self, call: Call) -> Any:
        """It is worth nothing from now on."""
        Token.objects.filter(user_id=call.account.pk).delete()
        return None
