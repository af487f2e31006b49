"""An ASGI application on a port of its own, and the turn that each request takes.

Imported only where a setting names a port, so that games without one need no uvicorn.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Sequence

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Send

from evennia_ai.core.safety.addresses import client_of, is_within
from evennia_ai.runtime.web_requests import LONGEST_HEADER, trusted_proxies

# After a reload the old server may hold the port for a moment longer.
BIND_TRIES, BIND_SECONDS = 60, 0.5
GRACE_SECONDS = 1  # for open requests, when the server stops
KEEP_ALIVE_SECONDS = 30
SCHEMES = ("http", "https")


class AsgiServer:
    """A server on a port, from binding to its end. Everything but `stop` runs on the asyncio lane.

    Args:
        most_connections: requests beyond these are told to come back later.
        loggers: names of library loggers to silence; their complaints are answered to the client.
    """

    def __init__(
        self, host: str, port: int, *, most_connections: int, loggers: Sequence[str] = ()
    ) -> None:
        self._host, self._port = host, port
        self._most_connections = most_connections
        self._loggers = (*loggers, "uvicorn")
        self._web: uvicorn.Server | None = None
        self._is_stopped = False

    async def bind(self) -> socket.socket | None:
        """Open the listening socket; None: the server was stopped meanwhile.

        Raises:
            OSError: another program has the port.
        """
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        for tries_left in reversed(range(BIND_TRIES)):
            if self._is_stopped:
                return None
            try:
                return socket.create_server((self._host, self._port), family=family)
            except OSError as error:
                if error.errno != errno.EADDRINUSE or not tries_left:
                    raise
            await asyncio.sleep(BIND_SECONDS)
        return None

    async def serve(self, app: ASGIApp, listener: socket.socket) -> None:
        """Serve until `stop`."""
        # Without any handler Python would write the warnings to stderr.
        for name in self._loggers:
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
        self._web = uvicorn.Server(self._settings(app))
        # `stop` may have been called from another thread before there was a server to tell.
        self._web.should_exit = self._is_stopped
        await self._web.serve(sockets=[listener])

    def stop(self) -> None:
        """Release the port and end, soon; may be called from any thread."""
        self._is_stopped = True
        if self._web is not None:
            self._web.should_exit = True

    def _settings(self, app: ASGIApp) -> uvicorn.Config:
        return uvicorn.Config(
            app,
            # Otherwise uvicorn picks httptools wherever another package installed it.
            http="h11",
            ws="none",
            lifespan="off",
            # Otherwise uvicorn configures logging for the whole process.
            log_config=None,
            access_log=False,
            # Otherwise uvicorn trusts X-Forwarded-For from loopback; `web_requests` judges that.
            proxy_headers=False,
            server_header=False,
            limit_concurrency=self._most_connections,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )


def address_of(listener: socket.socket) -> str:
    """The URL of a listening socket, without a path."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _peer(request: Request) -> str:
    return request.client.host if request.client else ""


def client_address(request: Request) -> str:
    """The address that a request comes from."""
    forwarded = request.headers.get("x-forwarded-for", "")
    # The end of the header is what trusted proxies appended.
    return client_of(_peer(request), forwarded[-LONGEST_HEADER:], trusted_proxies())[:60]


def allowing_origin(request: Request, send: Send, methods: str) -> Send:
    """Add the CORS headers that let scripts of a web page send its request and read the answer."""
    headers = {
        "access-control-allow-origin": request.headers.get("origin", ""),
        "access-control-allow-methods": methods,
        # All that the page wants to send: each client of a protocol has headers of its own.
        "access-control-allow-headers": request.headers.get("access-control-request-headers", ""),
        "vary": "Origin",
    }
    added = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sending


def base_url(request: Request) -> str:
    """The URL of this server as a request names it, without a path or a slash at its end.

    A trusted proxy says by X-Forwarded-Proto whether its client came over TLS.
    """
    scheme = request.headers.get("x-forwarded-proto", "").strip().lower()
    if scheme not in SCHEMES or not is_within(_peer(request), trusted_proxies()):
        scheme = request.url.scheme
    return f"{scheme}://{request.url.netloc}"


class RequestTurn:
    """The turn of a request: held while it works, given up while it waits for the game.

    The server's library and the game run in two threads of one interpreter. While both are busy,
    each query of the game waits five milliseconds for the GIL, so one of them waits while the other
    works.
    """

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._is_mine = False

    async def begin(self) -> None:
        """Wait for the turn."""
        await self._free.acquire()
        self._is_mine = True

    def end(self) -> None:
        """Pass the turn on; calling it again does nothing."""
        if self._is_mine:
            self._is_mine = False
            self._free.release()

    def ending(self, send: Send) -> Send:
        """A `send` that passes the turn on first: the client may be slow to read the answer."""

        async def sending(message: Message) -> None:
            self.end()
            await send(message)

        return sending
