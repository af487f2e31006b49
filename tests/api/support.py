"""What tests of the API share: a game with Ada in it, people of every right, and a client."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import Any
from unittest import mock
from urllib.parse import quote

from django.conf import settings
from django.test import Client
from django.test.utils import override_settings
from evennia.utils import logger

from evennia_ai.api.limits import cache
from evennia_ai.operations.rights import token_store
from tests.api import stock
from tests.shell.support import ShellTest, account_with

# As the game has it: Evennia's test classes bring a list of their own.
MIDDLEWARE = list(settings.MIDDLEWARE)


@override_settings(
    ROOT_URLCONF="tests.api.urls",
    EVENNIA_AI_API_CONFIG={"writes_per_minute": 0},
    MIDDLEWARE=MIDDLEWARE,
)
class ApiTest(ShellTest):
    """Requests to the API, as any of `people`; see `call`."""

    def setUp(self) -> None:
        """Accounts of every right, and nobody has asked anything yet."""
        super().setUp()
        cache().clear()
        self.addCleanup(cache().clear)
        self.people = {
            "superuser": self.account,
            "admin": account_with("Astrid", "Admin"),
            "builder with control": account_with("Berit", "Builder"),
            "builder": account_with("Bo", "Builder"),
            "player": account_with("Pia", "Player"),
            "guest": account_with("Gast", "Guest", "evennia.accounts.accounts.DefaultGuest"),
        }
        self.clients: dict[Any, Client] = {}
        self.lock(self.ada)

    def lock(self, body: Any) -> None:
        """Let Berit and whoever is at least an admin have a say over an assistant."""
        berit = self.people["builder with control"]
        body.locks.add(f"ai_control:perm(Admin) or pid({berit.id}) or id({berit.id})")

    def client_of(self, who: Any, *, checks_csrf: bool = False) -> Client:
        """A client of an account, logged in on the website; None: of nobody."""
        client = Client(enforce_csrf_checks=checks_csrf, raise_request_exception=False)
        if who is not None:
            client.force_login(who, "evennia.web.utils.backends.CaseInsensitiveModelBackend")
        return client

    def _client(self, account: Any) -> Client:
        """The one client of an account, which is slow to log in."""
        key = getattr(account, "pk", None)
        if key not in self.clients:
            self.clients[key] = self.client_of(account)
        return self.clients[key]

    def call(
        self, method: str, path: str, body: Any = None, *, who: Any = "superuser", **options: Any
    ) -> Any:
        """One request: the response, with its body under `told` where it has one.

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
        """What a request that reads is told; it has to be done."""
        response = self.call("GET", path, **options)
        assert 200 == response.status_code, response.content
        return response.told

    def fault(self, status: int, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """What a request is told that goes wrong with this status."""
        response = self.call(method, path, body, **options)
        assert status == response.status_code, response.content
        assert {"error"} == set(response.told)
        assert {"code", "message"} <= set(response.told["error"])
        return response.told["error"]

    def token_of(self, account: Any) -> str:
        """A token of an account, as it is sent."""
        return f"Token {token_store.make(account, '')[0]}"

    def stock(self, script: Any) -> None:
        """Let an assistant (None: nobody) remember one thing of Mira and of each who may ask."""
        stock.fill(script, self.mira, list(self.people.values()))

    def address(self, path: str, key: str, who: Any) -> str:
        """The address of a case, of an assistant of this name, for somebody in `people`."""
        return stock.address(path, key, self.mira, self.people.get(who))

    @contextmanager
    def audited(self) -> Any:
        """The lines that a block writes into the log, one mapping each."""
        lines: list[dict[str, Any]] = []

        def keep(text: Any, *rest: Any, **more: Any) -> None:
            if str(text).startswith("[AI_AUDIT]"):
                lines.append(json.loads(str(text).partition(" ")[2]))

        with mock.patch.object(logger, "log_info", keep):
            yield lines
