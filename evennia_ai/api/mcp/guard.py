"""The checks in front of the MCP server: path, method, host name, origin and token; and turns."""

from __future__ import annotations

import asyncio
from functools import partial

import anyio
from mcp.server.transport_security import (
    RequestBodyLimitMiddleware,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from evennia_ai.api.mcp import calls
from evennia_ai.api.problems import answer_to
from evennia_ai.core.settings.services import McpServerConfig
from evennia_ai.runtime.asgi_server import RequestTurn, allowing_origin, client_address
from evennia_ai.runtime.game_thread import run_async
from evennia_ai.runtime.web_requests import api_config

PATHS = ("/mcp", "/mcp/")
METHODS = "POST, OPTIONS"
CALLER, TURN = "evennia_ai.caller", "evennia_ai.turn"
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
# For sending and answering a request, in addition to the game's own time limit.
MORE_SECONDS = 15.0


def security_of(config: McpServerConfig) -> TransportSecuritySettings:
    """The host names by which the server may be called, and the web origins that may call it.

    They protect against DNS rebinding: a web page can make a browser call a server on its own
    machine by a host name that resolves there for a moment, but not forge the headers.
    """
    local = [f"{name}{port}" for name in LOCAL_NAMES for port in ("", ":*")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*local, *config.allowed_hosts],
        allowed_origins=list(config.allowed_origins),
    )


class McpGuard:
    """An ASGI wrapper that passes on only requests that may be served."""

    def __init__(self, app: ASGIApp, security: TransportSecuritySettings) -> None:
        self._served = app
        self._size_limited = RequestBodyLimitMiddleware(self._serve, api_config().body_bytes)
        self._host_check = TransportSecurityMiddleware(security)
        self._turns = asyncio.Semaphore(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it on; one that takes too long is cut off."""
        if scope["type"] != "http":
            return
        with anyio.move_on_after(api_config().long_timeout_seconds + MORE_SECONDS):
            request = Request(scope, receive)
            turn = scope[TURN] = RequestTurn(self._turns)
            try:
                response = await self._check(request)
                if response is None and "origin" in request.headers:
                    send = allowing_origin(request, send, METHODS)
                if response is None and request.method == "OPTIONS":
                    response = Response(status_code=204, headers={"Allow": METHODS})
                elif response is None:
                    await turn.begin()
                    response = await self._admit(request)
                    turn.end()  # others run while the client sends the body
                await (response or self._size_limited)(scope, receive, send)
            # Also after an error or a disconnect, else no other request would ever run.
            finally:
                turn.end()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose body is complete; its turn ends before the answer is sent."""
        turn: RequestTurn = scope[TURN]
        await turn.begin()
        await self._served(scope, receive, turn.ending(send))

    async def _check(self, request: Request) -> Response | None:
        """The refusal of a request that is not for this server; None for any other."""
        if request.url.path not in PATHS:
            return PlainTextResponse("There is nothing here but /mcp.", 404)
        is_post = request.method == "POST"
        if not is_post and request.method != "OPTIONS":
            # GET and DELETE would listen to a session or end it, and there are no sessions.
            return PlainTextResponse("Only POST is served.", 405, headers={"Allow": METHODS})
        refusal: Response | None = await self._host_check.validate_request(request, is_post=is_post)
        return refusal

    async def _admit(self, request: Request) -> Response | None:
        """Authenticate a request, and store its caller in the scope; the refusal, or None."""
        header = request.headers.get("authorization", "")
        enter = partial(calls.admit, header, client_address(request))
        try:
            request.scope[CALLER] = await run_async(enter, api_config().timeout_seconds)
        except Exception as error:
            answer = answer_to(error)
            headers = dict(answer.items())
            if answer.status_code == 401:
                headers["WWW-Authenticate"] = "Bearer"
            return JSONResponse(answer.data, answer.status_code, headers)
        return None


def end_turn(request: Request) -> None:
    """Let other requests run while this one waits for a model or a tool."""
    turn: RequestTurn = request.scope[TURN]
    turn.end()


def caller_of(request: Request) -> calls.McpCaller:
    """The caller of a request that passed the guard."""
    caller: calls.McpCaller = request.scope[CALLER]
    return caller
