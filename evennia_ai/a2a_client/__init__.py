"""The A2A client: agents elsewhere that assistants may give tasks, as a game's settings name them.

`config` reads the setting, `cards` what an agent tells of itself, `protocol` makes messages and
reads answers, `client` sends them, on the asyncio lane. `agents` is what the game holds, on the
reactor's side, with the pins of their cards and their breakers. `addresses` and `pinned` are the
way to any address that somebody else named, for the A2A server's webhooks as well. The SDK is not
needed: three calls are sent, over connections that only we can pin.
"""
