"""The MCP client: tools of the MCP servers that a game names in its settings.

`config` reads the setting; `listing` turns a server's tools into specs, and its answers into text.
`connection` is the only module that uses the `mcp` SDK, with the streams of `streams`; `session`
keeps one connection up, on the asyncio lane. `servers` is the reactor's side: tools on offer, calls
and status. `pins` finds the tools that changed since they were allowed, and `pin_store` stores the
pins.
"""
