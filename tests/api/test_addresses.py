"""The addresses of clients: forged headers lift no limit and lock nobody else out."""

import re
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import RequestFactory
from django.test.utils import override_settings
from evennia.server.models import ServerConfig
from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure
from twisted.web.http_headers import Headers
from twisted.web.server import Request
from twisted.web.test.requesthelper import DummyChannel

from evennia_ai.runtime import portal_peers
from evennia_ai.runtime.web_requests import address_of
from tests.api.support import ApiTest
from tests.game.support import PASSWORD

# Read at import, before Evennia's test classes replace them with a list of their own.
PORTAL_PARTS = list(settings.PORTAL_SERVICES_PLUGIN_MODULES)
FORGED = "HTTP_X_FORWARDED_FOR"
LOGIN = {"username": "Berit", "password": PASSWORD}
WRONG = LOGIN | {"password": "wrong"}


class Counting(MD5PasswordHasher):  # type: ignore[misc]
    calls = 0

    def encode(self, password: str, salt: str, *rest: Any) -> str:
        type(self).calls += 1
        return str(super().encode(password, salt, *rest))


class _Handle:
    def __init__(self, address: str) -> None:
        self._address = address

    def getpeername(self) -> tuple[str, int]:
        return self._address, 4711


class _Transport:
    def __init__(self, address: str) -> None:
        self._handle = _Handle(address)

    def getHandle(self) -> _Handle:  # noqa: N802  (Twisted's name)
        return self._handle


class _Passing:
    def __init__(self, address: str, headers: dict[bytes, list[bytes]]) -> None:
        self.transport = _Transport(address)
        self.requestHeaders = Headers(headers)  # type: ignore[no-untyped-call]


def proxied(address: str, **headers: str) -> dict[str, str]:
    """Return the headers that the server gets of a request through the portal."""
    sent = {name.encode(): [value.encode()] for name, value in headers.items()}
    request = _Passing(address, sent)
    portal_peers.add_header(request)
    return {
        f"HTTP_{name.decode().upper().replace('-', '_')}": b",".join(values).decode()
        for name, values in request.requestHeaders.getAllRawHeaders()
    }


class TestWhere(ApiTest):
    def came_from(self, **environ: str) -> str:
        return address_of(RequestFactory().get("/", **environ).META)

    def test_hole_c15_the_portal_tells_who_is_connected(self) -> None:
        """A client that sends the portal's header itself, in any spelling, is not believed."""
        headers = proxied("203.0.113.7")
        assert "203.0.113.7" == self.came_from(**headers)
        forged = headers[portal_peers.KEY]
        for name in ("x-evennia-ai-peer", "X_Evennia_AI-Peer"):
            sent = proxied("198.51.100.9", **{name: forged})
            assert [portal_peers.KEY] == list(sent)
            assert "198.51.100.9" == self.came_from(**sent)
        for value in (f"198.51.100.9 {forged.split()[1]}", "198.51.100.9", "", " "):
            assert "127.0.0.1" == self.came_from(**{portal_peers.KEY: value})

    def test_hole_c15_x_forwarded_for_is_believed_of_trusted_proxies_only(self) -> None:
        """Evennia puts part of that header in place of the address. That is not believed."""
        assert "203.0.113.7" == self.came_from(**proxied("203.0.113.7"), **{FORGED: "1.1.1.1"})
        assert "127.0.0.1" == self.came_from(REMOTE_ADDR="1.1.1.1", **{FORGED: "1.1.1.1, 2.2.2.2"})
        behind = proxied("10.0.0.5")
        with override_settings(EVENNIA_AI_API_CONFIG={"trusted_proxies": ["10.0.0.0/8"]}):
            assert "2.2.2.2" == self.came_from(**behind, **{FORGED: "1.1.1.1, 2.2.2.2"})
        with override_settings(UPSTREAM_IPS=["127.0.0.1", "10.0.0.5"]):
            assert "2.2.2.2" == self.came_from(**behind, **{FORGED: "1.1.1.1, 2.2.2.2"})
        assert "10.0.0.5" == self.came_from(**behind, **{FORGED: "1.1.1.1, 2.2.2.2"})

    def test_hole_c15_the_portal_has_our_part(self) -> None:
        """The portal's part is installed without a line in the game's settings."""
        assert portal_peers.__name__ in PORTAL_PARTS

    def test_an_answer_that_nobody_waits_for_ends_in_silence(self) -> None:
        """Twisted finishes a request even if its client has left, which usually raises an error."""
        kind = portal_peers._with_header(Request)
        left, waited_for = kind(DummyChannel(), False), kind(DummyChannel(), False)
        left.connectionLost(Failure(ConnectionLost()))
        left.finish()
        waited_for.gotLength(0)
        waited_for.finish()
        assert (0, 1) == (left.finished, waited_for.finished)


