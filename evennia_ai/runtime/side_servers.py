"""Servers beside the game, each on its own port, started only where a setting names one.

A server's module imports heavy libraries, so it is imported in a thread when it starts: that may
take a second, during which neither the game nor a connection waits.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Coroutine
from types import ModuleType
from typing import Any, Protocol, TypeVar

from evennia.utils import logger
from twisted.internet import reactor
from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.bridge import as_deferred
from evennia_ai.runtime import services


class SideServer(Protocol):
    """A server, from its start to its end."""

    def run(self) -> Coroutine[Any, Any, None]:
        """Serve until `stop`, on the asyncio lane."""

    def stop(self) -> None:
        """Release the port and end, soon; may be called from any thread."""


class SideServerConfig(Protocol):
    """The settings of a server; a port of 0 means that it is off."""

    @property
    def port(self) -> int:
        """The port that it opens."""


C = TypeVar("C", bound=SideServerConfig)


def wanted(read: Callable[[], C]) -> C | None:
    """The settings of a server that should start; None where they name no port or are wrong."""
    try:
        config = read()
    except ConfigurationError as error:  # `evennia check` reports it too; the game must start
        logger.log_err(f"[assistant] {error}")
        return None
    return config if config.port else None


class Starter:
    """Starts and stops one server, whose module it imports.

    Args:
        name: of the server, in the game's log.
    """

    def __init__(self, name: str, module: str, make: Callable[[ModuleType], SideServer]) -> None:
        self._name, self._module, self._make = name, module, make
        self._server: SideServer | None = None
        self._is_stopped = False
        self._ended: Deferred[None] = succeed(None)

    def start(self) -> None:
        """Start serving in the background."""
        self._ended = as_deferred(self._run(), reactor).addErrback(self._log_end)
        services.close_at_the_end(self.stop)

    def stop(self) -> Deferred[None]:
        """Start ending it.

        Returns:
            Fires when it has released its port.
        """
        self._is_stopped = True
        if self._server is not None:
            self._server.stop()
        return self._ended

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        module = await loop.run_in_executor(None, importlib.import_module, self._module)
        self._server = self._make(module)
        # The game may have ended while the module was imported.
        if not self._is_stopped:
            await self._server.run()

    def _log_end(self, failure: Failure) -> None:
        logger.log_err(f"[assistant] the {self._name} ended: {failure.getErrorMessage()}")


def log_from_lane(text: str) -> None:
    """Write a line to the game's log from another thread."""
    reactor.callFromThread(logger.log_info, f"[assistant] {text}")
