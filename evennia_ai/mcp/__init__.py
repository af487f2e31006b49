"""Tools of other programs: MCP servers that a game names in its settings.

`config` reads the setting, `listing` makes specs of what a server lists, `answers` makes text of
what it answers. `connection` is the only module that speaks to the `mcp` SDK; `session` keeps one
connection up, on the asyncio side. `servers` is what the game holds, on the reactor's side; `pins`
tells it which tools are still as they were allowed, and keeps that.
"""
