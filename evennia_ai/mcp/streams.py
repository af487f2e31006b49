"""Streams with an eye on them: what ends, what is too long, what a program complains of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from anyio.abc import ObjectReceiveStream
from httpx2 import AsyncByteStream, Response, StreamError

from evennia_ai.core.text.cleaning import one_line

MOST_BODY_BYTES = 4_000_000
# Each costs the game's one interpreter far more than a letter does.
MOST_BRACKETS = 200_000
MOST_LINES = 100
MOST_LINE_CHARS = 300
MOST_WAITING_BYTES = 4 * MOST_LINE_CHARS


class Watched:
    """A stream of messages that tells when there will be no more."""

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
        # The usual end, StopAsyncIteration, comes this way too.
        except BaseException:
            self._on_end()
            raise

    async def __aenter__(self) -> Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


class LineLog(asyncio.Protocol):
    """Hands on the lines a program writes, the first hundred of them and none too long."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._waiting = b""
        self._lines = 0

    def data_received(self, data: bytes) -> None:
        """Take a piece of what was written."""
        *lines, rest = (self._waiting + data).split(b"\n")
        # A program that never ends its line must not fill the memory.
        self._waiting = rest[:MOST_WAITING_BYTES]
        for line in lines:
            self._hand_on(line)

    def connection_lost(self, error: Exception | None) -> None:
        """Take the end."""
        self._hand_on(self._waiting)

    def _hand_on(self, line: bytes) -> None:
        text = one_line(line[:MOST_WAITING_BYTES].decode(errors="replace"), MOST_LINE_CHARS)
        if not text or self._lines > MOST_LINES:
            return
        self._lines += 1
        self._log(text if self._lines <= MOST_LINES else "it goes on; no more of it is shown")


class _Limited(AsyncByteStream):
    """A body that ends with an error when it is too large."""

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
    """A hook for the SDK's HTTP client: a whole answer may not be larger than four megabytes.

    A stream of events is bounded by the SDK, event by event.
    """
    is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    if not is_events and isinstance(response.stream, AsyncByteStream):
        response.stream = _Limited(response.stream)
