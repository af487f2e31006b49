"""Whatever stands before the A2A server: names, pages, sizes, and the token."""

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
from evennia_ai.operations.result import ProblemKind
from evennia_ai.resilience.clock import SlidingCount
from evennia_ai.runtime.asgi_server import RequestTurn, client_address
from evennia_ai.runtime.game_thread import GameBusyError, run_async
from evennia_ai.runtime.web_requests import api_config

LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
METHODS = "GET, POST, DELETE, OPTIONS"
HEADERS = "Authorization, Content-Type, A2A-Version, A2A-Extensions, Last-Event-ID"
TOO_LONG = "A request has at most {most:,} bytes here."
WRONG_HOST = "This server is not called {host!r}."
WRONG_PAGE = "Programs of the page {origin!r} may not ask here."
TOO_OFTEN = "Too many requests without a good token from your address; wait a minute."
MINUTE, MOST_ADDRESSES = 60.0, 10_000
BODY_SECONDS = 30.0
KINDS = ("application/json", "application/a2a+json")
NO_JSON = "The body of a request is application/json here, not {kind}."
STATUS = {ProblemKind.MISSING: 404, ProblemKind.UNAVAILABLE: 503, ProblemKind.INVALID: 400}


class A2aGuard:
    """An ASGI application that lets through to another whoever may come in."""

    def __init__(self, app: ASGIApp, config: A2aConfig) -> None:
        self._app, self._config = app, config
        self._hosts = {*LOCAL_NAMES, *(name.casefold() for name in config.allowed_hosts)}
        self._free = asyncio.Semaphore(1)
        self._failed: OrderedDict[str, SlidingCount] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        origin = request.headers.get("origin", "")
        sending = _with_origin(send, origin) if origin in self._config.allowed_origins else send
        turn = scope[TURN] = RequestTurn(self._free)
        try:
            refused, body = await self._refusal(request, origin, turn, receive), b""
            if refused is None:
                refused, body = await self._read(receive)
            if refused is not None:
                await refused(scope, receive, sending)
                return
            await turn.begin()
            await self._app(scope, _given_back(body, receive), _after(turn, sending))
        finally:
            turn.end()

    async def _refusal(
        self, request: Request, origin: str, turn: RequestTurn, receive: Receive
    ) -> Response | None:
        """None where a request is to be served."""
        refused = self._refuse(request, origin)
        if refused is None and request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": METHODS})
        if refused is None and not _is_open(request):
            await turn.begin()
            refused = await self._admit(request)
            turn.end()  # while the body is sent, which may take its time
        return refused or _refuse_kind(request)

    def _refuse(self, request: Request, origin: str) -> Response | None:
        """None where a request is one for this server at all."""
        host = (request.url.hostname or "").casefold()
        if host not in self._hosts:
            return _say(421, WRONG_HOST.format(host=host[:100]))
        if origin and origin not in self._config.allowed_origins:
            return _say(403, WRONG_PAGE.format(origin=origin[:100]))
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._config.body_bytes:
            return _say(413, TOO_LONG.format(most=self._config.body_bytes))
        return None

    async def _admit(self, request: Request) -> Response | None:
        """None where whoever asks may come in; the request knows then who it is."""
        address = client_address(request)
        count = self._count_of(address)
        most = api_config().anonymous_per_minute
        if most and count.totals(time.monotonic())[0] >= most:
            return _say(429, TOO_OFTEN, {"Retry-After": "60"})
        header = request.headers.get("authorization", "")
        try:
            enter = partial(calls.admit, header, address)
            request.scope[CALLER] = await run_async(enter, api_config().timeout_seconds)
        except calls.CallRefusedError as error:
            if not error.is_stranger:
                return _say(STATUS.get(error.problem, 403), str(error))
            count.add(time.monotonic(), is_failure=True)
            return _say(401, str(error), {"WWW-Authenticate": "Bearer"})
        except GameBusyError as error:
            return _say(503, f"{error}.", {"Retry-After": str(error.retry_seconds)})
        return None

    def _count_of(self, address: str) -> SlidingCount:
        """Failed tries from an address, together with those it cannot be told from."""
        count = self._failed.setdefault(counted_as(address), SlidingCount(MINUTE))
        self._failed.move_to_end(counted_as(address))
        while len(self._failed) > MOST_ADDRESSES:
            self._failed.popitem(last=False)
        return count

    async def _read(self, receive: Receive) -> tuple[Response | None, bytes]:
        """The body of a request, or an answer to one that is too long or comes too slowly."""
        parts, size, has_more = list[bytes](), 0, True
        with suppress(TimeoutError):
            async with asyncio.timeout(BODY_SECONDS):
                while has_more and size <= self._config.body_bytes:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    has_more = message.get("more_body", False)
        if has_more:
            return _say(413, TOO_LONG.format(most=self._config.body_bytes)), b""
        return None, b"".join(parts)


def _refuse_kind(request: Request) -> Response | None:
    """None where the body of a request says to be JSON, or nothing of itself."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method != "POST" or not kind or kind in KINDS:
        return None
    error = ContentTypeNotSupportedError(NO_JSON.format(kind=kind[:100]))
    is_rpc = request.url.path.strip("/").count("/") == 1
    if is_rpc:
        return JSONResponse(build_error_response(None, error), 415)
    told = build_rest_error_payload(error)
    told["error"]["code"] = 415  # as the protocol has it; the SDK says 400
    return JSONResponse(told, 415)


def _is_open(request: Request) -> bool:
    """True for what everybody may read: cards, and where they are."""
    path = request.url.path
    is_card = path.endswith(CARD_PATH) or path.rstrip("/") == ROOT
    return is_card and request.method in ("GET", "HEAD")


def _given_back(body: bytes, receive: Receive) -> Receive:
    """The messages an application receives: the body that was read already, then what comes."""
    told: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def give() -> Message:
        return told.pop() if told else await receive()

    return give


def _after(turn: RequestTurn, send: Send) -> Send:
    """Lets the next request have its turn before an answer is read, which may take its time."""

    async def sending(message: Message) -> None:
        turn.end()
        await send(message)

    return sending


def _with_origin(send: Send, origin: str) -> Send:
    """Says in an answer that a page's program may read it."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = {
                "access-control-allow-origin": origin,
                "access-control-allow-methods": METHODS,
                "access-control-allow-headers": HEADERS,
                "vary": "Origin",
            }
            added = [(name.encode(), value.encode()) for name, value in headers.items()]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sending


def _say(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"message": text, "code": status}}, status, headers)
