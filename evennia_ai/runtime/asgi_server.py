"""An ASGI application on a port of its own, and the turns of the requests to it.

Imported only by what is imported where a setting names a port: games without one need no uvicorn.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Sequence

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp

from evennia_ai.core.safety.addresses import client_of
from evennia_ai.runtime.web_requests import LONGEST_HEADER, trusted_proxies

# The server before a reload lets go of the port when it ends, which may be a moment later.
BIND_TRIES, BIND_SECONDS = 60, 0.5
GRACE_SECONDS = 1
KEEP_ALIVE_SECONDS = 30


class AsgiServer:
    """A port, from before it is bound to its end. All but `stop` runs on the asyncio lane.

    Args:
        most_connections: beyond these a request is told to come later.
        loggers: of libraries, which say nothing: what they complain of is said to whoever asked.
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
        """The listening socket; None: it was stopped meanwhile.

        Raises:
            OSError: the port is another's.
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
        # Where no handler is found at all Python writes warnings to stderr.
        for name in self._loggers:
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
        self._web = uvicorn.Server(self._settings(app))
        # `stop` may have come from another thread before there was a server to tell.
        self._web.should_exit = self._is_stopped
        await self._web.serve(sockets=[listener])

    def stop(self) -> None:
        """Let go of the port, soon, and end; may be called in any thread."""
        self._is_stopped = True
        if self._web is not None:
            self._web.should_exit = True

    def _settings(self, app: ASGIApp) -> uvicorn.Config:
        return uvicorn.Config(
            app,
            # Named, else uvicorn takes httptools wherever another package brought it along.
            http="h11",
            ws="none",
            lifespan="off",
            # Else uvicorn sets up the logging of the whole process.
            log_config=None,
            access_log=False,
            # Else uvicorn believes X-Forwarded-For of the loopback; `web_requests` judges that.
            proxy_headers=False,
            server_header=False,
            limit_concurrency=self._most_connections,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )


def address_of(listener: socket.socket) -> str:
    """The address of a listening socket, without a path."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def client_address(request: Request) -> str:
    """The address that a request comes from."""
    peer = request.client.host if request.client else ""
    forwarded = request.headers.get("x-forwarded-for", "")
    return client_of(peer, forwarded[-LONGEST_HEADER:], trusted_proxies())[:60]


class RequestTurn:
    """The turn of a request, from when it has come until its answer, or until it has to wait.

    A server's library and the game are two threads of one interpreter: where both have much to do,
    each query of the game's waits five milliseconds for the other thread. So one waits while the
    other works.

    Args:
        free: the one turn that there is.
    """

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._is_mine = False

    async def begin(self) -> None:
        """Wait for it."""
        await self._free.acquire()
        self._is_mine = True

    def end(self) -> None:
        """Let the next request have it; doing it again does nothing."""
        if self._is_mine:
            self._is_mine = False
            self._free.release()
