"""The official MCP client, as an owner's coding assistant uses it, and raw requests."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, UNHURRIED, Game
from tests.journeys.ports import port as port
from tests.journeys.web import PAGE, Raw, Web, ask_raw

T = TypeVar("T")
WAIT_SECONDS = 70.0
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
MODES = ("legacy", "auto")  # the handshake of 2025, and the newest protocol that both support


class Staff:
    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.url = f"http://127.0.0.1:{port}/mcp"

    def do(self, use: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
        async def main() -> T:
            headers = {"Authorization": f"Bearer {self.token}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=WAIT_SECONDS) as http,
                Client(
                    streamable_http_client(self.url, http_client=http), mode=mode, cache=None
                ) as client,
            ):
                return await use(client)

        return asyncio.run(main())

    def tools(self, mode: str = "auto") -> dict[str, Any]:
        async def use(client: Client) -> dict[str, Any]:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

        return self.do(use, mode)

    def call(self, name: str, mode: str = "auto", /, **arguments: Any) -> CallToolResult:
        """Make one call; the client itself checks the result against the tool's schema."""
        return self.do(lambda client: client.call_tool(name, arguments), mode)

    def told(self, name: str, /, **arguments: Any) -> Any:
        """The value of a call that must succeed."""
        result = self.call(name, **arguments)
        assert not result.is_error, sentence(result)
        return result.structured_content

    def fault(self, name: str, /, **arguments: Any) -> str:
        """The error text of a call that must fail."""
        result = self.call(name, **arguments)
        assert result.is_error, result.structured_content
        assert result.structured_content is None
        return sentence(result)

    def raw(
        self, body: bytes | None = None, method: str = "POST", path: str = "/mcp", **headers: str
    ) -> Raw:
        """Send one request as given.

        Args:
            body: a ping if None.
            headers: with `_` for `-`; an empty one is not sent.
        """
        sent = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        data = json.dumps(PING).encode() if body is None else body
        return ask_raw(self.port, method, path, data if method == "POST" else None, sent)


def sentence(result: CallToolResult) -> str:
    """The text of a result for people, which precedes its value as JSON."""
    texts = [str(getattr(block, "text", "")) for block in result.content]
    if result.structured_content is not None:
        assert result.structured_content == json.loads(texts.pop())
    return "\n".join(texts)


@pytest.fixture(scope="module")
def game_settings(port: int) -> dict[str, Any]:
    config = {"writes_per_minute": 0, "tokens_per_minute": 100, "reads_per_minute": 0}
    server = {"port": port, "allowed_origins": [PAGE]}
    return {
        **UNHURRIED,
        "EVENNIA_AI_API_CONFIG": config,
        "EVENNIA_AI_MCP_SERVER_CONFIG": server,
    }


def token(game: Game, scope: str, name: str = ADMIN_NAME, password: str = ADMIN_PASSWORD) -> str:
    login = {"username": name, "password": password, "scope": scope}
    return str(Web(game.ports.web).get_done("POST", "token/", login)["token"])


@pytest.fixture(scope="module")
def reader(game: Game, port: int) -> Staff:
    """A client with a token of the usual scope, which only reads."""
    return Staff(port, token(game, "usual"))


@pytest.fixture(scope="module")
def writer(game: Game, port: int) -> Staff:
    """A client with a token that may change things."""
    return Staff(port, token(game, "write"))
