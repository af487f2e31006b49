"""The A2A client: remote agents, named in the game's settings, that assistants may give tasks to.

`cards` reads an agent's card, `protocol` builds requests and reads answers, and `client` sends them
on the asyncio lane. `agents` is the reactor's side: the agents that the game knows, with their
pinned cards and breakers. `addresses` and `pinned` make requests to any address that a third party
supplied, webhooks of the A2A server included. The A2A SDK is not used: only three calls are needed,
and its HTTP client cannot pin a connection to an address.
"""
