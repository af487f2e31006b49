"""The REST API: validates HTTP requests, calls operations and returns their results.

`schema.TABLE` lists the endpoints, a row for each method of each path; `base` serves them.

Nothing here decides anything about an assistant: operations do. A game enables the API in its
`urls.py` with `path("api/ai/", include("evennia_ai.api.urls"))`. `mcp` and `a2a` are separate
servers, each enabled by a port in the settings. No other package imports this one.
"""
