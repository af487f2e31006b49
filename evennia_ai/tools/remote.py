"""Tools of MCP servers beside the character's own: one toolbox, the same gate, the same locks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs, Toolbox
from evennia_ai.mcp.servers import RemoteServers
from evennia_ai.tools.schema import fitted


@dataclass(frozen=True, slots=True)
class RemoteTools:
    """Adds what the servers offer; a tool of the game goes before one of the same name.

    Args:
        check: raises ToolError where the character may not use the tool of that name.
    """

    inner: Toolbox
    servers: RemoteServers
    check: Callable[[str, Turn], None]

    def specs(self) -> Specs:
        """The tools on offer, by name."""
        return self.servers.beside(self.inner.specs())

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call.

        Raises:
            ToolError: the tool says that it could not, or took too long.
            CircuitOpenError: its server is not being asked now.
        """
        if call.name in self.inner.specs() or call.name not in self.servers.specs():
            return await self.inner.run(call, turn)
        self.check(call.name, turn)
        try:
            given = fitted(self.servers.specs()[call.name], call.arguments)
            text = await self.servers.call(call.name, given, call.deadline_seconds)
        except ConnectionError as error:
            return ToolResult(False, str(error), Fault.UNAVAILABLE, error)
        return ToolResult(True, text)
