"""Tools of other programs, with real MCP servers as child processes and on the web."""
