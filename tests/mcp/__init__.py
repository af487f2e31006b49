"""Tools of real MCP servers, as child processes and over HTTP."""
