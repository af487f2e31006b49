"""Whatever stands before the MCP server: the address, the method, names, the token, and turns."""

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
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evennia_ai.api.mcp import calls
from evennia_ai.api.problems import answer_to
from evennia_ai.core.settings.services import McpServerConfig
from evennia_ai.runtime.asgi_server import RequestTurn, client_address
from evennia_ai.runtime.game_thread import run_async
from evennia_ai.runtime.web_requests import api_config

PATHS = ("/mcp", "/mcp/")
CALLER, TURN = "evennia_ai.caller", "evennia_ai.turn"
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
# Beyond the time for the game, what a request has to be sent and answered in.
MORE_SECONDS = 15.0


def security_of(config: McpServerConfig) -> TransportSecuritySettings:
    """The names by which the server may be called, and the pages that may call it.

    A browser can be led to a server on its own machine by a name that means that machine for a
    moment only; it tells the name that it meant, and the page that it obeys.
    """
    local = [f"{name}{port}" for name in LOCAL_NAMES for port in ("", ":*")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*local, *config.allowed_hosts],
        allowed_origins=list(config.allowed_origins),
    )


class McpGuard:
    """An ASGI application that lets through to another whoever may come in."""

    def __init__(self, app: ASGIApp, security: TransportSecuritySettings) -> None:
        self._served = app
        self._whole = RequestBodyLimitMiddleware(self._serve, api_config().body_bytes)
        self._names = TransportSecurityMiddleware(security)
        self._free = asyncio.Semaphore(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request within its time; one that takes longer is cut off."""
        if scope["type"] != "http":
            return
        with anyio.move_on_after(api_config().long_timeout_seconds + MORE_SECONDS):
            request = Request(scope, receive)
            turn = scope[TURN] = RequestTurn(self._free)
            try:
                refused = await self._refusal(request)
                if refused is None:
                    await turn.begin()
                    refused = await self._admit(request)
                    turn.end()  # while the body is sent, which may take its time
                await (refused or self._whole)(scope, receive, send)
            finally:
                turn.end()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that has come whole; its turn is over before its answer is read."""
        turn: RequestTurn = scope[TURN]
        await turn.begin()

        async def sending(message: Message) -> None:
            turn.end()
            await send(message)

        await self._served(scope, receive, sending)

    async def _refusal(self, request: Request) -> Response | None:
        """None where a request is one for this server at all."""
        if request.url.path not in PATHS:
            return PlainTextResponse("There is nothing here but /mcp.", 404)
        if request.method != "POST":
            # Each request stands for itself: there is no session to listen to or to end.
            return PlainTextResponse("Only POST is served.", 405, headers={"Allow": "POST"})
        refused: Response | None = await self._names.validate_request(request, is_post=True)
        return refused

    async def _admit(self, request: Request) -> Response | None:
        """None where whoever asks may come in; the request knows then who it is."""
        header = request.headers.get("authorization", "")
        enter = partial(calls.admit, header, client_address(request))
        try:
            request.scope[CALLER] = await run_async(enter, api_config().timeout_seconds)
        except Exception as error:
            told = answer_to(error)
            headers = dict(told.items())
            if told.status_code == 401:
                headers["WWW-Authenticate"] = "Bearer"
            return JSONResponse(told.data, told.status_code, headers)
        return None


def end_turn(request: Request) -> None:
    """Let others go on before a request that waits for a model or a tool."""
    turn: RequestTurn = request.scope[TURN]
    turn.end()


def caller_of(request: Request) -> calls.McpCaller:
    """Whoever sent a request that was let through."""
    caller: calls.McpCaller = request.scope[CALLER]
    return caller
