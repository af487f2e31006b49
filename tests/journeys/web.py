"""Clients of a game's web server: programs with a token, and browsers with a login's cookies."""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPMessage
from http.cookiejar import CookieJar
from typing import Any

from tests.journeys.clients import PASSWORD

API = "/api/ai/"
WAIT_SECONDS = 70.0
CSRF_FIELD = re.compile(r"name=[\"']csrfmiddlewaretoken[\"'] value=[\"'](\w+)[\"']")
# A web page whose programs may call the servers of peers and staff.
PAGE = "https://tools.example"


@dataclass(frozen=True)
class Answer:
    """A response.

    Attributes:
        told: the JSON of the body, or else its text.
    """

    status: int
    told: Any
    headers: HTTPMessage


def status_from(address: str, port: int, path: str, **headers: str) -> int:
    """The status of a request that is made from one of this machine's own addresses.

    Args:
        address: within 127.0.0.0/8.
        path: below `/api/ai/`.
        headers: with `_` for `-`.
    """
    asking = HTTPConnection("127.0.0.1", port, WAIT_SECONDS, source_address=(address, 0))
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        asking.request("GET", API + path, headers=sent)
        return asking.getresponse().status
    finally:
        asking.close()


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Returns every response as it is: redirects and errors are what a test looks at."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response


class Web:
    """A client of a game's web server.

    Attributes:
        cookies: as a browser keeps them.
    """

    def __init__(self, port: int, token: str = "") -> None:
        self.root = f"http://127.0.0.1:{port}"
        self.token = token
        self.cookies = CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(self.cookies),
            _AsItIs(),
        )

    @classmethod
    def with_token(cls, port: int, name: str, password: str = PASSWORD) -> Web:
        web = cls(port)
        login = {"username": name, "password": password}
        web.token = web.get_done("POST", "token/", login)["token"]
        return web

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send one request to the API.

        Args:
            path: below `/api/ai/`.
            body: plain data.
            headers: with `_` for `-`.
        """
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            sent["Authorization"] = f"Token {self.token}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        address = API + urllib.parse.quote(path, safe="/?=&%:")
        return self._send(urllib.request.Request(self.root + address, data, sent, method=method))

    def get_done(self, method: str, path: str, body: Any = None) -> Any:
        """The body of the response to a request that must succeed."""
        answer = self.ask(method, path, body)
        assert answer.status in (200, 201, 204), (method, path, answer.status, answer.told)
        return answer.told

    def read(self, path: str) -> Any:
        return self.get_done("GET", path)

    def log_in(self, name: str, password: str = PASSWORD) -> None:
        address = f"{self.root}/auth/login/"
        form = self._send(urllib.request.Request(address))
        field = CSRF_FIELD.search(str(form.told))
        assert field, form.told
        filled = {"username": name, "password": password, "csrfmiddlewaretoken": field[1]}
        sent = urllib.parse.urlencode(filled).encode()
        done = self._send(urllib.request.Request(address, sent, {"Referer": address}))
        assert 302 == done.status, done.told

    @property
    def csrf_token(self) -> str:
        """The token that the website's own pages send with a change."""
        return next(str(each.value) for each in self.cookies if each.name == "csrftoken")

    def _send(self, request: urllib.request.Request) -> Answer:
        with self._opener.open(request, timeout=WAIT_SECONDS) as response:
            text = response.read().decode()
            is_json = response.headers.get_content_type() == "application/json"
            body = json.loads(text) if is_json and text else text
            return Answer(int(response.status), body, response.headers)


@dataclass(frozen=True)
class Raw:
    """A response, undecoded."""

    status: int
    text: str
    headers: HTTPMessage

    @property
    def told(self) -> Any:
        return json.loads(self.text)


def assert_page_may_ask(answer: Raw, wants: str = "") -> None:
    """A browser would let the page ask what it asked for in this preflight, or read the answer."""
    assert answer.status in (200, 204)
    assert PAGE == answer.headers["Access-Control-Allow-Origin"]
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert wants == answer.headers["Access-Control-Allow-Headers"]


def ask_raw(port: int, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Raw:
    """Send one request as given to a server beside the game; an empty header is not sent."""
    asking = HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
    try:
        asking.request(
            method, path, data, {name: value for name, value in headers.items() if value}
        )
        response = asking.getresponse()
        return Raw(response.status, response.read().decode(), response.headers)
    finally:
        asking.close()
