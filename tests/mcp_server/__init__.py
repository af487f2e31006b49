"""The MCP server for staff, in the game's thread; `tests/journeys` has it in running games."""
