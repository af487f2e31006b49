"""HTTP answers of a real server to a message, and whether work began before them."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from evennia_ai.a2a_client.addresses import ResolvedAddress, exchange
from evennia_ai.a2a_client.cards import JSONRPC, RemoteCard
from evennia_ai.a2a_client.client import Client
from evennia_ai.a2a_client.protocol import AgentMessage, AgentRefusedError
from evennia_ai.core.settings.remote import Remote, RemoteConfig
from evennia_ai.mcp.pins import Pin

TOKEN = "sesame-1234"


@asynccontextmanager
async def serving(status: int, code: int) -> AsyncIterator[int]:
    """A server that gives this answer and repeats the token it was sent; its port."""

    async def answer(request: web.Request) -> web.Response:
        words = f"no, {request.headers.get('Authorization', '')}"
        body = json.dumps({"error": {"code": code, "message": words}})
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_post("/rpc", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def send(status: int, code: int) -> None:
    """Send a message to a server that gives this answer."""
    async with serving(status, code) as port:
        url = f"http://127.0.0.1:{port}/rpc"
        config = RemoteConfig(card=url, assistants=("*",), networks=("127.0.0.0/8",))
        card = RemoteCard("Atlas", "", url, JSONRPC, Pin("", "{}"))
        await Client(Remote("atlas", config, TOKEN)).send(card, AgentMessage("m1", "Where?"), 10)


@pytest.mark.parametrize("host", ["there.example", "THERE.example.", "bücher.example"])
def test_a_host_is_asked_at_its_checked_address_however_it_is_spelled(host: str) -> None:
    """The HTTP client writes a name with letters outside of ASCII in IDNA."""

    async def ask() -> int:
        place = ResolvedAddress(host.lower(), "127.0.0.1", socket.AF_INET)
        async with serving(200, 0) as port:
            url = f"http://{host}:{port}/rpc"
            answer = await exchange("POST", url, place, headers={}, seconds=10, most_bytes=0)
            return answer.status

    assert 200 == asyncio.run(ask())


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        *((status, 0, AgentRefusedError) for status in (400, 404, 409, 422, 501)),
        *((status, 0, ConnectionError) for status in (408, 424, 499, 500)),
        *((400, code, ConnectionError) for code in (-32603, -32006, -32005, -32000)),
        (400, -32600, AgentRefusedError),
        (200, -32603, ConnectionError),
        (200, -32600, AgentRefusedError),
    ],
)
def test_what_was_begun(status: int, code: int, kind: type[Exception]) -> None:
    """The JSON-RPC code outranks the status: an error inside the agent may come after work.

    No error shows the token, which an agent may repeat.
    """
    with pytest.raises(kind) as failed:
        asyncio.run(send(status, code))
    assert TOKEN not in str(failed.value)
