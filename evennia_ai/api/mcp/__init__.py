"""The MCP server for staff: an owner's own coding assistant sees to the game by it.

`tools` is the table of what there is, each a row of the REST API by another name; `inputs` makes
the schema of what a tool takes of that row, `calls` carries a call out in the game's thread. Only
`serving` and `guard`, which stands before it, know the `mcp` SDK. `service` starts them where the
game's settings name a port, and is all that is imported where they name none.
"""
