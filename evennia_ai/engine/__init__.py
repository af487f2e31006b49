"""The loop and the tick, over ports. `async def`, no framework: whoever drives them is their own affair."""