class TestLimits(ApiTest):
    def test_hole_c15_forging_lifts_no_limit(self) -> None:
        with override_settings(EVENNIA_AI_API_CONFIG={"anonymous_per_minute": 3}):
            statuses = [self.call("GET", "schema/", who=None).status_code for _ in range(4)]
            assert [200, 200, 200, 429] == statuses
            for number in range(60):
                forged = f"203.0.113.{number}"
                sent = {FORGED: forged, "REMOTE_ADDR": forged}
                assert 429 == self.call("GET", "schema/", who=None, **sent).status_code

    def test_hole_c15_thirty_names_from_one_address(self) -> None:
        """One address may try five passwords a minute, whatever its headers claim."""
        statuses = []
        for number in range(30):
            forged = f"203.0.113.{number}"
            body = {"username": f"Name{number}", "password": "wrong"}
            sent = {FORGED: forged, "REMOTE_ADDR": forged}
            statuses.append(self.call("POST", "token/", body, who=None, **sent).status_code)
        assert [401] * 5 + [429] * 25 == statuses

    def test_hole_c15_strangers_keep_nobody_out(self) -> None:
        """Wrong tries by others, even from many addresses, do not lock a user out."""
        home = {"REMOTE_ADDR": "198.51.100.1"}
        assert 200 == self.call("POST", "token/", LOGIN, who=None, **home).status_code
        for number in range(60):
            sent = {"REMOTE_ADDR": f"203.0.113.{number}"}
            self.call("POST", "token/", WRONG, who=None, **sent)
        assert 429 == self.call("POST", "token/", WRONG, who=None, **sent).status_code
        assert 200 == self.call("POST", "token/", LOGIN, who=None, **home).status_code
        elsewhere = {"REMOTE_ADDR": "198.51.100.2"}
        bo = LOGIN | {"username": "Bo"}
        assert 200 == self.call("POST", "token/", bo, who=None, **elsewhere).status_code

    def test_hole_c15_health_is_refused_to_nobody(self) -> None:
        """Past its limit a client gets a cached answer that is up to one second old."""
        with override_settings(EVENNIA_AI_API_CONFIG={"anonymous_per_minute": 2}):
            statuses = {self.call("GET", "health/", who=None).status_code for _ in range(40)}
            assert {200} == statuses
            assert 401 == self.call("GET", "assistants/", who=None).status_code
            elsewhere = self.call("GET", "health/", who=None, REMOTE_ADDR="198.51.100.1")
            assert 200 == elsewhere.status_code

    def test_a_ban_of_an_address_cannot_be_forged_away(self) -> None:
        bans = [("", "203.0.113.7", re.compile(r"203\.0\.113\.7"), "now", "a test")]
        ServerConfig.objects.conf("server_bans", bans)
        sent = {**proxied("203.0.113.7"), FORGED: "1.1.1.1"}
        self.fault(403, "GET", "assistants/", **sent)
        self.get("assistants/", **proxied("203.0.113.8"))


class TestTime(ApiTest):
    def test_hole_c15_every_wrong_try_costs_one_hash(self) -> None:
        """Otherwise the time of an answer tells which names exist or are banned."""
        kind = f"{__name__}.{Counting.__name__}"
        with override_settings(
            PASSWORD_HASHERS=[kind], EVENNIA_AI_API_CONFIG={"tokens_per_minute": 0}
        ):
            for account in (self.people["builder with control"], self.people["builder"]):
                account.set_password(PASSWORD)
                account.save()
            ServerConfig.objects.conf("server_bans", [("bo", "", "", "now", "a test")])
            costs = []
            for name in ("Berit", "nobody", "Bo"):
                before = Counting.calls
                body = {"username": name, "password": "wrong"}
                assert 401 == self.call("POST", "token/", body, who=None).status_code
                costs.append(Counting.calls - before)
        assert [1, 1, 1] == costs
