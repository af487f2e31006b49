"""HTTP answers of a real server to a message, and whether work began before them."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web

from evennia_ai.a2a_client.cards import JSONRPC, RemoteCard
from evennia_ai.a2a_client.client import Client
from evennia_ai.a2a_client.protocol import AgentMessage, AgentRefusedError
from evennia_ai.core.settings.remote import Remote, RemoteConfig
from evennia_ai.mcp.pins import Pin


async def send(status: int, code: int) -> None:
    """Send a message to a server that gives this answer."""

    async def answer(_: web.Request) -> web.Response:
        body = json.dumps({"error": {"code": code, "message": "no"}})
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_post("/rpc", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/rpc"
        config = RemoteConfig(card=url, assistants=("*",), networks=("127.0.0.0/8",))
        card = RemoteCard("Atlas", "", url, JSONRPC, Pin("", "{}"))
        await Client(Remote("atlas", config)).send(card, AgentMessage("m1", "Where?"), 10)
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        *((status, 0, AgentRefusedError) for status in (400, 404, 409, 422, 501)),
        *((status, 0, ConnectionError) for status in (408, 424, 499, 500)),
        *((400, code, ConnectionError) for code in (-32603, -32006, -32005, -32000)),
        (400, -32600, AgentRefusedError),
    ],
)
def test_what_was_begun(status: int, code: int, kind: type[Exception]) -> None:
    """The JSON-RPC code outranks the status: an error inside the agent may come after work."""
    with pytest.raises(kind):
        asyncio.run(send(status, code))
