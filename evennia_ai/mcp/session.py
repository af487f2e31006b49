"""Keeps one connection up, on the asyncio lane: opens it, lists its tools, and reopens it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import anyio

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ToolTimeoutError
from evennia_ai.mcp.config import ServerConfig
from evennia_ai.mcp.connection import Connection, connected
from evennia_ai.mcp.listing import Listing, make_listing

# Between two attempts to connect; the wait doubles each time.
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
# A pause after a notification of changed tools, so that a burst of them causes one request.
SETTLING_SECONDS = 0.2
MOST_PROBLEM_CHARS = 200


class McpSession:
    """The session with one server. All of it runs on the asyncio lane.

    Args:
        on_listing: called with the server's tools each time that they were listed.
        on_problem: called with the reason why there is no connection.
        log: called with each line that the server's program writes to its standard error.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        on_listing: Callable[[Listing], None],
        on_problem: Callable[[str], None],
        log: Callable[[str], None],
    ) -> None:
        self._config = config
        self._on_listing = on_listing
        self._on_problem = on_problem
        self._log = log
        self._connection: Connection | None = None
        self._problem = ""
        self._complaint = ""
        self._is_closed = False
        self._scope: anyio.CancelScope | None = None
        self._wanted = asyncio.Event()
        # Set, and replaced by a new one, when an attempt to connect is over.
        self._attempt = asyncio.Event()

    async def run(self) -> None:
        """Keep the connection up until `close`."""
        wait = FIRST_WAIT_SECONDS
        with anyio.CancelScope() as self._scope:
            while not self._is_closed:
                began_at = anyio.current_time()
                was_up = await self._connect_once()
                self._on_problem(self._problem)
                # After a connection was lost, calls go on waiting: for the next attempt.
                if not was_up:
                    self._end_attempt()
                # A connection that lasted longer than the longest wait is not a crash loop.
                if anyio.current_time() - began_at > LONGEST_WAIT_SECONDS:
                    wait = FIRST_WAIT_SECONDS
                # A call does not wait for the pause: it asks for a connection at once.
                with anyio.move_on_after(wait):
                    await self._wanted.wait()
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        self._is_closed = True
        self._problem = "it is closed"
        self._end_attempt()

    async def close(self) -> None:
        """Close the connection and end the program; `run` returns when that is done."""
        self._is_closed = True
        if self._scope is not None:
            self._scope.cancel()

    async def call(self, tool: str, arguments: Mapping[str, object], seconds: float) -> str:
        """Call a tool by the server's own name for it; without a connection, wait for the next.

        Raises:
            ToolError: the tool reports an error.
            ToolTimeoutError: there was no answer in time.
            ConnectionError: the server cannot be reached, or failed.
        """
        name = self._config.name
        try:
            with anyio.fail_after(seconds):
                try:
                    return await (await self._open_connection()).call(tool, arguments)
                except ConnectionRefusedError:  # nothing was done, so it may be sent again
                    return await (await self._open_connection()).call(tool, arguments)
        except TimeoutError:
            if self._connection is None:
                problem = self._problem or "it does not answer"
                raise ConnectionError(f"{name} cannot be reached: {problem}") from None
            raise ToolTimeoutError(f"{name} did not answer within {seconds:g} s") from None
        except ConnectionError as error:
            raise ConnectionError(f"{name} {error}") from None

    async def _open_connection(self) -> Connection:
        """Return the connection, or wait for the attempt that is under way, or that starts now."""
        if self._connection is not None and not self._connection.is_lost:
            return self._connection
        if not self._is_closed:
            self._wanted.set()
            await self._attempt.wait()
        if self._connection is None:
            raise ConnectionError(f"cannot be reached: {self._problem}")
        return self._connection

    async def _connect_once(self) -> bool:
        """Connect, serve until the connection ends, and note why it ended.

        Returns:
            Whether there was a connection at all.
        """
        self._complaint = ""
        was_up = False
        try:
            async with connected(self._config, self._take_line) as connection:
                while not connection.is_lost:
                    with anyio.fail_after(self._config.timeout_seconds):
                        listing = make_listing(self._config, await connection.list_tools())
                    self._connection, was_up = connection, True
                    self._on_listing(listing)
                    self._end_attempt()
                    await connection.news()
                    await anyio.sleep(0 if connection.is_lost else SETTLING_SECONDS)
                # Before the block ends, which takes a while: calls have to wait for the next one.
                self._connection = None
            problem = "it ended the connection"
        except Exception as error:
            problem = _text_of(error)
        finally:
            self._connection = None
        self._problem = self._shown(problem)
        return was_up

    def _end_attempt(self) -> None:
        """Wake the calls that wait for the attempt under way."""
        self._wanted.clear()
        self._attempt.set()
        # A new event, and not `clear`: later calls have to wait for the next attempt.
        self._attempt = asyncio.Event()

    def _take_line(self, line: str) -> None:
        self._complaint = self._config.without_secrets(line)
        self._log(self._complaint)

    def _shown(self, problem: str) -> str:
        """Format a problem for people, with the last line that the program wrote."""
        problem = self._config.without_secrets(problem)
        complaint = f" (it said: {self._complaint})" if self._complaint else ""
        return one_line(f"{problem}{complaint}", MOST_PROBLEM_CHARS)


def _text_of(error: BaseException) -> str:
    # anyio's task groups raise groups, whose own text says only how many errors are in them.
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
