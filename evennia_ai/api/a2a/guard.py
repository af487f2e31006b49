"""The checks in front of the A2A server: host name, origin, size of the body, and token."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import suppress
from functools import partial

from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import ContentTypeNotSupportedError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evennia_ai.api.a2a import calls
from evennia_ai.api.a2a.card import CARD_PATH, ROOT
from evennia_ai.api.a2a.context import CALLER, TURN
from evennia_ai.core.safety.addresses import counted_as
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.operations.result import STATUSES
from evennia_ai.resilience.clock import SlidingCount
from evennia_ai.runtime.asgi_server import RequestTurn, allowing_origin, client_address
from evennia_ai.runtime.game_thread import GameBusyError, run_async
from evennia_ai.runtime.web_requests import api_config

LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
METHODS = "GET, POST, DELETE, OPTIONS"
TOO_LONG = "A request has at most {most:,} bytes here."
WRONG_HOST = "This server is not called {host!r}."
WRONG_PAGE = "Programs of the page {origin!r} may not ask here."
TOO_OFTEN = "Too many requests without a good token from your address; wait a minute."
# Addresses whose failures are remembered; the oldest are dropped, so that memory stays bounded.
MINUTE, MOST_ADDRESSES = 60.0, 10_000
BODY_SECONDS = 30.0
KINDS = ("application/json", "application/a2a+json")
NO_JSON = "The body of a request is application/json here, not {kind}."


class A2aGuard:
    """An ASGI wrapper that passes on only requests that may be served."""

    def __init__(self, app: ASGIApp, config: A2aConfig) -> None:
        self._app, self._config = app, config
        self._hosts = {*LOCAL_NAMES, *(name.casefold() for name in config.allowed_hosts)}
        self._turns = asyncio.Semaphore(1)
        self._failures: OrderedDict[str, SlidingCount] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        origin = request.headers.get("origin", "")
        is_page = origin in self._config.allowed_origins
        sending = allowing_origin(request, send, METHODS) if is_page else send
        turn = scope[TURN] = RequestTurn(self._turns)
        try:
            response, body = await self._check(request, origin, turn, receive), b""
            if response is None:
                response, body = await self._read(receive)
            if response is not None:
                await response(scope, receive, sending)
                return
            await turn.begin()
            await self._app(scope, _replay(body, receive), turn.ending(sending))
        finally:
            # Also after an error or a disconnect, else no other request would ever run.
            turn.end()

    async def _check(
        self, request: Request, origin: str, turn: RequestTurn, receive: Receive
    ) -> Response | None:
        """The refusal of a request; None if its body is to be read."""
        refusal = self._check_headers(request, origin)
        if refusal is None and request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": METHODS})
        if refusal is None and not _is_open(request):
            await turn.begin()
            refusal = await self._admit(request)
            turn.end()  # others run while the client sends the body
        return refusal or _check_content_type(request)

    def _check_headers(self, request: Request, origin: str) -> Response | None:
        """The refusal of a request that is not for this server; None for any other."""
        # A browser can be made to call a server in its own network by a name that resolves there
        # (DNS rebinding): its headers tell the name that it used, and the page that it obeys.
        host = (request.url.hostname or "").casefold()
        if host not in self._hosts:
            return error_response(421, WRONG_HOST.format(host=host[:100]))
        if origin and origin not in self._config.allowed_origins:
            return error_response(403, WRONG_PAGE.format(origin=origin[:100]))
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._config.body_bytes:
            return error_response(413, TOO_LONG.format(most=self._config.body_bytes))
        return None

    async def _admit(self, request: Request) -> Response | None:
        """Authenticate a request, and store its caller in the scope; the refusal, or None."""
        address = client_address(request)
        count = self._count_of(address)
        most = api_config().anonymous_per_minute
        if most and count.totals(time.monotonic())[0] >= most:
            return error_response(429, TOO_OFTEN, {"Retry-After": "60"})
        header = request.headers.get("authorization", "")
        try:
            enter = partial(calls.admit, header, address)
            request.scope[CALLER] = await run_async(enter, api_config().timeout_seconds)
        except (calls.CallRefusedError, GameBusyError) as error:
            if isinstance(error, calls.CallRefusedError) and error.is_stranger:
                count.add(time.monotonic(), is_failure=True)
            return refuse(request, error)
        return None

    def _count_of(self, address: str) -> SlidingCount:
        """The count of failed attempts of an address, or of its network (`counted_as`)."""
        count = self._failures.setdefault(counted_as(address), SlidingCount(MINUTE))
        self._failures.move_to_end(counted_as(address))
        while len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)
        return count

    async def _read(self, receive: Receive) -> tuple[Response | None, bytes]:
        """Read the body of a request; refuse one that is too long or too slow."""
        # Content-Length may be missing or wrong, so the bytes are counted as they come.
        parts, size, has_more = list[bytes](), 0, True
        with suppress(TimeoutError):
            async with asyncio.timeout(BODY_SECONDS):
                while has_more and size <= self._config.body_bytes:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    has_more = message.get("more_body", False)
        # The message that completes the body may also be the one that is too much.
        if has_more or size > self._config.body_bytes:
            return error_response(413, TOO_LONG.format(most=self._config.body_bytes)), b""
        return None, b"".join(parts)


def _check_content_type(request: Request) -> Response | None:
    """The refusal of a body that claims to be something else than JSON; None for any other."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method != "POST" or not kind or kind in KINDS:
        return None
    error = ContentTypeNotSupportedError(NO_JSON.format(kind=kind[:100]))
    # JSON-RPC is served at /a2a/<name>, HTTP+JSON below it; each has its own format of errors.
    is_rpc = request.url.path.strip("/").count("/") == 1
    if is_rpc:
        return JSONResponse(build_error_response(None, error), 415)
    body = build_rest_error_payload(error)
    body["error"]["code"] = 415  # as the specification says; the SDK says 400
    return JSONResponse(body, 415)


def _is_open(request: Request) -> bool:
    """True for cards and the list of cards, which need no token."""
    path = request.url.path
    is_card = path.endswith(CARD_PATH) or path.rstrip("/") == ROOT
    return is_card and request.method in ("GET", "HEAD")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Replay a body that was read already to the application; then pass on what comes."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def give() -> Message:
        return unread.pop() if unread else await receive()

    return give


def error_response(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    """An error that is none of the protocol's own."""
    return JSONResponse({"error": {"message": text, "code": status}}, status, headers)


def refuse(_: Request, error: Exception) -> Response:
    """The answer to a request that the game refuses, or for which it has no time."""
    if isinstance(error, GameBusyError):
        return error_response(503, f"{error}.", {"Retry-After": str(error.retry_seconds)})
    assert isinstance(error, calls.CallRefusedError)
    if error.is_stranger:
        return error_response(401, str(error), {"WWW-Authenticate": "Bearer"})
    return error_response(STATUSES[error.problem], str(error))
