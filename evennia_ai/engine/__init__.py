"""The loop of a turn, over ports: `async def` without a framework, so any event loop can run it."""
