"""One connection to an MCP server, by the official SDK; no other module of this room imports it.

The SDK is an optional dependency and takes a second to import. So it is imported when a connection
is first opened, in a thread. All of this runs on the asyncio lane.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import logging
import math
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2

from evennia_ai.errors import ConfigurationError, ToolError
from evennia_ai.mcp import tether
from evennia_ai.mcp.config import SETTING, ServerConfig
from evennia_ai.mcp.listing import MOST_ERROR_CHARS, Listed, as_text, bounded
from evennia_ai.mcp.streams import LineLog, Watched, limit_body

if TYPE_CHECKING:
    from httpx2 import Response
    from mcp import Client, MCPError
    from mcp.types import Tool

CONNECT_SECONDS = 60.0
MOST_PAGES = 50
MOST_PROBLEM_CHARS = 300
_INVALID_REQUEST = -32600
# Error codes that blame the request, not the server: unknown method, invalid parameters, a client
# capability that we lack, a URL that the user would have to visit. The SDK itself has another for a
# tool that asks back: the same as for a session that the server has forgotten.
_REQUEST_FAULTS = (-32601, -32602, -32021, -32042)
# The connection is closed, or the server has forgotten the session: it has to be opened again.
_CONNECTION_FAULTS = (-32000, _INVALID_REQUEST)


def require_sdk(wanted: str = f"{SETTING} names servers") -> None:
    """Check that the SDK is installed, without importing it.

    Args:
        wanted: the setting that needs it, for the error's text.

    Raises:
        ConfigurationError: it is not installed, or older than version 2.
    """
    try:
        version = importlib.metadata.version("mcp")
    except importlib.metadata.PackageNotFoundError:
        raise ConfigurationError(
            f"{wanted}, but the package mcp is not installed; "
            "install it with: pip install 'evennia-ai[mcp]'"
        ) from None
    if int(version.split(".")[0]) < 2:
        raise ConfigurationError(
            f"{wanted}, which needs version 2 or later of the package mcp, not {version}; "
            "install it with: pip install -U 'evennia-ai[mcp]'"
        )


class Connection:
    """An open connection.

    Attributes:
        is_lost: the connection has ended; calls that still wait get no answer.
        is_forgotten: the server does not know the session any more, such as after a restart.
        is_unsound: the server's newest answer in the session was HTTP 400.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.is_lost = self.is_forgotten = self.is_unsound = False
        self._config = config
        self._news = asyncio.Event()
        self._client: Client = None
        self._error: Any = None

    def attach(self, client: Client, error: type[MCPError]) -> None:
        """Set the SDK's client, already entered, and the SDK's class of errors."""
        self._client, self._error = client, error

    def lose(self) -> None:
        """Note that it has ended."""
        self.is_lost = True
        self._news.set()

    async def note_status(self, response: Response) -> None:
        """Note that the session is forgotten; a hook for the SDK's HTTP client.

        Many servers say so with 400, not 404. That may mean something else, so nothing is sent
        again, but only a new session helps.
        """
        self.is_forgotten |= response.status_code == 404
        if "Mcp-Session-Id" in response.request.headers:
            self.is_unsound = response.status_code == 400

    def note_change(self) -> None:
        """Note that the server's list of tools has changed."""
        self._news.set()

    async def news(self) -> None:
        """Wait until it is lost or the tools have changed."""
        await self._news.wait()
        self._news.clear()

    async def list_tools(self) -> list[Listed]:
        """List the server's tools, from all pages up to a bound."""
        tools: list[Listed] = []
        cursor = None
        # Bounded: a server may return a next cursor for ever.
        for _ in range(MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            tools += map(read_tool, page.tools)
            cursor = page.next_cursor
            if cursor is None:
                break
        return tools

    async def call(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Call a tool by the server's own name for it; a cancellation is sent to the server.

        Raises:
            ToolError: the tool reports an error, or the request was wrong.
            ConnectionRefusedError: the server has forgotten the session, and did nothing.
            ConnectionError: the server failed.
        """
        try:
            result = await self._client.call_tool(tool, arguments)
            text = as_text(result.content, result.structured_content)
        except self._error as error:
            is_asking = error.code == _INVALID_REQUEST and not (
                self.is_forgotten or self.is_unsound
            )
            if is_asking or error.code in _REQUEST_FAULTS:
                raise ToolError(self._shown(error)) from None
            if error.code in _CONNECTION_FAULTS or self.is_unsound:
                self.lose()
            is_refused = self.is_forgotten and error.code == _INVALID_REQUEST
            kind = ConnectionRefusedError if is_refused else ConnectionError
            raise kind(f"failed: {self._shown(error)}") from None
        # Besides its own errors the SDK raises those of pydantic, anyio and httpx: there was no
        # answer, or one that breaks the protocol.
        except Exception as error:
            problem = f"failed: its answer cannot be read: {self._shown(error)}"
            raise ConnectionError(problem) from None
        if result.is_error:
            text = bounded(self._config.without_secrets(text), MOST_ERROR_CHARS)
            raise ToolError(text or "it failed, and does not say why")
        return text or "done"

    def _shown(self, error: Exception) -> str:
        text = bounded(str(error) or type(error).__name__, MOST_PROBLEM_CHARS)
        return self._config.without_secrets(text)


def read_tool(tool: Tool) -> Listed:
    """A tool of the SDK as we list it."""
    hints = tool.annotations
    return Listed(
        tool.name,
        tool.description or tool.title or "",
        tool.input_schema,
        is_read_only=bool(hints and hints.read_only_hint),
        is_idempotent=bool(hints and hints.idempotent_hint),
        needs_task=bool(tool.execution and tool.execution.task_support == "required"),
    )


@asynccontextmanager
async def connected(config: ServerConfig, log: Callable[[str], None]) -> AsyncIterator[Connection]:
    """Open a connection for the length of the block; a program is started and ended with it.

    Args:
        log: called with each line that the program writes to its standard error.

    Raises:
        Exception: the connection failed or broke; often an exception group of anyio.
    """
    sdk = await asyncio.get_running_loop().run_in_executor(None, _load_sdk)
    connection = Connection(config)

    async def on_message(message: object) -> None:
        if isinstance(message, sdk.types.ToolListChangedNotification):
            connection.note_change()

    with anyio.CancelScope(deadline=anyio.current_time() + CONNECT_SECONDS) as scope:
        async with AsyncExitStack() as stack:
            open_transport = _program_transport if config.command else _web_transport
            transport = await stack.enter_async_context(open_transport(config, log, connection))
            watched = _watched(transport, connection.lose)
            client = sdk.Client(watched, message_handler=on_message, cache=None)
            await stack.enter_async_context(client)
            # Only the handshake is limited in time; from here on the connection may last.
            scope.deadline = math.inf
            connection.attach(client, sdk.MCPError)
            # Newer versions of the protocol send changes to subscribers only; older ones send a
            # notification to everybody, which `on_message` gets.
            changes = getattr(client.server_capabilities.tools, "list_changed", False)
            versions = importlib.import_module("mcp_types.version")
            if changes and client.protocol_version in versions.MODERN_PROTOCOL_VERSIONS:
                tasks = await stack.enter_async_context(anyio.create_task_group())
                stack.callback(tasks.cancel_scope.cancel)
                tasks.start_soon(_listen, client, connection)
            yield connection
    if scope.cancelled_caught:
        raise ConnectionError(f"no answer within {CONNECT_SECONDS:g} s")


def _load_sdk() -> Any:
    sdk = importlib.import_module("mcp")
    # Without a handler Python prints its warnings to stderr; we log one line of our own instead.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    return sdk


async def _listen(client: Client, connection: Connection) -> None:
    try:
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                connection.note_change()
    except Exception as error:
        # Only this error means a lost connection; without a subscription calls still work.
        if type(error).__name__ == "SubscriptionLost":
            connection.lose()


@asynccontextmanager
async def _watched(
    transport: AbstractAsyncContextManager[Any], on_end: Callable[[], None]
) -> AsyncIterator[Any]:
    # The SDK reports the end of a transport only to calls that wait for an answer.
    async with transport as (read, write):
        yield Watched(read, on_end), write


@asynccontextmanager
async def _program_transport(
    config: ServerConfig, log: Callable[[str], None], _connection: Connection
) -> AsyncIterator[Any]:
    stdio = importlib.import_module("mcp.client.stdio")
    if config.cwd and not os.path.isdir(config.cwd):
        raise ConnectionError(f"there is no folder {config.cwd!r}")
    command = _tethered(config.command)
    # By default the SDK reads nothing more after the first byte that is not UTF-8.
    parameters = stdio.StdioServerParameters(
        command=command[0],
        args=command[1:],
        env=dict(config.env),
        cwd=config.cwd or None,
        encoding_error_handler="replace",
    )
    # A pipe for its standard error: the SDK would let it write to the game's own.
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as errors:
        log_pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: LineLog(log), os.fdopen(read_end, "rb", buffering=0)
        )
        try:
            yield stdio.stdio_client(parameters, errlog=errors)
        finally:
            log_pipe.close()


def _tethered(command: tuple[str, ...]) -> list[str]:
    # PR_SET_PDEATHSIG, which the tether needs, is a call of Linux.
    if not sys.platform.startswith("linux"):
        return list(command)
    own = str(Path(tether.__file__).resolve())
    # -I and -S: the stub needs only the standard library; neither environment nor site-packages may
    # interfere with it.
    return [sys.executable, "-I", "-S", own, str(os.getpid()), *command]


@asynccontextmanager
async def _web_transport(
    config: ServerConfig, _log: Callable[[str], None], connection: Connection
) -> AsyncIterator[Any]:
    web = importlib.import_module("mcp.client.streamable_http")
    # No read timeout: the server may send notifications at any time, and calls have their own.
    timeout = httpx2.Timeout(config.timeout_seconds, read=None)
    hooks = {"response": [limit_body, connection.note_status]}
    headers = dict(config.headers)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks) as client:
        yield web.streamable_http_client(config.url, http_client=client)
