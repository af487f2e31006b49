"""The REST API: reads and checks what is asked over HTTP, calls an operation, gives its result.

What there is stands in `schema.TABLE`, a row for each method of each address; `base` serves it.

Nothing here decides anything about an assistant. A game switches it on in its `urls.py`, with
`path("api/ai/", include("evennia_ai.api.urls"))`. `mcp` and `a2a` are servers of their own, for
which a game names a port; nobody else imports this package.
"""
