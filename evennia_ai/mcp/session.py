"""Keeping one connection up, on the asyncio side: opened, listed, and opened again when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import anyio

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ToolTimeoutError
from evennia_ai.mcp.config import ServerConfig
from evennia_ai.mcp.connection import Connection, connected
from evennia_ai.mcp.listing import Listing, make_listing

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
# A server whose tools change all the time is not asked for them all the time.
SETTLING_SECONDS = 0.2
MOST_PROBLEM_CHARS = 200


class McpSession:
    """One server, as the asyncio lane sees it. All of it runs there.

    Args:
        on_listing: told what the server offers, each time it is known anew.
        on_problem: told in words why there is no connection.
        log: takes a line the server's program complained with.
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
        self._attempt = asyncio.Event()

    async def run(self) -> None:
        """Keep the connection up until `close`."""
        wait = FIRST_WAIT_SECONDS
        with anyio.CancelScope() as self._scope:
            while not self._is_closed:
                began_at = anyio.current_time()
                was_up = await self._connect_once()
                self._on_problem(self._problem)
                # Who called since a connection was lost waits for the next one.
                if not was_up:
                    self._end_attempt()
                if anyio.current_time() - began_at > LONGEST_WAIT_SECONDS:
                    wait = FIRST_WAIT_SECONDS
                with anyio.move_on_after(wait):
                    await self._wanted.wait()
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        self._is_closed = True
        self._problem = "it is closed"
        self._end_attempt()

    async def close(self) -> None:
        """End the connection and the server's program; `run` returns when that is done."""
        self._is_closed = True
        if self._scope is not None:
            self._scope.cancel()

    async def call(self, tool: str, arguments: Mapping[str, object], seconds: float) -> str:
        """Call a tool by the server's own name for it, over the connection or the next one.

        Raises:
            ToolError: the tool says that it could not.
            ToolTimeoutError: there was no answer in time.
            ConnectionError: the server cannot be reached, or failed.
        """
        name = self._config.name
        try:
            with anyio.fail_after(seconds):
                connection = self._connection
                if connection is None or connection.is_lost:
                    connection = await self._next_connection()
                return await connection.call(tool, arguments)
        except TimeoutError:
            if self._connection is None:
                problem = self._problem or "it does not answer"
                raise ConnectionError(f"{name} cannot be reached: {problem}") from None
            raise ToolTimeoutError(f"{name} did not answer within {seconds:g} s") from None
        except ConnectionError as error:
            raise ConnectionError(f"{name} {error}") from None

    async def _next_connection(self) -> Connection:
        """The outcome of the attempt under way, or of one that begins now."""
        if not self._is_closed:
            self._wanted.set()
            await self._attempt.wait()
        if self._connection is None:
            raise ConnectionError(f"cannot be reached: {self._problem}")
        return self._connection

    async def _connect_once(self) -> bool:
        """Connect, stay so while it lasts, and note why it did not last.

        Returns:
            Whether there was a connection at all.
        """
        self._complaint = ""
        was_up = False
        try:
            async with connected(self._config, self._hear) as connection:
                while not connection.is_lost:
                    with anyio.fail_after(self._config.timeout_seconds):
                        listing = make_listing(self._config, await connection.list_tools())
                    self._connection, was_up = connection, True
                    self._on_listing(listing)
                    self._end_attempt()
                    await connection.news()
                    await anyio.sleep(0 if connection.is_lost else SETTLING_SECONDS)
                # What follows takes its time, and who calls now waits for the next connection.
                self._connection = None
            problem = "it ended the connection"
        except Exception as error:
            problem = _first_words(error)
        finally:
            self._connection = None
        self._problem = self._shown(problem)
        return was_up

    def _end_attempt(self) -> None:
        """Tell who waits for the attempt under way what came of it."""
        self._wanted.clear()
        self._attempt.set()
        # Another one: whoever comes from now on waits for the next attempt.
        self._attempt = asyncio.Event()

    def _hear(self, line: str) -> None:
        self._complaint = self._config.without_secrets(line)
        self._log(self._complaint)

    def _shown(self, problem: str) -> str:
        """A problem in words for people, with what the program said last."""
        problem = self._config.without_secrets(problem)
        said = f" (it said: {self._complaint})" if self._complaint else ""
        return one_line(f"{problem}{said}", MOST_PROBLEM_CHARS)


def _first_words(error: BaseException) -> str:
    """The text of an error, or of the first of a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
