"""The loop and the tick, over ports. `async def` and no framework: anybody may drive them."""
