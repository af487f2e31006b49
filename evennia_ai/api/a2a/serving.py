"""The A2A server, built on the official SDK: the routes of each assistant, on a port of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from evennia_ai.api.a2a import calls
from evennia_ai.api.a2a.card import CARD_PATH, ROOT, card_of, path_of, respond
from evennia_ai.api.a2a.context import ASSISTANT, Contexts, NumberedStreams
from evennia_ai.api.a2a.guard import A2aGuard, error_response, refuse
from evennia_ai.api.a2a.handler import Handler
from evennia_ai.api.a2a.push import PushSender
from evennia_ai.api.a2a.streams import Hub
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.runtime.asgi_server import AsgiServer, address_of, base_url
from evennia_ai.runtime.game_thread import GameBusyError, run_async
from evennia_ai.runtime.web_requests import api_config
from evennia_ai.tasks import peer_store

T = TypeVar("T")
# Connections for requests that do not wait, beyond those for streams.
SHORT_CONNECTIONS = 128
NO_ONE_CARD = "There are {count} assistants here; their cards are listed at {root}."


class A2aServer:
    """The server. All but `stop` runs on the asyncio lane.

    Args:
        log: writes a line to the game's log.
    """

    def __init__(self, config: A2aConfig, log: Callable[[str], None]) -> None:
        self._config, self._log = config, log
        self._began_at = time.time()
        self._port = AsgiServer(
            config.host,
            config.port,
            most_connections=config.streams_at_once + SHORT_CONNECTIONS,
            loggers=("a2a", "sse_starlette"),
        )

    async def run(self) -> None:
        """Serve until `stop`.

        Raises:
            OSError: the port cannot be bound.
        """
        listener = await self._port.bind()
        if listener is None:
            return
        hub = Hub(self._config)
        handler = Handler(self._config, hub)
        sender = PushSender(self._config, hub, handler.in_game)
        peer_store.CHANGED.append(hub.tell)
        sending = asyncio.create_task(sender.run())
        self._log(f"the A2A server answers at {address_of(listener)}{ROOT}/")
        try:
            await self._port.serve(self._app(handler), listener)
        finally:
            peer_store.CHANGED.remove(hub.tell)
            sending.cancel()

    def stop(self) -> None:
        """Release the port soon and end; may be called in any thread."""
        self._port.stop()

    def _app(self, handler: Handler) -> A2aGuard:
        contexts = Contexts(self._config)
        rpc = create_jsonrpc_routes(handler, "/", contexts, enable_v0_3_compat=True)
        rest = create_rest_routes(handler, contexts)
        own: list[BaseRoute] = [Route(CARD_PATH, self._card, methods=["GET"]), *rpc]
        # Without the SDK's mounts, which repeat all routes below a tenant: here the assistant in
        # the path takes that role.
        own += [route for route in rest if isinstance(route, Route)]
        # The same without a slash at its end, which a mount does not match.
        bare = Route(f"{ROOT}/{{{ASSISTANT}}}", rpc[0].endpoint, methods=["POST"])
        routes: list[BaseRoute] = [
            Route(CARD_PATH, self._only_card, methods=["GET"]),
            Route(ROOT, self._list, methods=["GET"]),
            Route(f"{ROOT}/", self._list, methods=["GET"]),
            bare,
            Mount(f"{ROOT}/{{{ASSISTANT}}}", routes=own),
        ]
        refusals = dict.fromkeys((calls.CallRefusedError, GameBusyError), refuse)
        app = Starlette(routes=routes, exception_handlers=refusals)
        return A2aGuard(NumberedStreams(app), self._config)

    # ---- cards -----------------------------------------------------------------------------

    async def _card(self, request: Request) -> Response:
        facts = await self._in_game(calls.card, request.path_params[ASSISTANT], self._config)
        return respond(request, card_of(facts, self._base(request)), self._began_at)

    async def _only_card(self, request: Request) -> Response:
        """The card at the well-known path of the host, if only one assistant has a card."""
        facts = await self._in_game(calls.cards, self._config)
        if len(facts) != 1:
            root = f"{self._base(request)}{ROOT}/"
            return error_response(404, NO_ONE_CARD.format(count=len(facts), root=root))
        return respond(request, card_of(facts[0], self._base(request)), self._began_at)

    async def _list(self, request: Request) -> Response:
        cards, base = await self._in_game(calls.cards, self._config), self._base(request)
        assistants = [
            {"name": facts.key, "card": f"{base}{path_of(facts.key)}{CARD_PATH}"} for facts in cards
        ]
        return JSONResponse({"assistants": assistants})

    async def _in_game(self, function: Callable[..., T], *arguments: object) -> T:
        outcome: T = await run_async(partial(function, *arguments), api_config().timeout_seconds)
        return outcome

    def _base(self, request: Request) -> str:
        return self._config.address.rstrip("/") or base_url(request)
