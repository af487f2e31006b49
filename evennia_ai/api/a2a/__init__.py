"""The A2A server: agents elsewhere, called peers, give the game's assistants tasks.

What a peer may, and what becomes of a task, stands in `operations.peers.tasks`; `calls` takes a
request there and back, in the game's thread. `service` starts the server where the game's settings
name a port, and is all that is imported where they name none. Everything else knows the SDK:
`serving` has the addresses and `guard` stands before them, `card` tells what an assistant can,
`handler` does what is asked, `wire` turns it into the protocol's messages, `streams` wakes who
waits, `push` tells addresses of their own.
"""
