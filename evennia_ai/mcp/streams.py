"""Wrappers of a server's streams: notice their end, bound their size, log a program's errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

from anyio.abc import ObjectReceiveStream
from httpx2 import AsyncByteStream, Response, StreamError

from evennia_ai.core.text.cleaning import one_line

MOST_BODY_BYTES = 4_000_000
# Each opens a list or a dict, and parsing those holds the interpreter's lock far longer than text.
MOST_BRACKETS = 200_000
MOST_LINES = 100
MOST_LINE_CHARS = 300
MOST_WAITING_BYTES = 4 * MOST_LINE_CHARS
_DIGITS = re.compile(r"\d+")


class Watched:
    """A stream of messages that calls `on_end` when it is over."""

    def __init__(self, stream: ObjectReceiveStream[Any], on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await anext(self._stream)
        # Also StopAsyncIteration, the normal end, and a cancellation.
        except BaseException:
            self._on_end()
            raise

    async def __aenter__(self) -> Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


class LineLog(asyncio.Protocol):
    """Logs the lines that a program writes: the first hundred, and its very last; each cut to size.

    Lines that differ only in their numbers count as one, and the first of them is logged: servers
    write one for each request.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._waiting = b""
        self._shown: set[str] = set()
        self._unshown = ""

    def data_received(self, data: bytes) -> None:
        """Take a chunk of output."""
        *lines, rest = (self._waiting + data).split(b"\n")
        # A program that never writes a line break must not fill the memory.
        self._waiting = rest[:MOST_WAITING_BYTES]
        for line in lines:
            self._log_line(line)

    def connection_lost(self, error: Exception | None) -> None:
        """Log the last line, which may have no line break, and often says why the program ended."""
        self._log_line(self._waiting)
        if self._unshown:
            self._log(self._unshown)

    def _log_line(self, line: bytes) -> None:
        text = one_line(line[:MOST_WAITING_BYTES].decode(errors="replace"), MOST_LINE_CHARS)
        if not text:
            return
        self._unshown = text
        kind = _DIGITS.sub("", text)
        if kind in self._shown or len(self._shown) > MOST_LINES:
            return
        self._shown.add(kind)
        if len(self._shown) > MOST_LINES:
            self._log("it goes on; no more of it is shown")
            return
        self._unshown = ""
        self._log(text)


class _Limited(AsyncByteStream):
    """A body that raises an error once it is too large."""

    def __init__(self, body: AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = brackets = 0
        async for part in self._body:
            size += len(part)
            brackets += part.count(b"[") + part.count(b"{")
            if size > MOST_BODY_BYTES:
                raise StreamError(f"it is larger than {MOST_BODY_BYTES} bytes")
            if brackets > MOST_BRACKETS:
                raise StreamError(f"it holds more than {MOST_BRACKETS} brackets")
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


async def limit_body(response: Response) -> None:
    """Limit the size of a response; a hook for the SDK's HTTP client.

    Event streams are left alone: the SDK bounds each event.
    """
    is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    if not is_events and isinstance(response.stream, AsyncByteStream):
        response.stream = _Limited(response.stream)
