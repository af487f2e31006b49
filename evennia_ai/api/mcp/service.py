"""Plugin of Evennia's server: starts the MCP server if the game's settings name a port.

`evennia_ai.apps` adds this module to SERVER_SERVICES_PLUGIN_MODULES. Without a port it does
nothing, and imports nothing that a game does not load anyway.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType

from twisted.application.service import MultiService
from twisted.internet import reactor

from evennia_ai.core.settings.services import McpServerConfig
from evennia_ai.runtime import services
from evennia_ai.runtime.side_servers import SideServer, Starter, log_from_lane, wanted

SERVING = "evennia_ai.api.mcp.serving"


def start_plugin_services(server: MultiService) -> None:
    """Start the MCP server; called by Evennia's server when it starts."""
    if config := wanted(services.mcp_server_config):
        starter = Starter("MCP server", SERVING, partial(_make, config))
        reactor.callWhenRunning(starter.start)


def _make(config: McpServerConfig, serving: ModuleType) -> SideServer:
    server: SideServer = serving.McpServer(config, log_from_lane)
    return server
