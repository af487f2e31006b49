"""The MCP server for staff, with which an owner's coding assistant looks after the game.

`tools` is the table of tools, each a row of the REST API under another name; `inputs` generates a
tool's input schema from that row, and `calls` runs a call in the game's thread. Only `serving` and
`guard`, the checks in front of it, use the `mcp` SDK. `service` starts them if the settings name a
port; otherwise nothing else is imported.
"""
