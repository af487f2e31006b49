"""The part of Evennia's server that starts the MCP server, where the game's settings name a port.

`evennia_ai.apps` names this module in SERVER_SERVICES_PLUGIN_MODULES. Where no port is set it does
nothing, and imports nothing that the game does not have already.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from evennia.utils import logger
from twisted.application.service import MultiService
from twisted.internet import reactor
from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from evennia_ai.core.settings.services import McpServerConfig
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.bridge import as_deferred
from evennia_ai.runtime import services

SERVING = "evennia_ai.mcp_server.serving"


class Starter:
    """The server of a process, from before its SDK is imported to its end."""

    def __init__(self, config: McpServerConfig) -> None:
        self._config = config
        self._server: Any = None
        self._is_stopped = False
        self._ended: Deferred[None] = succeed(None)

    def start(self) -> None:
        """Begin to serve, in the background: the game does not wait for it."""
        self._ended = as_deferred(self._run(), reactor).addErrback(_complain)
        services.close_at_the_end(self.stop)

    def stop(self) -> Deferred[None]:
        """Begin to end it.

        Returns:
            Fires when it has let go of its port.
        """
        self._is_stopped = True
        if self._server is not None:
            self._server.stop()
        return self._ended

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        # A second's work, during which neither the game nor another connection waits.
        serving = await loop.run_in_executor(None, importlib.import_module, SERVING)
        self._server = serving.McpServer(self._config, _say)
        if not self._is_stopped:
            await self._server.run()


def start_plugin_services(server: MultiService) -> None:
    """Called by Evennia's server when it starts."""
    try:
        config = services.mcp_server_config()
    except ConfigurationError as error:  # `evennia check` says it too; the game goes on without
        logger.log_err(f"[assistant] {error}")
        return
    if config.port:
        reactor.callWhenRunning(Starter(config).start)


def _say(text: str) -> None:
    reactor.callFromThread(logger.log_info, f"[assistant] {text}")


def _complain(failure: Failure) -> None:
    logger.log_err(f"[assistant] the MCP server ended: {failure.getErrorMessage()}")
