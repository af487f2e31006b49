"""A game with Ada, accounts of every right, and a client, shared by tests of the API."""

import json
from contextlib import contextmanager
from typing import Any, ClassVar, Self
from unittest import mock
from urllib.parse import quote

from django.conf import settings
from django.test import Client
from django.test.utils import override_settings
from evennia.accounts.models import AccountDB
from evennia.utils import logger

from evennia_ai.api.limits import cache
from evennia_ai.operations.rights import token_store
from tests.api import stock
from tests.game.support import GameTest, account_with

# Read at import, before Evennia's test classes replace it with a list of their own.
MIDDLEWARE = list(settings.MIDDLEWARE)


@override_settings(
    ROOT_URLCONF="tests.api.urls",
    EVENNIA_AI_API_CONFIG={"writes_per_minute": 0},
    MIDDLEWARE=MIDDLEWARE,
)
class ApiTest(GameTest):
    """Requests to the API, as any of `people`; see `call`."""

    _accounts: ClassVar[dict[int, str]]

    @classmethod
    def build_once(cls, builder: Self) -> None:
        """Make the accounts once: making five takes most of the time of a small test."""
        super().build_once(builder)
        accounts = {
            "admin": account_with("Astrid", "Admin"),
            "builder with control": account_with("Berit", "Builder"),
            "builder": account_with("Bo", "Builder"),
            "player": account_with("Pia", "Player"),
            "guest": account_with("Gast", "Guest", "evennia.accounts.accounts.DefaultGuest"),
        }
        cls._accounts = {account.pk: name for name, account in accounts.items()}

    def setUp(self) -> None:
        super().setUp()
        cache().clear()
        self.addCleanup(cache().clear)
        rows = {account.pk: account for account in AccountDB.objects.filter(pk__in=self._accounts)}
        own = {name: rows[pk] for pk, name in self._accounts.items()}
        self.people: dict[str, Any] = {"superuser": self.account, **own}
        self.clients: dict[Any, Client] = {}
        self.lock(self.ada)

    def lock(self, body: Any) -> None:
        """Give Berit and all admins control over an assistant."""
        berit = self.people["builder with control"]
        body.locks.add(f"ai_control:perm(Admin) or pid({berit.id}) or id({berit.id})")

    def client_of(self, who: Any, *, checks_csrf: bool = False) -> Client:
        """Return a new client, logged in on the website as an account; None: anonymous."""
        client = Client(enforce_csrf_checks=checks_csrf, raise_request_exception=False)
        if who is not None:
            client.force_login(who, "evennia.web.utils.backends.CaseInsensitiveModelBackend")
        return client

    def _client(self, account: Any) -> Client:
        """Return the cached client of an account, because logging in is slow."""
        key = getattr(account, "pk", None)
        if key not in self.clients:
            self.clients[key] = self.client_of(account)
        return self.clients[key]

    def call(
        self, method: str, path: str, body: Any = None, *, who: Any = "superuser", **options: Any
    ) -> Any:
        """Send one request; the response has its JSON body, if any, under `told`.

        Args:
            path: below `/api/ai/`.
            body: plain data, or bytes as they are.
            who: a name in `people`, an account, or None.
        """
        account = self.people.get(who) if isinstance(who, str) else who
        client = options.pop("client", None) or self._client(account)
        if method not in ("GET", "HEAD", "OPTIONS"):
            body = b"" if body is None else body
            options.setdefault("content_type", "application/json")
            options["data"] = body if isinstance(body, bytes) else json.dumps(body)
        send = getattr(client, method.lower())
        response = send(f"/api/ai/{quote(path, safe='/?=&%')}", **options)
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        response.told = json.loads(response.content) if is_json and response.content else None
        return response

    def get(self, path: str, **options: Any) -> Any:
        """Return the body of a GET request that must succeed."""
        response = self.call("GET", path, **options)
        assert 200 == response.status_code, response.content
        return response.told

    def fault(self, status: int, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Return the error of a request that must fail with a status."""
        response = self.call(method, path, body, **options)
        assert status == response.status_code, response.content
        assert {"error"} == set(response.told)
        assert {"code", "message"} <= set(response.told["error"])
        return response.told["error"]

    def token_of(self, account: Any) -> str:
        return f"Token {token_store.make(account, '')[0]}"

    def stock(self, script: Any) -> None:
        """Store one memory of Mira and of each account; see `stock.fill`."""
        stock.fill(script, self.mira, list(self.people.values()))

    def address(self, path: str, key: str, who: Any) -> str:
        """Fill in the placeholders of a case's address; see `stock.address`."""
        return stock.address(path, key, self.mira, self.people.get(who))

    @contextmanager
    def audited(self) -> Any:
        """Collect the audit lines that a block writes into the log."""
        lines: list[dict[str, Any]] = []

        def keep(text: Any, *rest: Any, **more: Any) -> None:
            if str(text).startswith("[AI_AUDIT]"):
                lines.append(json.loads(str(text).partition(" ")[2]))

        with mock.patch.object(logger, "log_info", keep):
            yield lines
