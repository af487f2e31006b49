"""The A2A server: external agents, called peers, give tasks to the game's assistants.

`operations.peers.tasks` decides what a peer may do and what becomes of a task; `calls` leads there
and back, in the game's thread. `service` starts the server if the settings name a port; otherwise
nothing else is imported. `serving` has the routes and `guard` the checks before them; `card` builds
agent cards, `handler` implements the protocol's methods, `wire` converts its messages, `streams`
wakes requests that wait, and `push` delivers events to webhooks (`deliveries`).
"""
